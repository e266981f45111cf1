/**
 * Processes: the commands that outlive the call that started them, as sessions of their thread.
 *
 * - A session is known by its ID in its thread alone, and until somebody has seen how it ended. IDs start anywhere, so that one of an
 *   earlier process of Skein is not taken for another command.
 * - A thread has at most MOST of them. To make room, the oldest that has ended goes; one that runs never does.
 * - What it writes between two looks is kept, head and tail, up to KEPT_BYTES.
 * - It ends with its thread and with this process: `closed` and `close` end what runs, and resolve when it is gone; when this
 *   process is killed, the sandbox or the watchdog ends it, as for every command.
 */
import { randomInt } from "node:crypto";
import type { Socket } from "node:net";
import type { ThreadId } from "../protocol/record.ts";
import { launch, type ExecOptions, type Finished, type Prepared } from "./exec-launch.ts";
import { createLooks, type Collected } from "./output.ts";
import type { Running } from "./process.ts";
import { scratch } from "./scratch.ts";

const MOST = 16;
const KEPT_BYTES = 1_000_000;

export interface Session {
  readonly id: number;
  /** As it was asked for. */
  readonly command: string;
  readonly prepared: Prepared;
  readonly input: "terminal" | "pipe" | "none";
  /** Null while it runs. */
  readonly finished: Finished | null;
  /** Settles when it has ended and nothing of it is left. */
  readonly done: Promise<void>;
  /** False: it does not read. */
  write(chars: string): boolean;
  endInput(): void;
  interrupt(): void;
  /** Ends it and everything that it started. */
  stop(): void;
  /** What it wrote since the last look. */
  look(): Collected;
  /** Who sees its output as it comes, until there is another. */
  watch(onOutput: ((chunk: Buffer) => void) | null): void;
}

export interface Starting {
  thread: ThreadId;
  command: string;
  prepared: Prepared;
  input: Session["input"];
  options: ExecOptions;
}

export interface Processes {
  start(given: Starting): { ok: true; session: Session } | { ok: false; message: string };
  of(thread: ThreadId): readonly Session[];
  forget(thread: ThreadId, session: Session): void;
  closed(thread: ThreadId): Promise<void>;
  close(): Promise<void>;
}

export function createProcesses(): Processes {
  const threads = new Map<ThreadId, Session[]>();
  let id = randomInt(1000, 100_000);
  const of = (thread: ThreadId): Session[] => threads.get(thread) ?? [];

  async function closed(thread: ThreadId): Promise<void> {
    const sessions = of(thread);
    threads.delete(thread);
    for (const session of sessions) session.stop();
    await Promise.all(sessions.map(({ done }) => done));
  }
  function forget(thread: ThreadId, session: Session): void {
    const others = of(thread).filter((each) => each !== session);
    if (others.length > 0) threads.set(thread, others);
    else threads.delete(thread);
  }
  return {
    of,
    forget,
    closed,
    start(given) {
      const { thread } = given;
      const ended = of(thread).find(({ finished }) => finished !== null);
      if (of(thread).length >= MOST && ended) forget(thread, ended);
      if (of(thread).length >= MOST) return { ok: false, message: `Not run: ${MOST} commands of this thread already run in the background. End one with write_stdin and end: true.\n${listed(of(thread))}` };
      const session = startSession(id++, given);
      threads.set(thread, [...of(thread), session]);
      return { ok: true, session };
    },
    async close() {
      await Promise.all([...threads.keys()].map(closed));
    },
  };
}

/** One a line. */
export function listed(sessions: readonly Session[]): string {
  return sessions.map(({ id, command, finished }) => `${id}: ${command.split("\n")[0]!.slice(0, 100)}${finished ? " (ended)" : ""}`).join("\n");
}

function startSession(id: number, { command, prepared, input, options }: Starting): Session {
  const abort = new AbortController();
  const looks = createLooks(KEPT_BYTES);
  let watcher: ((chunk: Buffer) => void) | null = null;
  let finished: Finished | null = null;
  let writer: Socket | null = null;
  let running: Running | null = null;

  async function attempt() {
    looks.look({ last: true });
    const pipe = input === "none" ? null : await scratch().input();
    writer?.destroy();
    writer = pipe?.writer.on("error", () => {}) ?? null;
    return {
      onOutput(chunk: Buffer) {
        looks.add(chunk);
        watcher?.(chunk);
      },
      ...(pipe ? { input: pipe.reader } : {}),
      onStarted: (started: Running) => void (running = started),
    };
  }
  async function runToEnd(): Promise<void> {
    finished = await launch(prepared, { options, signal: abort.signal, attempt }).catch((error: unknown): Finished => ({ ok: false, message: `Not run: it could not be started. ${String(error)}` }));
    running = null;
    writer?.destroy();
  }
  const done = runToEnd();
  return {
    id,
    command,
    prepared,
    input,
    done,
    get finished() {
      return finished;
    },
    write(chars) {
      if (!writer || writer.writableLength > KEPT_BYTES) return false;
      writer.write(chars);
      return true;
    },
    endInput: () => void writer?.end(),
    interrupt: () => running?.interrupt(),
    stop: () => abort.abort(),
    look: () => looks.look({ last: finished !== null }),
    watch: (onOutput) => void (watcher = onOutput),
  };
}
