/** Patches that models send as commands. */
import { mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Assessment } from "../../src/core/tool.ts";
import { execTool, run, workspace } from "./given.ts";

const PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one $HOME\n*** End Patch";
const PLAIN = PATCH.replace(" $HOME", "");
const heredoc = (text: string, { word = "'EOF'", before = "" } = {}): string => `${before}apply_patch <<${word}\n${text}\n${word.replace(/['"]/gu, "")}\n`;

test.each([
  ["a quoted heredoc", { cmd: heredoc(PATCH) }, "one $HOME\n"],
  ["one in double quotes", { cmd: heredoc(PATCH, { word: '"PATCH"' }) }, "one $HOME\n"],
  ["one that is not quoted and has nothing to expand", { cmd: heredoc(PLAIN, { word: "EOF" }) }, "one\n"],
  ["through bash -lc", { command: ["bash", "-lc", heredoc(PATCH)] }, "one $HOME\n"],
  ["as a program", { command: ["apply_patch", PATCH] }, "one $HOME\n"],
])("%s is run as the tool", async (_, input, content) => {
  const cwd = workspace();
  const ran = await run(input, { cwd, sandbox: "workspace-write" });
  expect(ran).toMatchObject({ status: "done", exit: 0, output: "A a.txt", changes: [{ path: join(cwd, "a.txt"), before: { kind: "absent" } }] });
  expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe(content);
});

test("the folder that the command goes to counts", async () => {
  const cwd = workspace();
  mkdirSync(join(cwd, "sub", "more"), { recursive: true });
  expect(await run({ cmd: heredoc(PATCH, { before: "cd more && " }), workdir: "sub" }, { cwd, sandbox: "workspace-write" })).toMatchObject({ output: "A sub/more/a.txt" });
  expect(await run({ cmd: heredoc(PATCH.replace("a.txt", "b.txt"), { before: 'cd "sub"  &&\n' }) }, { cwd, sandbox: "workspace-write" })).toMatchObject({ output: "A sub/b.txt" });
  expect(readdirSync(join(cwd, "sub"))).toEqual(["b.txt", "more"]);
});

test("a folder outside is no way out, nor is a link to it", async () => {
  const cwd = workspace();
  const outside = workspace("/var/tmp");
  symlinkSync(outside, join(cwd, "link"));
  for (const to of [outside, "link"]) expect(await run({ cmd: heredoc(PATCH, { before: `cd ${to} && ` }) }, { cwd, sandbox: "workspace-write" })).toMatchObject({ status: "failed", exit: 1, denied: {} });
  expect(readdirSync(outside)).toEqual([]);
});

test.each([
  ["what the shell would expand", heredoc(PATCH, { word: "EOF" })],
  ["another command after it", `${heredoc(PATCH)}true; apply_patch`],
  ["another one before it", heredoc(PATCH, { before: "true && " })],
  ["a heredoc that ends earlier", heredoc(`x\nEOF\n${PATCH}`)],
  ["a path that leaves the folder it goes to", heredoc(PATCH.replace("a.txt", "../a.txt"), { before: "cd sub && " })],
])("with %s it is the command that it is, and says what would work", async (_, cmd) => {
  const cwd = workspace();
  mkdirSync(join(cwd, "sub"));
  const ran = await run({ cmd }, { cwd });
  expect(ran).toMatchObject({ status: "done", exit: 127 });
  expect(ran.output).toMatch(/\nNote: apply_patch is a tool: call it with the patch as `input`\.\nOutput:\n[^]*apply_patch: command not found\n/u);
  expect(readdirSync(cwd)).toEqual(["sub"]);
});

test("another command that is not found is not told about patches", async () => {
  const ran = await run("no-such-program-here", { cwd: workspace() });
  expect(ran).toMatchObject({ exit: 127 });
  expect(ran.output).not.toContain("Note");
});

test("what is asked is what the tool would ask: the diff, and where it goes; rules about apply_patch count", async () => {
  const cwd = workspace();
  const about = { thread: "thread", cwd, sandbox: "workspace-write", approval: "untrusted" } as const;
  const assess = (input: unknown, decision?: "ask" | "deny"): Promise<Assessment> => execTool(decision ? { rules: [{ argv_prefix: ["apply_patch"], decision }] } : {}).assess!(input, about);
  expect(await assess({ cmd: heredoc(PATCH) })).toMatchObject({ safe: false, rule: null, outside: null, shown: { kind: "patch", paths: ["a.txt"], diff: expect.stringContaining("+one $HOME") } });
  expect(await assess({ cmd: heredoc(PATCH, { before: "cd / && " }) })).toMatchObject({ outside: expect.stringContaining("a.txt lies outside") });
  expect((await assess({ cmd: heredoc(PATCH) }, "deny")).rule).toBe("deny");
  expect((await assess({ command: ["apply_patch", PATCH] }, "ask")).rule).toBe("ask");
});
