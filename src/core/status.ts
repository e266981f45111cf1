/** What a loaded thread is doing now, and what a compaction of it would do: pure views of state, for people and front ends. */
import type { CompactionPreview, LiveStatus } from "../protocol/library.ts";
import { asPattern } from "./approval.ts";
import { plan, strategyOf } from "./compact.ts";
import { roomOf, tokensUsed } from "./room.ts";
import { statusOf } from "./derived.ts";
import type { Entry } from "./history.ts";
import { render } from "./ledger.ts";
import type { State } from "./state.ts";
import { tokensOf, tokensOfText } from "./tokens.ts";
import { turnState } from "./turn-state.ts";

export function liveStatus(state: State): LiveStatus {
  const { talk, thread } = state;
  const { turn } = talk;
  const { window, limit } = roomOf(state);
  const tokens = tokensUsed(state);
  return {
    status: statusOf(state),
    turn: turn && { id: turn.id, state: turnState(state)!, started_at: turn.startedAt, usage: turn.usage },
    compacting: talk.compaction !== undefined,
    asks: talk.asks.filter((ask) => ask.answer === undefined).map(({ ask, call, kind, body }) => ({ ask, call, kind, body })),
    grants: thread.grants.flatMap(({ grant, pattern }) => {
      const held = asPattern(pattern);
      return held ? [{ grant, text: held.text, sandbox: held.sandbox }] : [];
    }),
    queued: talk.queue.map((input) => input.op),
    plan: talk.plan,
    usage: thread.usage,
    context: { tokens, window, limit, percent: window === null ? null : Math.round((tokens / window) * 100), compacted: talk.history.compaction !== null },
    settings: turn?.settings ?? thread.settings,
  };
}

export function compactionPreview(state: State): CompactionPreview {
  const { goes, stays, before, ledger, summaryTokens, scale } = plan(state);
  const { window, limit } = roomOf(state);
  const kept = part(stays);
  const text = render(ledger);
  return {
    goes: part(goes),
    stays: kept,
    tokens: { before, after: goes.length === 0 ? before : Math.ceil((before / scale - part(goes).tokens + tokensOfText(text) + summaryTokens) * scale) },
    strategy: strategyOf(state),
    window,
    limit,
    ledger: text,
  };
}

function part(entries: readonly Entry[]): { turns: number; items: number; tokens: number } {
  return {
    turns: new Set(entries.map((entry) => entry.turn).filter((turn) => turn !== null)).size,
    items: entries.length,
    tokens: entries.reduce((sum, { item }) => sum + tokensOf(item), 0),
  };
}
