/** exec_command with real processes, without a sandbox. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ApprovalPolicy, SandboxMode } from "../../src/protocol/record.ts";
import type { BuiltinOptions } from "../../src/tools/builtin.ts";
import { eventually, execTool, gate, isAlive, run, workspace } from "./given.ts";

const cwd = workspace();

test("it answers to the names that models know", () => {
  expect(execTool()).toMatchObject({ name: "exec_command", aliases: ["shell", "local_shell"], effect: "exec" });
});

test("exit code, time and output are told in this form", async () => {
  const { output, status, exit } = await run("echo hello", { cwd });
  expect(output.replace(/\d+\.\d/u, "0.0")).toBe("Exit code: 0\nWall time: 0.0 seconds\nOutput:\nhello\n");
  expect({ status, exit }).toEqual({ status: "done", exit: 0 });
});

test("a command that fails is done all the same", async () => {
  expect(await run("echo no; exit 42", { cwd })).toMatchObject({ status: "done", exit: 42, text: "no\n" });
});

test("a command that a signal ended has the exit code that a shell gives it", async () => {
  const ran = await run("kill -KILL $$", { cwd });
  expect(ran).toMatchObject({ status: "done", exit: 137 });
  expect(ran.output).toContain("Exit code: 137 (ended by SIGKILL)");
});

test("both streams come in the order in which they were written", async () => {
  const expected = Array.from({ length: 200 }, (_, index) => `o${index}\ne${index}\n`).join("");
  const ran = await run("for i in $(seq 0 199); do echo o$i; echo e$i >&2; done", { cwd });
  expect(ran.text).toBe(expected);
  expect(ran.shown).toBe(expected);
});

test("output can be reopened, as /dev/stderr and tee do", async () => {
  expect(await run("echo a >/dev/stderr; echo b | tee /dev/stdout /dev/stderr", { cwd })).toMatchObject({ exit: 0, text: "a\nb\nb\nb\n" });
});

test("output is shown while the command runs", async () => {
  const { wait, open } = gate(cwd);
  const shown: string[] = [];
  await run(`echo one; ${wait}; echo two`, {
    cwd,
    onShown(text) {
      shown.push(text);
      open();
    },
  });
  expect(shown).toEqual(["one\n", "two\n"]);
});

test("a character that comes in two pieces is shown as one", async () => {
  const ran = await run(String.raw`printf '\xe2\x82'; sleep 0.2; printf '\xac\n'`, { cwd });
  expect(ran.shown).toBe("€\n");
  expect(ran.text).toBe("€\n");
});

test("bytes that are not UTF-8 are replaced and the model is told", async () => {
  const ran = await run(String.raw`printf 'a\xff\xfeb\n'`, { cwd });
  expect(ran.text).toBe("a\uFFFD\uFFFDb\n");
  expect(ran.shown).toBe("a\uFFFD\uFFFDb\n");
  expect(ran.output).toContain("Note: the output has bytes that are not UTF-8");
});

test("long output is cut for the model and kept in full", async () => {
  const ran = await run("seq 1 20000", { cwd });
  const all = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join("");
  expect(ran.kept).toEqual([all]);
  expect(ran.full).toEqual({ sha256: "0".repeat(64), bytes: all.length });
  expect(ran.text.length).toBeLessThan(40_200);
  expect(ran.text).toMatch(/^1\n2\n/u);
  expect(ran.text).toMatch(/\n19999\n20000\n$/u);
  const [, lines, bytes] = /\n\[… (\d+) lines \((\d+) bytes\) left out; read_file "blob:0{64}" has it all …\]\n/u.exec(ran.text)!;
  const shown = ran.text.split("\n").length - 2;
  expect(Number(lines) + shown).toBe(20_000);
  expect(Number(bytes)).toBe(all.length - ran.text.replace(/\[….*…\]\n/u, "").length);
});

test("what is kept and shown of a flood is bounded", async () => {
  const ran = await run("head -c 30000000 /dev/zero | tr '\\0' 'y' | fold -w 99", { cwd });
  expect(ran.exit).toBe(0);
  expect(ran.kept[0]!.length).toBeLessThan(10_000_100);
  expect(ran.kept[0]).toContain("were too much to keep");
  const [, lines] = /\[… (\d+) lines \(\d+ bytes\) left out; read_file "blob:0{64}" has the first and the last 5 MB …\]\n/u.exec(ran.text)!;
  expect(Number(lines) + ran.text.split("\n").length - 2).toBe(Math.floor(30_000_000 / 99));
  expect(ran.shown.length).toBeLessThan(1_000_100);
  expect(ran.shown).toContain("more output is not shown while it comes");
});

test("the limit can be set", async () => {
  const ran = await run("seq 1 1000", { cwd, tool: { outputTokens: 25 } });
  expect(ran.text.length).toBeLessThan(250);
});

test("a program is run with the arguments as they are", async () => {
  const argv = ["printf", "%s|", "a b", "$HOME", "'", "*", "", "\n"];
  expect((await run({ command: argv }, { cwd })).text).toBe("a b|$HOME|'|*||\n|");
});

test("a program that is not there is told as a shell would", async () => {
  expect(await run({ command: ["no-such-program", "x"] }, { cwd })).toMatchObject({ status: "done", exit: 127, text: "no-such-program: command not found\n" });
  writeFileSync(join(cwd, "plain.txt"), "");
  expect(await run({ command: ["./plain.txt"] }, { cwd })).toMatchObject({ status: "done", exit: 126 });
});

test("it runs in the working folder, or in the one that is asked for", async () => {
  mkdirSync(join(cwd, "sub"), { recursive: true });
  expect((await run("pwd", { cwd })).text).toBe(`${cwd}\n`);
  expect((await run({ cmd: "pwd", workdir: "sub" }, { cwd })).text).toBe(`${cwd}/sub\n`);
  expect((await run({ cmd: "pwd", workdir: "/" }, { cwd })).text).toBe("/\n");
  expect(await run({ cmd: "pwd", workdir: "nowhere" }, { cwd })).toMatchObject({ status: "failed", output: `Not run: the folder ${cwd}/nowhere does not exist.` });
  expect(await run("pwd", { cwd: "/nowhere" })).toMatchObject({ status: "failed", output: "Not run: the working folder /nowhere does not exist." });
});

test("input is closed and there is no terminal", async () => {
  expect((await run("cat; test -t 0 || echo no terminal; ps -o tty= -p $$", { cwd })).text).toMatch(/^no terminal\n\?\s*\n$/u);
});

test("another shell can be asked for", async () => {
  expect((await run({ cmd: "echo $0", shell: "sh" }, { cwd })).text).toBe("sh\n");
  expect((await run({ cmd: "shopt -q login_shell && echo login", login: true }, { cwd })).text).toContain("login\n");
});

test("a command that begins like an option is not one", async () => {
  expect(await run("-x echo", { cwd })).toMatchObject({ exit: 127 });
});

test("the environment has no secrets, and what the model sets", async () => {
  const env = { PATH: process.env["PATH"], HOME: "/somewhere", API_KEY: "x" };
  const ran = await run({ command: ["env"], env: { GREETING: "hi" } }, { cwd, tool: { env } });
  const names = ran.text.trim().split("\n").map((line) => line.slice(0, line.indexOf("="))).toSorted();
  expect(names).toEqual(["GREETING", "HOME", "PATH", "SKEIN_CALL"]);
});

test("a process left in the background does not hold the call, and is ended", async () => {
  const ran = await run("sleep 1000 & echo $!; echo done", { cwd });
  expect(ran.text).toMatch(/^\d+\ndone\n$/u);
  expect(ran.ms).toBeLessThan(2000);
  expect(await eventually(() => !isAlive(Number.parseInt(ran.text, 10)))).toBe(true);
});

test("the last words of a process left in the background are heard", async () => {
  let text = "";
  // It has 100 ms, of which a busy machine may give it none: so the best of a few counts.
  for (let attempt = 0; attempt < 10 && !text.includes("late"); attempt++) ({ text } = await run("(sleep 0.03; echo late) & echo first", { cwd }));
  expect(text).toBe("first\nlate\n");
});

test("twenty calls one after another", { timeout: 60_000 }, async () => {
  await run("true", { cwd });
  const times: number[] = [];
  for (let call = 0; call < 20; call++) times.push((await run("true", { cwd })).ms);
  times.sort((a, b) => a - b);
  console.log(`20 calls without a sandbox: median ${times[10]!.toFixed(1)} ms, slowest ${times[19]!.toFixed(1)} ms`);
});

test("calls can run beside each other", async () => {
  const ran = await Promise.all(Array.from({ length: 30 }, (_, index) => run(`echo ${index}; sleep 0.05; echo ${index}`, { cwd })));
  expect(ran.map(({ text }) => text)).toEqual(ran.map((_, index) => `${index}\n${index}\n`));
});


describe("what a command would do", () => {
  const assess = (input: unknown, more: { sandbox?: SandboxMode; approval?: ApprovalPolicy; rules?: BuiltinOptions["rules"] } = {}) =>
    execTool({ rules: more.rules ?? [] }).assess!(input, { thread: "thread", cwd, sandbox: more.sandbox ?? "read-only", approval: more.approval ?? "untrusted" });

  test("is not read where nobody is asked, no rule binds and it looks at nothing", async () => {
    const plain = { safe: false, rule: null, outside: null, shown: { kind: "command", command: "true", cwd }, grant: null };
    expect(await assess({ cmd: "true" }, { approval: "never" })).toEqual(plain);
    expect((await assess({ cmd: "cat x" }, { approval: "never" })).actions).toEqual([{ type: "read", path: "x" }]);
    expect((await assess({ cmd: "true" }, { approval: "never", rules: [{ argv_prefix: ["true"], decision: "deny" }] })).rule).toBe("deny");
    expect((await assess({ cmd: "true" })).grant).not.toBe(null);
  });

  test("one that only looks is safe, and one that writes is not", async () => {
    expect(await assess({ cmd: "cat plain.txt" })).toMatchObject({ safe: true, rule: null, outside: null, shown: { kind: "command", command: "cat plain.txt", cwd } });
    expect(await assess({ cmd: "rm plain.txt" })).toMatchObject({ safe: false, rule: null, outside: null });
  });

  test("it is judged where it would run", async () => {
    expect((await assess({ cmd: "ls", workdir: "sub" })).shown).toEqual({ kind: "command", command: "ls", cwd: `${cwd}/sub` });
  });

  test("rules are heeded", async () => {
    expect((await assess({ cmd: "git push" }, { rules: [{ argv_prefix: ["git", "push"], decision: "deny" }] })).rule).toBe("deny");
  });

  test("one that is to run outside says why, unless nothing confines it", async () => {
    const input = { cmd: "npm install", sandbox_permissions: "require_escalated", justification: "it needs the registry" };
    expect((await assess(input)).outside).toBe("it needs the registry");
    expect((await assess(input, { sandbox: "danger-full-access" })).outside).toBeNull();
    expect((await assess({ cmd: "npm install", sandbox_permissions: "require_escalated" })).outside).toBe("the model gave no reason");
  });

  test("variables that it sets make it unsafe", async () => {
    expect((await assess({ cmd: "ls", env: { LD_PRELOAD: "./evil.so" } })).safe).toBe(false);
  });

  test("what will not be run asks nobody", async () => {
    expect(await assess({ cmd: 7 })).toEqual({ safe: true, rule: null, outside: null, shown: { kind: "tool", tool: "exec_command", arguments: { cmd: 7 } }, grant: null });
  });
});
