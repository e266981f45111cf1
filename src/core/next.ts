/**
 * next: every effect that should be running now, each with a key. The runtime starts what is listed and not running, aborts what
 * runs and is no longer listed, and commits each outcome as records; then it asks again. Nothing is remembered elsewhere, so a
 * restart, an interrupt and a steering message need no path of their own.
 *
 * The steps of a turn, in order:
 *   1 turn started            2 skills and context   3 record the input                           → begin
 *   4 auto-compaction check, before each request                                                  → compact, ask
 *   5 build the prompt        6 stream the model's output                                         → sample
 *   7 tool calls                                                                                  → call
 *   8 complete, or follow up with pending input                                                   → take, sample, end
 */
import type { CallId, CompactTrigger, OpId, TurnOutcome } from "../protocol/record.ts";
import type { Failure, OpenAsk, OpenCall, OpenTurn } from "../protocol/record.ts";
import { compactionNeed, wantsPreparation } from "./compact.ts";
import { OVERFLOW } from "./room.ts";
import type { Effect } from "./tool.ts";
import type { State } from "./state.ts";

export type Step =
  /** Gather context, open the turn and take the waiting input; one that was cancelled before is opened without context, and ended. */
  | { key: string; do: "begin"; inputs: number[]; cancelled: boolean }
  | { key: string; do: "take"; op: OpId; from: number }
  | { key: string; do: "sample"; attempt: number; notBefore: string | null }
  | { key: string; do: "call"; call: CallId }
  | { key: string; do: "compact"; trigger: CompactTrigger }
  /** Make a summary ahead of time, beside whatever else runs. */
  | { key: string; do: "prepare" }
  /** Ask whether to go on although compacting does not help. */
  | { key: string; do: "ask" }
  | { key: string; do: "end"; status: TurnOutcome; failure: Failure | null; unstarted: OpenCall[] };

export interface Limits {
  /** How often a failed model request is tried again. */
  retries: number;
  effectOf(tool: string): Effect;
  /** Something was asked of the thread since it was opened: opening alone runs nothing. */
  awake: boolean;
  /** There may be another turn in this process. */
  lasts: boolean;
}

export function next(state: State, limits: Limits): Step[] {
  if (state.barrier || state.stale) return [];
  return [...ownCommands(state), ...turnSteps(state, limits), ...preparation(state, limits)];
}

/** The user's own commands run beside whatever else happens. */
function ownCommands(state: State): Step[] {
  return (state.talk.requested ?? []).filter((own) => !own.interrupted).map(({ call }) => ({ key: `call:${call}`, do: "call", call }));
}

function preparation(state: State, limits: Limits): Step[] {
  const { turn, history } = state.talk;
  const goesOn = turn !== null && (turn.due || turn.sample !== null || turn.calls.length > 0);
  if (!limits.awake || !(goesOn || limits.lasts) || turn?.parked || turn?.interrupted || !wantsPreparation(state)) return [];
  return [{ key: `prepare:${history.compaction}`, do: "prepare" }];
}

function turnSteps(state: State, limits: Limits): Step[] {
  const { turn, queue, asks } = state.talk;
  if (!turn && state.talk.compaction) return [{ key: `begin:${state.talk.turns}`, do: "begin", inputs: [], cancelled: false }];
  if (!turn) return beginning(state);
  if (turn.parked && !turn.interrupted) return [];
  if (turn.interrupted) return isIdle(turn) ? [end(turn, "cancelled", null)] : [];
  if (turn.sample?.purpose === "compact") return [{ key: `compact:${turn.samples - 1}`, do: "compact", trigger: triggerOf(state) }];
  if (turn.sample) return [{ key: `sample:${turn.samples - 1}`, do: "sample", attempt: turn.sample.attempt, notBefore: null }];
  if (turn.calls.length > 0) {
    const calls = runnable(turn.calls, limits).filter((open) => open.started || !isWaiting(open, asks));
    return calls.map(({ call }) => ({ key: `call:${call}`, do: "call", call }));
  }
  if (asks.some((ask) => ask.call === null && ask.answer === undefined)) return [];
  const need = compactionNeed(state);
  if (need && "trigger" in need && need.trigger !== "auto") return [{ key: `compact:${turn.samples}`, do: "compact", trigger: need.trigger }];
  if (turn.failure && !(turn.failure.retryable && turn.failures <= (turn.retries ?? limits.retries))) return [end(turn, "failed", finalFailure(turn.failure))];
  const steered = queue.find((queued) => queued.deliver === "steer");
  if (steered) return [{ key: `take:${steered.op}`, do: "take", op: steered.op, from: steered.seq }];
  if (!turn.due) return [end(turn, "completed", null)];
  if (need && "loop" in need) return [{ key: `ask:${turn.samples}`, do: "ask" }];
  if (need) return [{ key: `compact:${turn.samples}`, do: "compact", trigger: need.trigger }];
  return [{ key: `sample:${turn.samples}`, do: "sample", attempt: turn.failures + 1, notBefore: turn.retryAt }];
}

function beginning(state: State): Step[] {
  const { queue, held, cancels = false, turns } = state.talk;
  if (queue.length === 0 || held) return [];
  return [{ key: `begin:${turns}${cancels ? ":cancelled" : ""}`, do: "begin", inputs: waitingInputs(state), cancelled: cancels }];
}

/** All that waits when no turn is open: what was typed as one is one turn, later inputs wait for the next. */
function waitingInputs(state: State): number[] {
  const [first] = state.talk.queue;
  return first ? [first.seq] : [];
}

function triggerOf(state: State): CompactTrigger {
  const need = compactionNeed(state);
  return need && "trigger" in need ? need.trigger : "auto";
}

function isIdle(turn: OpenTurn): boolean {
  return turn.sample === null && turn.calls.every((call) => !call.started);
}

/** Reads run together; anything that writes runs alone, in the order in which the model asked. */
function runnable(calls: readonly OpenCall[], limits: Limits): OpenCall[] {
  const writes = calls.findIndex((call) => limits.effectOf(call.tool) !== "read");
  if (writes < 0) return [...calls];
  return writes === 0 ? calls.slice(0, 1) : calls.slice(0, writes);
}

/** Somebody has to say something first. */
function isWaiting({ call }: OpenCall, asks: readonly OpenAsk[]): boolean {
  return asks.some((ask) => ask.call === call && ask.answer === undefined);
}

/** Nothing more could be compacted: it is the turn itself. */
function finalFailure(failure: Failure): Failure {
  if (failure.code !== OVERFLOW) return failure;
  return { ...failure, message: `${failure.message} What was said in this turn alone is too long: put it into a file and name the file, or choose a model with a larger window. The next turn can go on without it.` };
}

function end(turn: OpenTurn, status: TurnOutcome, failure: Failure | null): Step {
  return { key: `end:${turn.id}`, do: "end", status, failure, unstarted: turn.calls };
}
