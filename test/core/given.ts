/** Logs in memory for tests of the core: records go through the real codec and are frozen, so that nothing can change them. */
import type { Item } from "../../src/protocol/item.ts";
import { userText } from "../../src/protocol/item.ts";
import { decode, encode } from "../../src/protocol/codec.ts";
import type { Draft, KnownRecord, LogRecord, Position, Settings, ThreadId } from "../../src/protocol/record.ts";
import { asKnown } from "../../src/core/known.ts";
import { load, runReads, type Need } from "../../src/core/load.ts";
import type { State } from "../../src/core/state.ts";

export type Logs = Map<ThreadId, LogRecord[]>;

export const SETTINGS: Settings = {
  model: "gpt-test",
  model_provider: "openai",
  cwd: "/repo",
  approval_policy: "on-request",
  sandbox_mode: "workspace-write",
};

/** A UUID v7 with a number that people can read. */
export function threadId(n: number): ThreadId {
  return `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
}
export const ROOT = threadId(0);

/** The writer's clock: one second a record. */
function clock(seq: number): string {
  return new Date(Date.UTC(2026, 0, 31, 9) + seq * 1000).toISOString();
}

export function created(id: ThreadId = ROOT, base: Position | null = null): Draft {
  return { type: "thread.created", id, base, source: "exec", settings: SETTINGS };
}

export function queued(op: string, text: string | Item[] = op, deliver: "steer" | "next" = "next"): Draft {
  return { type: "input.queued", op, items: typeof text === "string" ? [userText(text)] : text, deliver };
}
export function said(text: string): Item {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}
export function called(call: string, name = "exec_command"): Item {
  return { type: "function_call", call_id: call, name, arguments: "{}" };
}
export function output(call: string, text = `output of ${call}`): Item {
  return { type: "function_call_output", call_id: call, output: text };
}
export function ended(call: string, text?: string): Draft {
  return { type: "call.ended", call, tool: "exec_command", status: "done", output: output(call, text), turn: "t1" };
}
export function added(id: string, item: Item): Draft {
  return { type: "item.added", id, item, turn: "t1" };
}

/** The record that a draft becomes on its way to disk and back. */
export function sealed(draft: Draft, place: { seq: number; at?: string }): LogRecord {
  const decoded = decode(encode(draft, { seq: place.seq, at: place.at ?? clock(place.seq) }));
  if (!decoded.ok) throw new Error(decoded.why);
  return deepFreeze(decoded.record);
}

export function append(logs: Logs, thread: ThreadId, ...drafts: Draft[]): LogRecord[] {
  const log = logs.get(thread) ?? [];
  logs.set(thread, log);
  return drafts.map((draft) => {
    const base = draft.type === "thread.created" ? (draft["base"] as Position | null) : null;
    const last = log.at(-1);
    const record = sealed(draft, { seq: last ? last.seq + 1 : (base?.before ?? 0) });
    log.push(record);
    return record;
  });
}

/** A root thread whose first record is made here; the drafts follow from seq 1. */
export function rootWith(...drafts: Draft[]): Logs {
  const logs: Logs = new Map();
  append(logs, ROOT, created(), ...drafts);
  return logs;
}

export function headOf(logs: Logs, thread: ThreadId = ROOT): Position {
  return { thread, before: (logs.get(thread)?.at(-1)?.seq ?? -1) + 1 };
}

/** Answers needs from memory, `batch` records at a time, as a store would from blocks of a file. */
export function reader(logs: Logs, batch = Number.POSITIVE_INFINITY): (need: Need) => readonly LogRecord[] {
  return (need) => {
    const log = logs.get(need.thread) ?? [];
    if (need.kind === "header") return log.slice(0, 1);
    const before: LogRecord[] = [];
    for (let index = log.length - 1; index >= 0 && before.length < batch; index--) if (log[index]!.seq < need.before) before.push(log[index]!);
    return before;
  };
}

export function stateAt(logs: Logs, position: Position, batch?: number): State | null {
  return runReads(load(position), reader(logs, batch));
}

/** The state after the given records of a root thread. */
export function given(...drafts: Draft[]): State {
  return stateOf(rootWith(...drafts));
}
export function stateOf(logs: Logs, thread: ThreadId = ROOT): State {
  const state = stateAt(logs, headOf(logs, thread));
  if (!state) throw new Error(`nothing in ${thread}`);
  return state;
}

export function known(records: Iterable<LogRecord>): KnownRecord[] {
  return [...records].map(asKnown).filter((record) => record !== null);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

/** Runs of a property; RUNS=20 npx vitest run test/core goes twenty times deeper. */
export function runs(count: number): { numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env["RUNS"] ?? 1)) };
}
