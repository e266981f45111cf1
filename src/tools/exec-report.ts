/**
 * Report: what the model reads of a command, and what people see while it runs.
 *
 *   Exit code: 0                   (or: Interrupted: …, Ended: …, Process running with session ID 7)
 *   Wall time: 0.1 seconds
 *   Note: …                        (each thing that the model should know of this run)
 *   Output:
 *   …
 *
 * A command that ran, or still runs, is `done`, whatever its exit code; `failed` are a command that was not run, timed out (exit 124, as
 * timeout(1) says it) or was interrupted. Output is shown as it comes, up to SHOWN_BYTES; the model gets head and tail of what is longer
 * than its limit, and then the full text is kept as the blob `full` of the call, which read_file reads.
 */
import { constants as osConstants } from "node:os";
import type { ToolHost, ToolOutcome } from "../core/tool.ts";
import type { ExecOptions, Finished, Prepared } from "./exec-launch.ts";
import { keptAs, shorten, type Collected } from "./output.ts";

/** Of live output: the rest of a flood is counted, not shown. */
const SHOWN_BYTES = 1_000_000;
const BYTES_PER_TOKEN = 4;
const TIMED_OUT = 124;

export interface Look {
  prepared: Prepared;
  /** How it ended, or the ID of its session while it runs. */
  state: Finished | { session: number };
  collected: Collected;
  ms: number;
  maxTokens: number | null;
}

export async function report({ prepared, state, collected, ms, maxTokens }: Look, { host, options }: { host: ToolHost; options: ExecOptions }): Promise<ToolOutcome> {
  if ("ok" in state && !state.ok) return neverRan(state);
  const ended = "ok" in state ? state.ended : null;
  const exit = ended === null || ended.how === "aborted" ? undefined : ended.how === "timed out" ? TIMED_OUT : exitCode(ended);
  const shorter = shorten(collected, Math.min(maxTokens ?? options.outputTokens, options.outputTokens) * BYTES_PER_TOKEN);
  // Not for an interrupted call: keeping takes time that an interrupt does not have.
  const full = shorter && ended?.how !== "aborted" ? await host.keep(collected.text).catch(() => undefined) : undefined;
  const denial = ended && prepared.sandbox !== "danger-full-access" && (exit !== 0 || SHELL_FAILED.test(collected.text)) ? await denialOf({ prepared, text: collected.text, exit, options }) : null;
  const stopped = whatEnded({ gone: ended?.gone === true, isNamespace: prepared.sandbox !== "danger-full-access" && options.platform === "linux" });
  const lines = [
    "session" in state ? `Process running with session ID ${state.session}` : exit === undefined ? `Interrupted: ${stopped}.` : howItEnded(state.ended.signal, exit),
    `Wall time: ${(ms / 1000).toFixed(1)} seconds`,
    ...("session" in state ? [`Note: to go on, call write_stdin with this session_id: empty chars to wait for more, "\\u0003" to interrupt it, end: true to end it.`] : []),
    ...(ended?.how === "timed out" ? [`Note: timed out after ${prepared.timeoutMs} ms; ${stopped}.`] : []),
    ...(collected.hasForeignBytes ? ["Note: the output has bytes that are not UTF-8; each is shown as \uFFFD."] : []),
    ...(denial?.note === undefined ? [] : [`Note: ${denial.note}`]),
    ...("ok" in state ? state.notes : prepared.notes).map((note) => `Note: ${note}`),
    "Output:",
    shorter?.(keptAs(full, collected.kept)) ?? collected.text,
  ];
  return {
    status: ended === null || ended.how === "exited" ? "done" : "failed",
    output: lines.join("\n"),
    ...(exit === undefined ? {} : { exit }),
    ...(full === undefined ? {} : { full }),
    ...(denial?.denied === undefined ? {} : { denied: denial.denied }),
  };
}

export function failed(output: string): ToolOutcome {
  return { status: "failed", output };
}

function neverRan({ message, exit }: Extract<Finished, { ok: false }>): ToolOutcome {
  if (exit === undefined) return failed(message);
  return { status: "done", exit, output: `Exit code: ${exit}\nWall time: 0.0 seconds\nOutput:\n${message}` };
}

function howItEnded(signal: NodeJS.Signals | null, exit: number): string {
  return `Exit code: ${exit}${signal ? ` (ended by ${signal})` : ""}`;
}

/** In a namespace nothing can hide; elsewhere a process that left its session, its environment and its parents is not found. */
function whatEnded({ gone, isNamespace }: { gone: boolean; isNamespace: boolean }): string {
  if (!gone) return "the command was ended, but something that it started still runs";
  return `the command and ${isNamespace ? "everything that it started" : "all of its processes that could be found"} were ended`;
}

function exitCode({ exit, signal }: { exit: number | null; signal: NodeJS.Signals | null }): number {
  return exit ?? 128 + (signal === null ? 0 : osConstants.signals[signal]);
}

/** A shell goes on after a line that a sandbox stood in the way of. */
const SHELL_FAILED = /^\S*sh: .*(?:Read-only file system|Operation not permitted|Network is unreachable)/imu;

async function denialOf({ prepared, text, exit, options }: { prepared: Prepared; text: string; exit: number | undefined; options: ExecOptions }) {
  const { findDenial } = await import("./sandbox/denial.ts");
  return findDenial({ ...prepared, text, exit: exit ?? null, platform: options.platform, home: options.home, ...options.sandbox });
}

/** Shows output while it comes. */
export function createShower(host: ToolHost): { show(chunk: Buffer): void; end(): void } {
  const decoder = new TextDecoder();
  let room = SHOWN_BYTES;
  function emit(text: string): void {
    if (text !== "") host.emit({ stream: "stdout", text });
  }
  return {
    show(chunk) {
      if (room <= 0) return;
      emit(decoder.decode(chunk.subarray(0, room), { stream: true }));
      room -= chunk.length;
      if (room <= 0) emit("\n[… more output is not shown while it comes …]\n");
    },
    end() {
      if (room > 0) emit(decoder.decode());
    },
  };
}
