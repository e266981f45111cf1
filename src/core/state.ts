/**
 * State: what a thread's log means, up to `head`. The small part (`thread`, `talk`) is exactly what a carry holds; the rest is the
 * model-visible history since `talk.history.from`. One owner may mutate it, through `reduce`; nobody else holds it.
 */
import type { Carry, LogRecord, Settings, TalkPart, ThreadPart, Usage } from "../protocol/record.ts";
import { asKnown } from "./known.ts";
import { emptyHistory, type History } from "./history.ts";

export interface State extends Carry {
  /** The seq of the next record. */
  head: number;
  history: History;
  /** History no longer follows from what is in memory (a rewind, an undone compaction): load it again from the log. */
  stale: boolean;
  /** A record that this build does not understand and must: nothing may be written. */
  barrier: { seq: number; type: string; v: number } | null;
}

export const NO_USAGE: Usage = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, total_tokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  const written = (a.cache_write_tokens ?? 0) + (b.cache_write_tokens ?? 0);
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_tokens: (a.cached_tokens ?? 0) + (b.cached_tokens ?? 0),
    ...(written > 0 ? { cache_write_tokens: written } : {}),
    output_tokens: a.output_tokens + b.output_tokens,
    reasoning_tokens: (a.reasoning_tokens ?? 0) + (b.reasoning_tokens ?? 0),
    total_tokens: a.total_tokens + b.total_tokens,
  };
}

const NO_SETTINGS: Settings = { model: "", model_provider: "", cwd: "/", approval_policy: "untrusted", sandbox_mode: "read-only" };

/** The state that a thread's first record gives. `base` is the state at the place where a fork left its parent, if it is known. */
export function born(record: LogRecord, base: State | null): State {
  const known = asKnown(record);
  const created = known?.type === "thread.created" ? known : null;
  const thread: ThreadPart = {
    id: created?.id ?? "",
    base: created?.base ?? null,
    source: created?.source ?? "interactive",
    createdAt: record.at,
    title: null,
    tags: [],
    settings: created?.settings ?? NO_SETTINGS,
    epoch: 0,
    grants: [],
    ops: [],
    usage: NO_USAGE,
    diffs: 0,
  };
  const talk: TalkPart = base
    ? { ...settledTalk(base.talk), updatedAt: record.at }
    : {
        history: { compaction: null, from: record.seq },
        preview: null,
        updatedAt: record.at,
        turns: 0,
        userMessages: 0,
        turn: null,
        lastTurn: null,
        queue: [],
        asks: [],
        plan: [],
        context: null,
        origin: null,
        tokens: 0,
      };
  return { thread, talk, head: record.seq + 1, history: base?.history ?? emptyHistory(), stale: false, barrier: base?.barrier ?? null };
}

/** The talk as a fork or a rewind takes it over: whatever was open there is closed, nothing is waiting. */
export function settledTalk(talk: TalkPart): TalkPart {
  const lastTurn = talk.turn ? { id: talk.turn.id, status: "cancelled" as const } : talk.lastTurn;
  const { held: _held, requested: _requested, compaction: _compaction, ...rest } = talk;
  return { ...rest, turn: null, queue: [], asks: [], lastTurn };
}

/** The state that a carry gives, before history is loaded. `head` is the seq after the record that holds it. */
export function fromCarry(carry: Carry, head: number): State {
  const { thread, talk } = structuredClone(carry);
  return { thread, talk, head, history: emptyHistory(), stale: false, barrier: null };
}

export function carryOf(state: State): Carry {
  return structuredClone({ thread: state.thread, talk: state.talk });
}
