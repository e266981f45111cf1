import fc from "fast-check";
import { expect, test } from "vitest";
import { readExecArguments } from "../../src/tools/exec-arguments.ts";

const script = (text: string) => ({ kind: "script", script: text, shell: null, login: false });
const usual = { workdir: null, timeoutMs: 120_000, yieldMs: null, input: "none", maxTokens: null, escalated: null, env: {} };

test("the shapes that models send", () => {
  expect(readExecArguments({ cmd: "ls" })).toEqual({ ok: true, value: { ...usual, command: script("ls") } });
  expect(readExecArguments({ command: "ls" })).toEqual({ ok: true, value: { ...usual, command: script("ls") } });
  expect(readExecArguments({ cmd: "ls", workdir: "sub", timeout_ms: 5, shell: "zsh", login: true, justification: "because" })).toEqual({
    ok: true,
    value: { ...usual, workdir: "sub", timeoutMs: 5, command: { kind: "script", script: "ls", shell: "zsh", login: true } },
  });
  expect(readExecArguments({ type: "exec", command: ["git", "log", "--format=%s 'x'", ""], working_directory: "/w", timeout: 9, env: { A: "" } })).toEqual({
    ok: true,
    value: { ...usual, env: { A: "" }, workdir: "/w", timeoutMs: 9, command: { kind: "program", argv: ["git", "log", "--format=%s 'x'", ""] } },
  });
});

test("what a model leaves open by filling it in is left open", () => {
  expect(readExecArguments({ cmd: "ls", workdir: "", shell: "", login: null, timeout_ms: null, env: null, tty: null, stdin: null, yield_time_ms: null, max_output_tokens: null, sandbox_permissions: null, justification: null })).toEqual({ ok: true, value: { ...usual, command: script("ls") } });
});

test("a command that may go on in the background has no time limit of its own", () => {
  expect(readExecArguments({ cmd: "x", yield_time_ms: 1000 })).toMatchObject({ value: { yieldMs: 1000, timeoutMs: null } });
  expect(readExecArguments({ cmd: "x", yield_time_ms: 0, timeout_ms: 7 })).toMatchObject({ value: { yieldMs: 0, timeoutMs: 7 } });
  expect(readExecArguments({ cmd: "x", yield_time_ms: 1e12, max_output_tokens: 50 })).toMatchObject({ value: { yieldMs: 600_000, maxTokens: 50 } });
});

test("one that can be typed to is waited for, but not to its end", () => {
  expect(readExecArguments({ cmd: "x", tty: true })).toMatchObject({ value: { input: "terminal", yieldMs: 10_000, timeoutMs: null } });
  expect(readExecArguments({ cmd: "x", stdin: true, yield_time_ms: 5 })).toMatchObject({ value: { input: "pipe", yieldMs: 5 } });
  expect(readExecArguments({ cmd: "x", tty: false, stdin: false })).toMatchObject({ value: { input: "none", yieldMs: null } });
});

test("why it is to run outside", () => {
  expect(readExecArguments({ cmd: "x", sandbox_permissions: "require_escalated", justification: " needs the network " })).toMatchObject({ value: { escalated: "needs the network" } });
  expect(readExecArguments({ cmd: "x", sandbox_permissions: "require_escalated" })).toMatchObject({ value: { escalated: "the model gave no reason" } });
  expect(readExecArguments({ cmd: "x", sandbox_permissions: "use_default", justification: "x" })).toMatchObject({ value: { escalated: null } });
});

test("a timeout above the longest is the longest", () => {
  expect(readExecArguments({ cmd: "x", timeout_ms: 1e12 })).toMatchObject({ value: { timeoutMs: 600_000 } });
});

test.each([
  [null, "the arguments must be an object"],
  [["ls"], "the arguments must be an object"],
  [{}, "`cmd` is missing"],
  [{ cmd: "  " }, "`cmd` must be a text that is not empty"],
  [{ cmd: "a\0b" }, "has no NUL characters"],
  [{ cmd: 7 }, "`cmd` must be a text"],
  [{ cmd: "x".repeat(200_000) }, "put the text into a file first"],
  [{ command: [] }, "`command` must be a list of texts that starts with a program"],
  [{ command: ["ls", 1] }, "`command` must be a list of texts"],
  [{ command: ["ls", "ä".repeat(70_000)] }, "element 1 of `command` is longer"],
  [{ cmd: "x", workdir: 1 }, "`workdir` must be a path"],
  [{ cmd: "x", timeout_ms: "10" }, "`timeout_ms` must be a number"],
  [{ cmd: "x", timeout_ms: -1 }, "`timeout_ms` must be a number"],
  [{ cmd: "x", shell: [] }, "`shell` must be the name"],
  [{ cmd: "x", login: "yes" }, "`login` must be true or false"],
  [{ cmd: "x", yield_time_ms: -1 }, "`yield_time_ms` must be a number"],
  [{ cmd: "x", yield_time_ms: "1" }, "`yield_time_ms` must be a number"],
  [{ cmd: "x", max_output_tokens: 0 }, "`max_output_tokens` must be a number above 0"],
  [{ cmd: "x", tty: "yes" }, "`tty` and `stdin` must be true or false"],
  [{ cmd: "x", sandbox_permissions: "all" }, "`sandbox_permissions` must be"],
  [{ cmd: "x", justification: 1 }, "`justification` must be a text"],
  [{ cmd: "x", env: { A: 1 } }, "`env` must be an object"],
  [{ cmd: "x", env: { "A=B": "1" } }, "`env` must be an object"],
])("%j is refused", (input, why) => {
  const read = readExecArguments(input);
  expect(read).toMatchObject({ ok: false, message: expect.stringContaining(why) as string });
  expect(read).toMatchObject({ message: expect.stringMatching(/^Not run: /u) as string });
});

test("no input throws", () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.record({ cmd: fc.anything(), command: fc.anything(), workdir: fc.anything(), timeout_ms: fc.anything(), env: fc.anything() })), (input) => {
      expect(typeof readExecArguments(input).ok).toBe("boolean");
    }),
    { numRuns: 2000 },
  );
});
