/** What metadata.json and state.json say: pure functions of state, so that a deleted file comes back equal. */
import type { ThreadStatus, ThreadSummary } from "../protocol/library.ts";
import type { State } from "./state.ts";
import { turnState } from "./turn-state.ts";

export function summaryOf(state: State): ThreadSummary {
  const { thread, talk } = state;
  const { settings } = thread;
  return {
    id: thread.id,
    title: thread.title,
    preview: talk.preview,
    created_at: thread.createdAt,
    updated_at: talk.updatedAt,
    model: settings.model,
    model_provider: settings.model_provider,
    cwd: settings.cwd,
    session_source: thread.source,
    status: statusOf(state),
    resumed: thread.epoch > 1,
    forked: thread.base !== null,
    approval_policy: settings.approval_policy,
    sandbox_mode: settings.sandbox_mode,
    total_tokens: thread.usage.total_tokens,
    turns: talk.turns,
    parent: thread.base,
  };
}

export function statusOf(state: State): ThreadStatus {
  const { turn, lastTurn, turns } = state.talk;
  if (turn) return turn.parked ? "paused" : "active";
  if (turns === 0 || !lastTurn) return "new";
  return lastTurn.status === "completed" ? "complete" : "paused";
}

/** For people and tools: what a reader would otherwise have to replay the log for. */
export function stateFile(state: State): object {
  const { talk, thread } = state;
  return {
    thread_id: thread.id,
    status: statusOf(state),
    last_turn_id: talk.turn?.id ?? talk.lastTurn?.id ?? null,
    open_turn: talk.turn && { id: talk.turn.id, state: turnState(state), parked: talk.turn.parked, calls: talk.turn.calls.map((call) => call.call) },
    queued_inputs: talk.queue.map((queued) => queued.op),
    pending_approvals: talk.asks.filter((ask) => ask.answer === undefined).map(({ ask, call, kind, body }) => ({ ask, call, kind, body })),
    mcp_servers: [],
    compacted: talk.history.compaction !== null,
    history: talk.history,
    plan: talk.plan,
    usage: thread.usage,
  };
}
