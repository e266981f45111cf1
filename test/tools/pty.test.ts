/** Commands in a terminal, in every mode, with real interactive programs. */
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { SandboxMode } from "../../src/protocol/record.ts";
import { createProcesses } from "../../src/tools/processes.ts";
import { withTerminal } from "../../src/tools/pty.ts";
import { folder, idIn, run, toolsOf, untilWritten, workspace, type RunOptions } from "./given.ts";

const MODES: SandboxMode[] = ["danger-full-access", "workspace-write", "read-only"];

const processes = createProcesses();
afterAll(() => processes.close());
const [exec, write] = ["exec_command", "write_stdin"].map((wanted) => toolsOf({ processes }).find(({ name }) => name === wanted)!);

const cwd = workspace();
const start = (input: object, options: Partial<RunOptions> = {}) => run({ tty: true, ...input }, { cwd, of: exec!, ...options });
const type = (input: object, options: Partial<RunOptions> = {}) => run(input, { cwd, of: write!, ...options });

/** Types, and gives what is said until `until` is seen. */
async function converse(id: number, { chars, until, sandbox }: { chars: string; until: string; sandbox: SandboxMode }): Promise<string> {
  return untilWritten(until, await type({ session_id: id, chars, yield_time_ms: 20 }, { sandbox }), (input) => type(input, { sandbox }));
}

describe.each(MODES)("%s", (sandbox) => {
  test("it has a terminal of its own, with a size and a kind", async () => {
    const ran = await start({ cmd: 'test -t 0 && test -t 1 && test -t 2 && tty && stty size && echo "$TERM"' }, { sandbox });
    expect(ran).toMatchObject({ status: "done", exit: 0 });
    expect(ran.text).toMatch(/^\/dev\/pts\/\d+\n40 120\nxterm\S*\n$/u);
  });

  test("the exit code comes through, and the shell that was set", async () => {
    const ran = await start({ cmd: `echo "$SHELL" 'a  b' "it's"; exit 42`, env: { SHELL: "/bin/of course" } }, { sandbox });
    expect(ran).toMatchObject({ status: "done", exit: 42, text: "/bin/of course a  b it's\n" });
  });

  test("a prompt waits and reads what is typed, which is echoed", async () => {
    const ran = await start({ cmd: 'read -r -p "name? " name; echo "hello $name"; exit 5', yield_time_ms: 0 }, { sandbox });
    expect(await untilWritten("name? ", ran, (input) => type(input, { sandbox }))).toBe("name? ");
    expect(await type({ session_id: idIn(ran.output), chars: "you\n", yield_time_ms: 5000 }, { sandbox })).toMatchObject({ exit: 5, text: "you\nhello you\n" });
  });

  test("a Python session keeps what it was told", async () => {
    const ran = await start({ cmd: "python3 -q", yield_time_ms: 100 }, { sandbox });
    const id = idIn(ran.output);
    expect(await converse(id, { chars: "x = 20\n", until: ">>> ", sandbox })).toContain(">>> ");
    expect(await converse(id, { chars: "print(x + 22)\n", until: "\n42\n", sandbox })).toContain("\n42\n");
    expect(await type({ session_id: id, chars: "\u0004", yield_time_ms: 5000 }, { sandbox })).toMatchObject({ status: "done", exit: 0 });
  });

  test("an interrupt goes to what runs in front, and the shell goes on", async () => {
    const ran = await start({ cmd: "bash --norc --noprofile -i", yield_time_ms: 0 }, { sandbox });
    const id = idIn(ran.output);
    await untilWritten(/[#$] $/u, ran, (input) => type(input, { sandbox }));
    await type({ session_id: id, chars: "sleep 1000\n" }, { sandbox });
    expect(await converse(id, { chars: "\u0003", until: "^C", sandbox })).toContain("^C");
    expect(await converse(id, { chars: "echo still $((40 + 2))\n", until: "still 42\n", sandbox })).toContain("still 42\n");
    expect(await type({ session_id: id, chars: "exit 3\n", yield_time_ms: 5000 }, { sandbox })).toMatchObject({ exit: 3 });
  });

  test("a program given as a list", async () => {
    expect(await start({ command: ["printf", "%s|", "a b", "$HOME", "'", "*", ""] }, { sandbox })).toMatchObject({ exit: 0, text: "a b|$HOME|'|*||" });
  });

  test("an interrupted call leaves nothing in the terminal", async () => {
    const abort = new AbortController();
    const ran = await start({ cmd: "trap '' HUP TERM INT; echo $$; sleep 1000; sleep 1000", yield_time_ms: 60_000 }, { sandbox, signal: abort.signal, onShown: () => abort.abort() });
    expect(ran.output).toMatch(/^Interrupted: /u);
    expect(processes.of("thread")).toEqual([]);
  });
});

describe("the ways to a terminal", () => {
  const options = { home: "/nonexistent/skein", env: process.env, platform: process.platform, sandbox: { writableRoots: [], network: false }, environment: {}, outputTokens: 1000 };
  const plain = { argv: ["bash", "-c", "tty; stty size; exit 6"] as const, env: { PATH: "/usr/bin:/bin" }, workdir: cwd, cwd, sandbox: "read-only" as const, timeoutMs: null, notes: [] };
  const having = (programs: Record<string, string>) => ({ platform: "linux" as const, find: (name: string) => programs[name] ?? null });

  test("on macOS script takes the command as it is", () => {
    const { argv } = withTerminal(plain, { ...having({ script: "/usr/bin/script", python3: "/usr/bin/python3" }), platform: "darwin" });
    expect(argv).toEqual(["/usr/bin/script", "-q", "/dev/null", "/bin/sh", "-c", 'stty rows 40 cols 120 echo; exec "$@"', "sh", ...plain.argv]);
  });

  test("a command too long to be quoted in one argument goes through Python", async () => {
    const long = `: ${"''".repeat(30_000)}; tty; exit 6`;
    expect(await start({ cmd: long })).toMatchObject({ exit: 6, text: expect.stringMatching(/^\/dev\/pts\/\d+\n$/u) as string });
  });

  test("Python does where there is no script, or only that of BusyBox", async () => {
    const bin = folder();
    writeFileSync(join(bin, "busybox"), "", { mode: 0o755 });
    symlinkSync("busybox", join(bin, "script"));
    for (const script of [{}, { script: join(bin, "script") }] as Record<string, string>[]) {
      const prepared = withTerminal(plain, having({ ...script, python3: "/usr/bin/python3" }));
      const started = processes.start({ thread: "python", command: "", prepared, input: "terminal", options });
      if (!started.ok) throw new Error(started.message);
      await started.session.done;
      expect(started.session.finished).toMatchObject({ ok: true, ended: { how: "exited", exit: 6 } });
      expect(started.session.look().text).toMatch(/^\/dev\/pts\/\d+\r\n40 120\r\n$/u);
    }
    await processes.closed("python");
  });

  test("without either it is run all the same, and that is told", () => {
    expect(withTerminal(plain, having({}))).toEqual({ ...plain, notes: ["there is no terminal: neither script(1) nor python3 is installed. Its input is a pipe."] });
  });
});
