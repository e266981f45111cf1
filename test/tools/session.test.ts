/** Commands that go on between calls, in every mode: exec_command with yield_time_ms, and write_stdin. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { SandboxMode } from "../../src/protocol/record.ts";
import { createProcesses } from "../../src/tools/processes.ts";
import { eventually, gate, idIn, processesWith, run, toolsOf, uniqueSleep, untilWritten, workspace, type Ran, type RunOptions } from "./given.ts";

const MODES: SandboxMode[] = ["danger-full-access", "workspace-write", "read-only"];

const processes = createProcesses();
afterAll(() => processes.close());
// One that failed leaves nothing to the next.
afterEach(() => processes.closed("thread"));
const [exec, write] = ["exec_command", "write_stdin"].map((wanted) => toolsOf({ processes }).find(({ name }) => name === wanted)!);

const cwd = workspace();
const start = (input: unknown, options: Partial<RunOptions> = {}) => run(input, { cwd, of: exec!, ...options });
const type = (input: unknown, options: Partial<RunOptions> = {}) => run(input, { cwd, of: write!, ...options });
const saidSoFar = (word: string, ran: Ran, options: Partial<RunOptions> = {}) => untilWritten(word, ran, (input) => type(input, options));
const withoutTimes = (output: string): string => output.replace(/\d+\.\d seconds/u, "0.0 seconds").replace(/session ID \d+/u, "session ID 0");

describe.each(MODES)("%s", (sandbox) => {
  test("a command that ends in time is told like any other", async () => {
    expect(await start({ cmd: "echo hello; exit 3", yield_time_ms: 10_000 }, { sandbox })).toMatchObject({ status: "done", exit: 3, text: "hello\n" });
    expect(processes.of("thread")).toEqual([]);
  });

  test("a command that still runs is told with its session, and looked at until it has ended", async () => {
    const { wait, open } = gate(cwd);
    const ran = await start({ cmd: `echo one; ${wait}; echo two; exit 7`, yield_time_ms: 100 }, { sandbox });
    expect(withoutTimes(ran.output)).toBe(
      `Process running with session ID 0\nWall time: 0.0 seconds\nNote: to go on, call write_stdin with this session_id: empty chars to wait for more, "\\u0003" to interrupt it, end: true to end it.\nOutput:\n${ran.text}`,
    );
    expect({ status: ran.status, exit: ran.exit }).toEqual({ status: "done", exit: undefined });
    expect(await saidSoFar("one\n", ran, { sandbox })).toBe("one\n");
    open();
    const later = await type({ session_id: idIn(ran.output) }, { sandbox });
    expect(later).toMatchObject({ status: "done", exit: 7, text: "two\n", shown: "two\n" });
    expect((await type({ session_id: idIn(ran.output) }, { sandbox })).output).toBe(`No such session: ${idIn(ran.output)}. It ended with the Skein process that ran it, or was ended.`);
  });

  test("what is typed is read, and the end of input is heard", async () => {
    const ran = await start({ cmd: "while read -r line; do echo \"got $line\"; done; echo over", stdin: true, yield_time_ms: 100 }, { sandbox });
    const id = idIn(ran.output);
    expect(await saidSoFar("got b\n", await type({ session_id: id, chars: "a\nb\n" }, { sandbox }), { sandbox })).toBe("got a\ngot b\n");
    expect(await type({ session_id: id, chars: "c\n\u0004", yield_time_ms: 5000 }, { sandbox })).toMatchObject({ exit: 0, text: "got c\nover\n" });
  });

  test("an interrupt reaches the command, and it decides", async () => {
    const heeding = await start({ cmd: "trap 'echo heard; exit 9' INT; echo ready; while :; do sleep 0.02; done", yield_time_ms: 100 }, { sandbox });
    expect(await saidSoFar("ready\n", heeding, { sandbox })).toBe("ready\n");
    expect(await type({ session_id: idIn(heeding.output), chars: "\u0003", yield_time_ms: 5000 }, { sandbox })).toMatchObject({ exit: 9, text: expect.stringContaining("heard\n") as string });
    const plain = await start({ cmd: "echo on; sleep 1000", yield_time_ms: 100 }, { sandbox });
    expect(await saidSoFar("on\n", plain, { sandbox })).toBe("on\n");
    expect(await type({ session_id: idIn(plain.output), chars: "\u0003", yield_time_ms: 5000 }, { sandbox })).toMatchObject({ status: "done", exit: 130 });
  });

  test("it can be ended, and its whole tree goes", async () => {
    const sleep = uniqueSleep();
    const ran = await start({ cmd: `trap '' TERM INT; setsid sleep ${sleep} & sleep ${sleep}`, yield_time_ms: 100 }, { sandbox });
    expect(await eventually(() => processesWith(`sleep\0${sleep}`).length === 2)).toBe(true);
    const ended = await type({ session_id: idIn(ran.output), end: true }, { sandbox });
    expect(ended.status).toBe("done");
    expect(ended.output.split("\n")[0]).toBe(`Ended: the command and ${sandbox === "danger-full-access" ? "all of its processes that could be found" : "everything that it started"}.`);
    expect(processesWith(sleep)).toEqual([]);
  });

  test("a call that is interrupted while it waits ends the command within 200 ms", async () => {
    const times: number[] = [];
    // The machine may be busy with other tests: the promise is about ours, so the best one counts.
    for (const end = performance.now() + 20_000; performance.now() < end && !times.some((ms) => ms < 200); ) {
      const sleep = uniqueSleep();
      const ran = await start({ cmd: `trap '' TERM INT; echo up; sleep ${sleep} & wait; sleep ${sleep}`, yield_time_ms: 0 }, { sandbox });
      await saidSoFar("up\n", ran, { sandbox });
      const abort = new AbortController();
      let at = 0;
      setTimeout(() => ((at = performance.now()), abort.abort()), 100);
      const waited = await type({ session_id: idIn(ran.output), yield_time_ms: 60_000 }, { sandbox, signal: abort.signal });
      times.push(performance.now() - at);
      expect(waited).toMatchObject({ status: "failed" });
      expect(waited.output).toMatch(/^Interrupted: /u);
      expect(processesWith(sleep)).toEqual([]);
    }
    expect(Math.min(...times), times.join(" ")).toBeLessThan(200);
    expect(processes.of("thread")).toEqual([]);
  });

  test("so does a call that has just started it", async () => {
    const sleep = uniqueSleep();
    const abort = new AbortController();
    const ran = await start({ cmd: `echo up; sleep ${sleep}`, yield_time_ms: 60_000 }, { sandbox, signal: abort.signal, onShown: () => abort.abort() });
    expect(ran.output).toMatch(/^Interrupted: /u);
    expect(processesWith(sleep)).toEqual([]);
  });

  test("a time limit holds in the background too", async () => {
    const sleep = uniqueSleep();
    const ran = await start({ cmd: `sleep ${sleep}`, yield_time_ms: 0, timeout_ms: 300 }, { sandbox });
    const later = await type({ session_id: idIn(ran.output) }, { sandbox });
    expect(later).toMatchObject({ status: "failed", exit: 124 });
    expect(later.output).toContain("Note: timed out after 300 ms");
    expect(processesWith(sleep)).toEqual([]);
  });

  test("closing the thread ends what it left running, and nothing of others", async () => {
    const [mine, other] = [uniqueSleep(), uniqueSleep()];
    await start({ cmd: `setsid sleep ${mine} & sleep ${mine}`, yield_time_ms: 0 }, { sandbox, thread: "mine" });
    const kept = await start({ cmd: `sleep ${other}`, yield_time_ms: 0 }, { sandbox, thread: "other" });
    expect(await eventually(() => processesWith(`sleep\0${mine}`).length === 2 && processesWith(`sleep\0${other}`).length === 1)).toBe(true);
    await processes.closed("mine");
    expect(processesWith(mine)).toEqual([]);
    expect(processesWith(`sleep\0${other}`).length).toBe(1);
    expect((await type({ session_id: idIn(kept.output), yield_time_ms: 0 }, { sandbox, thread: "mine" })).output).toContain("No such session");
    await processes.closed("other");
    expect(processesWith(other)).toEqual([]);
  });
});

test("what is protected stays so in the background while other calls come and go", async () => {
  const place = workspace();
  const { wait, open, close } = gate(place);
  const first = await start({ cmd: `echo on; ${wait}; mkdir -p .agents/late .git/hooks; echo tried`, yield_time_ms: 0 }, { cwd: place, sandbox: "workspace-write" });
  await saidSoFar("on\n", first, { cwd: place, sandbox: "workspace-write" });
  expect((await start({ cmd: "mkdir -p .agents/x; echo x > made" }, { cwd: place, sandbox: "workspace-write" })).exit).toBe(0);
  open();
  expect((await type({ session_id: idIn(first.output) }, { cwd: place, sandbox: "workspace-write" })).text).toContain("tried\n");
  close();
  expect(await eventually(() => readdirSync(place).join() === "made")).toBe(true);
});

test("a character that is written in two pieces is read as one", async () => {
  const { wait, open } = gate(cwd);
  const ran = await start({ cmd: String.raw`printf 'a\xe2\x82'; ${wait}; printf '\xacb'`, yield_time_ms: 0 });
  expect(await saidSoFar("a", ran)).toBe("a");
  open();
  expect((await type({ session_id: idIn(ran.output) })).text).toBe("€b");
});

test("what a chatty command writes between two looks is kept to its head and tail", async () => {
  const { wait, open } = gate(cwd);
  const ran = await start({ cmd: `${wait}; seq 1 1000000; echo end; sleep 1000`, yield_time_ms: 0 });
  const id = idIn(ran.output);
  let last = "";
  processes.of("thread").find((session) => session.id === id)!.watch((chunk) => (last = (last + chunk.toString()).slice(-10)));
  open();
  expect(await eventually(() => last.endsWith("\nend\n"))).toBe(true);
  const later = await type({ session_id: id, yield_time_ms: 0 });
  expect(later.text).toMatch(/^1\n2\n/u);
  expect(later.text).toMatch(/\n1000000\nend\n$/u);
  expect(later.text).toContain("left out");
  expect(later.kept[0]).toContain("were too much to keep");
  expect(later.kept[0]!.length).toBeLessThan(1_000_100);
  expect((await type({ session_id: id, end: true })).text).toBe("");
});

test("max_output_tokens bounds what the model reads, within the configured limit", async () => {
  expect((await start({ cmd: "seq 1 1000", max_output_tokens: 25 })).text.length).toBeLessThan(250);
  expect((await start({ cmd: "seq 1 1000", max_output_tokens: 1e6 }, { of: toolsOf({ outputTokens: 25 })[0]! })).text.length).toBeLessThan(250);
});

test("a command with closed input is not written to, and reads an end at once", async () => {
  const ran = await start({ cmd: "cat; echo eof; sleep 1000", yield_time_ms: 0 });
  expect(await saidSoFar("eof\n", ran)).toBe("eof\n");
  const id = idIn(ran.output);
  expect(await type({ session_id: id, chars: "x\n" })).toMatchObject({ status: "failed", output: "Not written: its input is closed. Start a command with tty: true (or stdin: true) to write to it." });
  expect(await type({ session_id: id, end: true })).toMatchObject({ status: "done" });
});

test("sixteen run at once; another is refused with their list, until one has ended", async () => {
  const thread = "many";
  const ids: number[] = [];
  for (let count = 0; count < 16; count++) ids.push(idIn((await start({ cmd: `sleep 5000 # ${count}`, yield_time_ms: 0 }, { thread })).output));
  const refused = await start({ cmd: "touch refused", yield_time_ms: 0 }, { thread });
  expect(refused).toMatchObject({ status: "failed" });
  expect(refused.output).toBe(`Not run: 16 commands of this thread already run in the background. End one with write_stdin and end: true.\n${ids.map((id, count) => `${id}: sleep 5000 # ${count}`).join("\n")}`);
  expect(existsSync(join(cwd, "refused"))).toBe(false);
  const fourth = processes.of(thread)[3]!;
  // What is not up yet does not hear it.
  expect(await eventually(() => (fourth.interrupt(), fourth.finished !== null))).toBe(true);
  const more = await start({ cmd: "sleep 5000", yield_time_ms: 0 }, { thread });
  expect(idIn(more.output)).toBe(ids[15]! + 1);
  expect(processes.of(thread).map(({ id }) => id)).toEqual([...ids.filter((id) => id !== ids[3]), ids[15]! + 1]);
  await processes.closed(thread);
});

test("a program that is not there is told at once", async () => {
  expect(await start({ command: ["no-such-program"], yield_time_ms: 5000 })).toMatchObject({ status: "done", exit: 127 });
  expect(await start({ cmd: "pwd", workdir: "nowhere", yield_time_ms: 5000 })).toMatchObject({ status: "failed", output: `Not run: the folder ${cwd}/nowhere does not exist.` });
});

test.each([
  [{}, "`session_id` must be the number"],
  [null, "the arguments must be an object"],
  [{ session_id: 1, chars: 7 }, "`chars` must be a text"],
  [{ session_id: 1, end: "yes" }, "`end` must be true or false"],
  [{ session_id: 1, yield_time_ms: "1" }, "`yield_time_ms` must be a number"],
])("write_stdin with %j is refused", async (input, why) => {
  expect(await type(input)).toMatchObject({ status: "failed", output: expect.stringContaining(why) as string });
});

describe("what write_stdin would do", () => {
  const assess = async (input: object, sandbox: SandboxMode, started: SandboxMode) => {
    const ran = await start({ cmd: "sleep 1000", stdin: true, yield_time_ms: 0 }, { sandbox: started });
    const id = idIn(ran.output);
    const found = await write!.assess!({ session_id: id, ...input }, { thread: "thread", cwd, sandbox, approval: "untrusted" });
    const written = await type({ session_id: id, yield_time_ms: 0, ...input }, { sandbox });
    await type({ session_id: id, end: true });
    return { found, written, id };
  };

  test("looking and interrupting are safe", async () => {
    for (const chars of ["", "\u0003"]) {
      const { found } = await assess({ chars }, "read-only", "danger-full-access");
      expect(found).toEqual({ safe: true, rule: null, outside: null, shown: { kind: "command", command: chars, cwd }, grant: null });
    }
  });

  test("typing is not, and is granted for its session alone", async () => {
    const { found, id } = await assess({ chars: "rm -rf x\n" }, "read-only", "read-only");
    expect(found).toEqual({
      safe: false,
      rule: null,
      outside: null,
      shown: { kind: "command", command: "rm -rf x\n", cwd },
      grant: { keys: [`write_stdin ${id}`], text: `typing anything into session ${id}: sleep 1000` },
    });
  });

  test("typing into what runs in wider bounds leaves the sandbox, and is refused in narrower ones", async () => {
    const { found, written } = await assess({ chars: "x\n" }, "workspace-write", "danger-full-access");
    expect(found.outside).toBe("it is typed into a command that runs outside: sleep 1000");
    expect(written).toMatchObject({ status: "failed", output: "Not written: the command runs in danger-full-access, and this call is bound to workspace-write." });
  });
});
