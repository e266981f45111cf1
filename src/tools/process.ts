/**
 * Process: runs one command to its end.
 *
 * - It has a session and process group of its own, no input unless one is given, and one pipe for everything that it writes.
 * - It ends when its first process ends. What that one left behind gets GRACE_MS to write its last words and is then killed: nothing
 *   that holds the pipe open can keep a call from ending.
 * - A timeout or an abort asks the whole tree to end and kills it KILL_AFTER_MS later, so that an interrupt takes less than 200 ms
 *   whatever the command does.
 * - It does not outlive us: a sandbox dies with its parent, everything else is watched (watchdog.ts).
 */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { coverInherited } from "./descriptors.ts";
import { scratch } from "./scratch.ts";
import { groupTree, namespaceTree, type Tree } from "./tree.ts";
import { watch } from "./watchdog.ts";

const KILL_AFTER_MS = 100;
const GRACE_MS = 100;

export interface Launch {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /**
   * What holds its tree together: a process group and a mark, or a bubblewrap sandbox. The latter writes its status to descriptor 3
   * and reads its options from 4 and its system call filter from 5.
   */
  within: { kind: "group"; mark: string } | { kind: "bubblewrap"; options: string; filter: Filter | null };
}
export interface Filter {
  name: string;
  bytes: Uint8Array;
}

export type Ended =
  /** Nothing was run. */
  | { how: "not started"; why: string }
  | { how: "exited" | "timed out" | "aborted"; exit: number | null; signal: NodeJS.Signals | null; /** No process of it is left. */ gone: boolean };

interface Given {
  launch: Launch;
  signal: AbortSignal;
  /** Null: it may take as long as it likes. */
  timeoutMs: number | null;
  onOutput(chunk: Buffer): void;
  /** A descriptor that it reads from; closed here once it is started. */
  input?: number;
  onStarted?(running: Running): void;
}
export interface Running {
  interrupt(): void;
}

export async function runProcess({ launch, signal, timeoutMs, onOutput, input, onStarted }: Given): Promise<Ended> {
  const { reader, writer } = await scratch().pipe();
  const { within } = launch;
  const watched = within.kind === "group" ? watch(within.mark) : null;
  const started = start(launch, { input: input ?? "ignore", writer });
  if (!started.ok) {
    watched?.release();
    reader.destroy();
    return { how: "not started", why: await started.why };
  }
  const { child, pid } = started;
  watched?.started(pid);
  const status = within.kind === "bubblewrap" ? readStatus(child.stdio[3] as Readable) : null;
  const tree = within.kind === "bubblewrap" ? namespaceTree(pid, () => status!.init) : groupTree(pid, within.mark);
  const output = readOutput(reader, onOutput);
  const stop = armStop(tree, { signal, timeoutMs });
  onStarted?.({ interrupt: () => tree.interrupt() });

  const ended = await exitOf(child);
  stop.disarm();
  await Promise.race([output.end, pause(stop.reason === null ? GRACE_MS : stop.untilKill())]);
  tree.sweep();
  await output.settle();
  const gone = await tree.gone();
  await status?.complete;
  watched?.release();

  if (stop.reason !== null) return { how: stop.reason, exit: null, signal: null, gone };
  if (status && status.exit === null && ended.signal === null) return { how: "not started", why: "" };
  return { how: "exited", exit: status?.exit ?? ended.exit, signal: ended.signal, gone };
}

type Started = { ok: true; child: ChildProcess; pid: number } | { ok: false; why: Promise<string> };

function start({ file, args, cwd, env, within }: Launch, { input, writer }: { input: number | "ignore"; writer: number }): Started {
  const filter = within.kind === "bubblewrap" && within.filter ? scratch().descriptor(within.filter.name, within.filter.bytes) : null;
  const more = within.kind === "bubblewrap" ? ["pipe", "pipe", ...(filter === null ? [] : [filter])] : [];
  try {
    const stdio = coverInherited<string>([input, writer, writer, ...more]) as ("ignore" | "pipe" | number)[];
    const child = spawn(file, args, { cwd, env, detached: true, stdio });
    if (child.pid === undefined) return { ok: false, why: new Promise((resolve) => child.once("error", (error) => resolve(error.message))) };
    child.on("error", () => {});
    if (within.kind === "bubblewrap") (child.stdio[4] as Writable).on("error", () => {}).end(within.options);
    return { ok: true, child, pid: child.pid };
  } catch (error) {
    return { ok: false, why: Promise.resolve(error instanceof Error ? error.message : String(error)) };
  } finally {
    closeSync(writer);
    if (input !== "ignore") closeSync(input);
    if (filter !== null) closeSync(filter);
  }
}

function exitOf(child: ChildProcess): Promise<{ exit: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => child.once("exit", (exit, signal) => resolve({ exit, signal })));
}

function readOutput(reader: Socket, onOutput: (chunk: Buffer) => void) {
  let last = performance.now();
  reader.on("data", (chunk: Buffer) => {
    last = performance.now();
    onOutput(chunk);
  });
  reader.on("error", () => {});
  const end = new Promise<void>((resolve) => reader.once("close", () => resolve()));
  return {
    end,
    /** What was written is read; somebody who still holds the pipe is not waited for once it is quiet, nor for ever. */
    async settle(): Promise<void> {
      const from = performance.now();
      last = from;
      while (!reader.closed && performance.now() - from < 1000 && performance.now() - last < 50) await Promise.race([end, pause(10)]);
      reader.destroy();
    },
  };
}

function armStop(tree: Tree, { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number | null }) {
  let killAt = 0;
  let kill: NodeJS.Timeout | undefined;
  const armed = {
    reason: null as "timed out" | "aborted" | null,
    untilKill: () => Math.max(0, killAt - performance.now()),
    disarm() {
      clearTimeout(timer);
      clearTimeout(kill);
      signal.removeEventListener("abort", abort);
    },
  };
  function stop(reason: "timed out" | "aborted"): void {
    if (armed.reason !== null) return;
    armed.reason = reason;
    killAt = performance.now() + KILL_AFTER_MS;
    kill = setTimeout(() => tree.kill(), KILL_AFTER_MS);
    tree.terminate();
  }
  const abort = (): void => stop("aborted");
  const timer = timeoutMs === null ? undefined : setTimeout(() => stop("timed out"), timeoutMs);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return armed;
}

/** bubblewrap's own word: which process is the first in the sandbox, and how the command ended, if it was started at all. */
function readStatus(stream: Readable) {
  const status = { init: null as number | null, exit: null as number | null, complete: new Promise<void>((resolve) => stream.once("close", resolve)) };
  let text = "";
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    status.init = numberAfter(text, "child-pid") ?? status.init;
    status.exit = numberAfter(text, "exit-code") ?? status.exit;
  });
  return status;
}

function numberAfter(text: string, name: string): number | null {
  const found = new RegExp(`"${name}": (\\d+)[ ,}]`, "u").exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

/** Keeps nobody waiting: what it races against does. */
function pause(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}
