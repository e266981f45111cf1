/**
 * room: how much a request may hold, and how much the next one holds.
 *
 * - A request may hold `limit` tokens before history is compacted: what the configuration says, but at most 90% of the window; 100,000 where
 *   the window is not known. A compacted request holds at most `budget`: 70% of the window, instructions and tools included.
 * - What the server counted for the last request is believed; what came since is estimated (tokens.ts), and so is everything where no
 *   server counts. If estimates were too low so far, they are scaled up.
 * - The context comes back after a compaction, of skills that were used once only the newest within a share.
 */
import type { Item } from "../protocol/item.ts";
import type { BlobRef, CompactPolicy, Ledger, Settings } from "../protocol/record.ts";
import { PASSING } from "./context.ts";
import { render } from "./ledger.ts";
import type { State } from "./state.ts";
import { tokensOf, tokensOfBytes, tokensOfText } from "./tokens.ts";

const FULL = 0.9;
const AFTER = 0.7;
/** Of skills that were used. */
const PASSED = 0.2;
const UNKNOWN_LIMIT = 100_000;
/** Estimates are that much too low at most; a server that counts more counts something else. */
const MOST_SCALE = 3;

/** What is known of a model: its window, and how its history is compacted. */
export interface ModelLimits {
  window?: number;
  compact?: CompactPolicy;
}

/** As if the next turn used these. */
export function withLimits(state: State, limits: ModelLimits, settings: Partial<Settings> = {}): State {
  return { ...state, thread: { ...state.thread, settings: { ...state.thread.settings, ...settings } as Settings }, talk: { ...state.talk, model: limits } };
}

export interface Room {
  window: number | null;
  limit: number;
  budget: number;
}

export function roomOf(state: State): Room {
  const { turn, model } = state.talk;
  const settings = turn?.settings ?? state.thread.settings;
  const window = numberIn(settings, "model_context_window") ?? model?.window ?? null;
  const most = window === null ? Number.POSITIVE_INFINITY : Math.floor(window * FULL);
  const limit = Math.min(most, numberIn(settings, "model_auto_compact_token_limit") ?? model?.compact?.at ?? (window === null ? UNKNOWN_LIMIT : most));
  const size = Math.min(window ?? Number.POSITIVE_INFINITY, Math.floor(limit / FULL));
  const squeezed = 0.5 ** (turn?.squeezes ?? 0);
  const tooLong = turn?.failure?.code === OVERFLOW ? Math.floor(tokensUsed(state) / 2) : Number.POSITIVE_INFINITY;
  return { window, limit, budget: Math.min(Math.floor(size * AFTER * squeezed), tooLong) };
}

/** The code of a failure that says so. */
export const OVERFLOW = "context_length_exceeded";

function numberIn(settings: Settings, key: string): number | null {
  const value = settings[key];
  return typeof value === "number" && value > 0 ? value : null;
}

/** What the next request holds. */
export function tokensUsed(state: State): number {
  const { talk, history } = state;
  if (talk.tokens === 0 || talk.tokensAt === undefined) return Math.max(talk.tokens, overhead(state) + estimate(state));
  let since = 0;
  for (let index = history.entries.length - 1; index >= 0 && history.entries[index]!.seq > talk.tokensAt; index--) since += tokensOf(history.entries[index]!.item);
  return talk.tokens + since;
}

function estimate({ history }: State): number {
  return sum(history.summary) + (history.shown ? tokensOfLedger(history.shown) : 0) + sum(history.entries.map((entry) => entry.item));
}

const ledgers = new WeakMap<Ledger, number>();

export function tokensOfLedger(ledger: Ledger): number {
  const tokens = ledgers.get(ledger) ?? tokensOfText(render(ledger));
  ledgers.set(ledger, tokens);
  return tokens;
}

/** Instructions and tools: what stands before every history. */
export function overhead({ talk }: State): number {
  return talk.context ? tokensOfBytes(talk.context.instructions.bytes) + tokensOfBytes(talk.context.tools.bytes) : 0;
}

/** How much too low estimates are. */
export function scaleOf(state: State): number {
  return Math.min(MOST_SCALE, Math.max(1, tokensUsed(state) / Math.max(1, overhead(state) + estimate(state))));
}

/** With the context, which a compaction puts before the model again. */
export function fixedTokens(state: State, budget: number): number {
  return overhead(state) + comesBack(state, budget).reduce((total, [, part]) => total + tokensOfBytes(part.bytes), 0);
}

/** What of the context a compaction puts before the model again. */
export function comesBack(state: State, budget: number): [key: string, part: BlobRef][] {
  let left = budget * PASSED;
  const back = Object.entries(state.talk.context?.parts ?? {}).toReversed().filter(([key, part]) => {
    if (!key.startsWith(PASSING)) return true;
    left -= tokensOfBytes(part.bytes);
    return left >= 0;
  });
  return back.toReversed();
}

export function sum(items: readonly Item[]): number {
  return items.reduce((total, item) => total + tokensOf(item), 0);
}

/** The largest part of what stands before every history. */
export function largest({ talk }: State): { part: string; partTokens: number } {
  const parts: Record<string, BlobRef | undefined> = { instructions: talk.context?.instructions, "tool descriptions": talk.context?.tools, ...talk.context?.parts };
  const [part, blob] = Object.entries(parts).toSorted(([, a], [, b]) => (b?.bytes ?? 0) - (a?.bytes ?? 0))[0]!;
  return { part, partTokens: tokensOfBytes(blob?.bytes ?? 0) };
}
