/**
 * decide: may this happen, and as which records? Time, ids and what must be read from the log arrive as arguments.
 * An op whose id is already in the log is accepted and gives no records: a retry acts once.
 */
import type { Op, Refusal } from "../protocol/op.ts";
import type { Draft, KnownRecord, TurnId } from "../protocol/record.ts";
import { answerOf, grantOffered } from "./approval.ts";
import { NOTHING_TO_COMPACT, plan } from "./compact.ts";
import { roomOf, tokensUsed, withLimits, type ModelLimits } from "./room.ts";
import { carryOf, settledTalk, type State } from "./state.ts";

export type Decision = { ok: true; records: Draft[] } | { ok: false; refusal: Refusal };

export interface Given {
  /** For a rewind: the state at the place that it aims at. */
  target?: State;
  /** For an undone compaction: its record, and what is known of the model that would see the whole. */
  compaction?: Extract<KnownRecord, { type: "history.compacted" }>;
  model?: ModelLimits;
}

export function decide(state: State, op: Op, given: Given = {}): Decision {
  if (state.thread.ops.includes(op.id)) return accept();
  if (state.barrier) return refuse("read_only", barrierMessage(state.barrier));
  const { talk } = state;
  const turn = talk.turn;
  switch (op.type) {
    case "user_input": {
      if (op.items.length === 0) return refuse("bad_request", "The input is empty; nothing was sent.");
      const queued: Draft = { type: "input.queued", op: op.id, items: op.items, deliver: op.deliver ?? (turn ? "steer" : "next") };
      if (op.output_schema !== undefined) queued["schema"] = op.output_schema;
      const replaced = (op.replaces ?? []).filter((input) => isWaiting(state, input)).map((input): Draft => ({ type: "input.withdrawn", op: op.id, input }));
      return turn?.parked ? accept(...replaced, queued, { type: "turn.continued", op: op.id, turn: turn.id }) : accept(...replaced, queued);
    }
    case "change_input":
      if (!isWaiting(state, op.input)) return refuse("not_found", "That input is no longer waiting: it was taken or withdrawn.");
      if (op.items.length === 0) return refuse("bad_request", "The changed input is empty; the queued one was kept.");
      return accept({ type: "input.changed", op: op.id, input: op.input, items: op.items });
    case "withdraw_input":
      if (!isWaiting(state, op.input)) return refuse("not_found", "That input is no longer waiting: it was taken or withdrawn.");
      return accept({ type: "input.withdrawn", op: op.id, input: op.input });
    case "interrupt":
      if (op.turn !== undefined && op.turn !== turn?.id) return accept();
      if (turn ? turn.interrupted : !talk.requested && !isBeginning(state)) return accept();
      return accept(inTurn({ type: "turn.interrupted", op: op.id }, turn?.id));
    case "continue":
      if (!turn && talk.held) return accept({ type: "turn.continued", op: op.id });
      if (!turn) return refuse("bad_request", "No turn is open: there is nothing to continue.");
      return turn.parked ? accept({ type: "turn.continued", op: op.id, turn: turn.id }) : accept();
    case "answer": {
      const ask = talk.asks.find((open) => open.ask === op.ask);
      if (!ask) return refuse("not_found", "That question is no longer open.");
      if (ask.answer !== undefined) return refuse("bad_request", "That question was already answered.");
      const answered = inTurn({ type: "ask.answered", op: op.id, ask: op.ask, answer: op.answer }, turn?.id);
      const pattern = answerOf(op.answer).decision === "session" ? grantOffered(ask.body) : null;
      return pattern ? accept({ type: "grant.added", op: op.id, grant: op.ask, pattern }, answered) : accept(answered);
    }
    case "revoke_grant":
      if (!state.thread.grants.some((held) => held.grant === op.grant)) return refuse("not_found", "That permission is not in force; nothing was changed.");
      return accept({ type: "grant.revoked", op: op.id, grant: op.grant });
    case "rewind":
      return rewind(state, op, given);
    case "override_settings":
      return accept({ type: "settings.changed", op: op.id, settings: op.settings });
    case "describe": {
      const described: Draft = { type: "thread.described", op: op.id };
      if (op.title !== undefined) described["title"] = op.title;
      if (op.tags !== undefined) described["tags"] = op.tags;
      return accept(described);
    }
    case "run_user_shell_command":
      if (op.command.trim() === "") return refuse("bad_request", "The command is empty; nothing was run.");
      if ([...(talk.requested ?? []), ...(turn?.calls ?? [])].some((open) => open.call === op.call)) return refuse("bad_request", `A call ${op.call} is open already; nothing was run.`);
      return accept(inTurn({ type: "call.requested", op: op.id, call: op.call, by: "user", command: op.command }, turn?.id));
    case "compact":
      if (turn) return refuse("busy", "A turn is open: interrupt it, or wait for its end, before compacting. Nothing was changed.");
      if (plan(state).goes.length === 0) return refuse("bad_request", NOTHING_TO_COMPACT);
      return accept({ type: "compaction.requested", op: op.id, ...(op.instructions === undefined ? {} : { instructions: op.instructions }), ...(op.review ? { review: true } : {}) });
    case "restore_history":
      return restore(state, op, given);
    case "list_skills":
      return accept();
    case "undo":
      return refuse("unsupported", `This version of Skein cannot do "${op.type}" yet; nothing was changed.`);
  }
}

/** The compaction in force is taken back, if what it stood for fits. */
function restore(state: State, op: Op, { compaction, model }: Given): Decision {
  const { turn, history } = state.talk;
  if (turn) return refuse("busy", "A turn is open: interrupt it, or wait for its end, before restoring history. Nothing was changed.");
  if (history.compaction === null) return refuse("bad_request", "The history is not compacted: there is nothing to restore.");
  if (!compaction) return refuse("failed", "The record of the compaction cannot be read any more; the history was left as it is.");
  const tokens = tokensUsed(state) - compaction.tokens.after + compaction.tokens.before;
  const { limit, window } = roomOf(model ? withLimits(state, model) : state);
  if (tokens > limit) return refuse("bad_request", `The history does not fit: about ${tokens} tokens, and past ${limit} it would be compacted again${window === null ? "" : ` (the window is ${window})`}. Nothing was changed; choose a model with a larger window (-m), raise model_auto_compact_token_limit, or fork from before the compaction.`);
  return accept({ type: "history.restored", op: op.id, compaction: history.compaction, base: compaction.previous });
}

function rewind(state: State, op: Extract<Op, { type: "rewind" }>, given: Given): Decision {
  if (state.talk.turn) return refuse("busy", "A turn is open: interrupt it before rewinding. Nothing was changed.");
  const { target } = given;
  if (!target) return refuse("bad_request", `There is no record before ${op.before} to go back to; nothing was changed.`);
  const carry = { thread: carryOf(state).thread, talk: settledTalk(carryOf(target).talk) };
  return accept({ type: "thread.rewound", op: op.id, before: op.before, carry });
}

/** Input waits for its turn to be opened, which takes a moment. */
function isBeginning({ talk }: State): boolean {
  return talk.queue.length > 0 && !talk.held && !talk.cancels;
}
function isWaiting(state: State, input: string): boolean {
  return state.talk.queue.some((queued) => queued.op === input);
}
function inTurn(draft: Draft, turn: TurnId | undefined): Draft {
  return turn ? { ...draft, turn } : draft;
}
function accept(...records: Draft[]): Decision {
  return { ok: true, records };
}
function refuse(code: Refusal["code"], message: string): Decision {
  return { ok: false, refusal: { code, message } };
}
export function barrierMessage(barrier: NonNullable<State["barrier"]>): string {
  return (
    `Record ${barrier.seq} ("${barrier.type}", log version ${barrier.v}) was written by a newer Skein and must be understood before anything is added. ` +
    "The thread is read-only here: everything is kept; use the newer version to go on, or fork from before that record."
  );
}
