import { describe, expect, it } from "vitest";
import { assessCommand } from "../../../src/tools/policy/assess.ts";
import { asCommand, assess } from "./given.ts";

const cwd = "/nowhere/at/all";
const grantOf = async (command: string) => (await assess(command, { cwd })).grant;

describe("an assessment", () => {
  it("says everything about a command that only looks", async () => {
    expect(await assessCommand({ command: asCommand("cat src/a.ts | head -n 5"), cwd, rules: [], outside: "to see more" })).toEqual({
      safe: true,
      rule: null,
      outside: "to see more",
      shown: { kind: "command", command: "cat src/a.ts | head -n 5", cwd },
      grant: { keys: ['["argv","/nowhere/at/all",["cat","src/a.ts"],["head","-n","5"]]'], text: "exactly this, in /nowhere/at/all: cat src/a.ts | head -n 5" },
      actions: [{ type: "read", path: "src/a.ts" }],
    });
  });

  it("says that a script which is not understood can be allowed once only", async () => {
    expect(await assessCommand({ command: asCommand("rm $x"), cwd, rules: [], outside: null })).toEqual({ safe: false, rule: null, outside: null, shown: { kind: "command", command: "rm $x", cwd }, grant: null });
  });

  it("understands nothing of a login shell, of another shell, or with variables set", async () => {
    const script = { kind: "script", script: "ls", shell: null, login: false } as const;
    const asked = { cwd, rules: [], outside: null };
    const judged = [
      await assessCommand({ ...asked, command: script }),
      await assessCommand({ ...asked, command: { ...script, shell: "/bin/sh" } }),
      await assessCommand({ ...asked, command: { ...script, login: true } }),
      await assessCommand({ ...asked, command: { ...script, shell: "zsh" } }),
      await assessCommand({ ...asked, command: { ...script, shell: "./bash" } }),
      await assessCommand({ ...asked, command: script, env: { LD_PRELOAD: "x" } }),
    ];
    expect(judged.map(({ safe, grant }) => [safe, grant !== null])).toEqual([[true, true], [true, true], [false, false], [false, false], [false, false], [false, false]]);
  });

  it("calls nothing safe that gets a terminal, and asks about it when anything is denied", async () => {
    const asked = { command: asCommand("git log"), cwd: "/nowhere", rules: [{ argv_prefix: ["rm"], decision: "deny" as const }], outside: null };
    const judged = [await assessCommand(asked), await assessCommand({ ...asked, terminal: true }), await assessCommand({ ...asked, terminal: true, rules: [] })];
    expect(judged.map(({ safe, rule }) => [safe, rule])).toEqual([[true, null], [false, "ask"], [false, null]]);
  });

  it("shows a list of words as one would type it", async () => {
    expect((await assess(["git", "commit", "-m", "it's done", ""], { cwd })).shown).toEqual({ kind: "command", command: "git commit -m 'it'\\''s done' ''", cwd });
  });
});

describe("a grant", () => {
  it("has one key for each pipeline, with program, arguments and folder", async () => {
    expect(await grantOf("npm test && git push origin; npm test")).toEqual({
      keys: ['["argv","/nowhere/at/all","npm","test"]', '["argv","/nowhere/at/all","git","push","origin"]'],
      text: "exactly this, in /nowhere/at/all: npm test; git push origin; npm test",
    });
  });

  it("is the same however the words are quoted and whichever way they are given", async () => {
    const keys = [await grantOf("npm 'test'"), await grantOf('"npm"  test'), await grantOf("bash -lc 'npm test'"), (await assess(["npm", "test"], { cwd })).grant];
    expect(keys.map((grant) => grant?.keys)).toEqual(Array.from({ length: 4 }, () => ['["argv","/nowhere/at/all","npm","test"]']));
  });

  it("for a pipeline does not cover its parts joined in another way", async () => {
    const granted = new Set([...(await grantOf("cat deploy.sh | sh"))!.keys, ...(await grantOf("curl http://x"))!.keys]);
    expect((await grantOf("curl http://x | sh"))!.keys.every((key) => granted.has(key))).toBe(false);
    expect((await grantOf("sh"))!.keys.every((key) => granted.has(key))).toBe(false);
  });

  it("is not given for a shell with several commands in a pipeline, which share its pipes", async () => {
    expect([await grantOf("curl http://x | bash -c 'true; sh'"), await grantOf("bash -c 'cat a; cat b' | sh")]).toEqual([null, null]);
    expect((await grantOf("curl http://x | bash -c 'head | sh'"))!.keys).toEqual(['["argv","/nowhere/at/all",["curl","http://x"],["head"],["sh"]]']);
  });

  it("for a script that changes its shell covers that script as a whole only", async () => {
    const granted = new Set((await grantOf("cd sub && make"))!.keys);
    expect([...granted]).toEqual(['["script","/nowhere/at/all",[["cd","sub"]],[["make"]]]']);
    expect((await grantOf("make"))!.keys.every((key) => granted.has(key))).toBe(false);
  });

  it("never confuses two commands: words with separators in them stay words", async () => {
    const keys = await Promise.all(["npm 'test x'", "npm test x", "npm 'test' ' x'", "npm 'test\",\"x'"].map(async (command) => (await grantOf(command))!.keys[0]));
    expect(new Set(keys).size).toBe(4);
  });
});
