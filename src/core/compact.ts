/**
 * compact: when history is compacted, what of it stays, and the record that says so. How much room there is: room.ts; where history may be
 * parted: cut.ts.
 *
 * - The last turns stay as they are, at most `keep_turns` of them, fewer where they do not fit, and then only the end of the last.
 * - What the open turn was told and nobody answered yet always stays. If that alone is too long, the provider has the last word, and the
 *   next turn may let it go.
 * - The context comes back, of skills that were used once only the newest within a share: the others go with the history.
 * - Nothing else is too long to compact: in the worst case all of it goes, and summary and ledger stand for it.
 */
import { isMessage, textOf, type Item, type MessageItem, type Origin, userText } from "../protocol/item.ts";
import type { CompactStrategy, CompactTrigger, Draft, Ledger } from "../protocol/record.ts";
import { capText } from "./cap.ts";
import { contextItem, isContext } from "./context.ts";
import { candidates, cuts, fits, seqAt, unanswered } from "./cut.ts";
import type { Entry } from "./history.ts";
import { freeze } from "./ledger.ts";
import { comesBack, fixedTokens, largest, OVERFLOW, overhead, roomOf, scaleOf, sum, tokensOfLedger, tokensUsed } from "./room.ts";
import { carryOf, type State } from "./state.ts";
import { tokensOfText } from "./tokens.ts";

/** A summary is prepared when so much of the limit is used. */
const NEARLY = 0.8;
const LEDGER = 0.1;
const SUMMARY = 0.1;
/** The user's own words stand for the past where no model is asked: they may take more. */
const REQUESTS = 0.3;
/** A summary of fewer tokens says nothing. */
const SMALLEST = 200;
/** What stands around summary and ledger. */
const FRAMES = 50;
/** Of what says that something was left out. */
const NOTE = 20;
const KEEP_TURNS = 5;
/** After so many compactions in a row that did not help, the provider's word that it is too long is final. */
const MOST_SQUEEZES = 4;
const FRUITLESS = 2;

export const NOTHING_TO_COMPACT = "There is nothing to compact: the last turns are kept as they are (compact.keep_turns), and there are no others.";
export const TOO_LARGE = "context_too_large";
/** A compaction that was asked for came to nothing. */
export const NO_SUMMARY = "no_summary";

export type Need = { trigger: CompactTrigger } | { loop: true } | null;

/** Whether the open turn's history is compacted before the next request. */
export function compactionNeed(state: State): Need {
  const { turn, compaction, loop } = state.talk;
  if (!turn || (turn.failure && turn.failure.code !== OVERFLOW)) return null;
  if (turn.failure) return (turn.squeezes ?? 0) < MOST_SQUEEZES && !isInVain(state) ? { trigger: "overflow" } : null;
  if (compaction) return { trigger: "manual" };
  if (!turn.due || tokensUsed(state) <= roomOf(state).limit || isInVain(state)) return null;
  return loop && loop.compactions >= FRUITLESS && !loop.progress ? { loop: true } : { trigger: "auto" };
}

/** Nothing worth a summary could go: the provider decides, unless it is clear beforehand that nothing ever fits. */
function isInVain(state: State): boolean {
  const { budget } = roomOf(state);
  return fits(spoken(state), 0, SMALLEST) && budget - fixedTokens(state, budget) >= SMALLEST;
}

/** What a compaction could let go; the context comes back. */
function spoken(state: State): Entry[] {
  return state.history.entries.slice(0, unanswered(state)).filter(({ item }) => !isContext(item));
}

/** Whether a summary should be made ahead of time. */
export function wantsPreparation(state: State): boolean {
  const { turn, model, prepared, compaction } = state.talk;
  if (model?.compact?.prepare === false || strategyOf(state) !== "summary" || compaction || prepared) return false;
  // What is compacted now is summarised then.
  return tokensUsed(state) - underWay(state) > roomOf(state).limit * NEARLY && turn?.sample?.purpose !== "compact" && !compactionNeed(state);
}

/** What the open sample has made so far: it may be the last of its turn. */
function underWay({ talk: { turn }, history: { entries } }: State): number {
  if (!turn?.sample) return 0;
  const { seq } = turn.sample;
  const from = entries.findLastIndex(({ sample }) => sample !== seq) + 1;
  return sum(entries.slice(from).map(({ item }) => item));
}

const O_SERIES = /^o\d/u;

export function strategyOf(state: State): CompactStrategy {
  const { turn, model } = state.talk;
  const settings = turn?.settings ?? state.thread.settings;
  const { strategy } = (settings["compact"] ?? {}) as { strategy?: CompactStrategy };
  return strategy ?? model?.compact?.strategy ?? (O_SERIES.test(settings.model) ? "user-messages" : "summary");
}

export interface Plan {
  goes: readonly Entry[];
  stays: readonly Entry[];
  keepFrom: number;
  before: number;
  /** The context that the kept entries do not hold, to be put before the model again. */
  context: readonly MessageItem[];
  /** Keys of context that goes with the history. */
  forgets: readonly string[];
  ledger: Ledger;
  /** What the summary may take. */
  summaryTokens: number;
  /** How much too low estimates are. */
  scale: number;
  /** Set when not even an empty history fits: what stands before it, and the largest part of that. */
  tooLarge: { tokens: number; budget: number; part: string; partTokens: number } | null;
}

/** What a compaction now would keep. `at`: a place before which a summary exists already; it is used where it fits. */
export function plan(state: State, at?: number): Plan {
  return planWith(state, { at, growth: 0 });
}

/** For a compaction that is still to come: there is room for what will be said until then. */
export function planAhead(state: State): Plan {
  return planWith(state, { at: undefined, growth: Math.max(0, roomOf(state).limit - tokensUsed(state)) });
}

function planWith(state: State, { at, growth }: { at: number | undefined; growth: number }): Plan {
  const { history, talk, head } = state;
  const { entries } = history;
  const { budget, limit } = roomOf(state);
  const before = tokensUsed(state);
  const scale = scaleOf(state);
  const available = budget / scale - fixedTokens(state, budget);
  const ledger = freeze(history.ledger, talk.plan, Math.floor(Math.min((budget / scale) * LEDGER, available * 0.4)));
  const share = strategyOf(state) === "user-messages" ? REQUESTS : SUMMARY;
  const summaryTokens = Math.floor(Math.min(Math.max(SMALLEST, (budget / scale) * share), available * 0.4));
  const room = available - tokensOfLedger(ledger) - summaryTokens - FRAMES - growth / scale;
  const last = unanswered(state);
  // Who asks for a compaction without need keeps what fits, all of it if need be.
  const least = before > limit || talk.turn?.failure?.code === OVERFLOW ? 1 : 0;
  const wished = at === undefined ? [] : cuts(entries).filter((index) => seqAt(entries, index, head) === at);
  const tooLarge = available < SMALLEST ? { ...largest(state), tokens: fixedTokens(state, budget), budget } : null;
  const places = tooLarge ? [] : [...wished, ...candidates(entries, { turns: keepTurns(state), last })];
  const index = places.find((candidate) => candidate >= least && candidate <= last && fits(entries, candidate, room)) ?? last;
  const stays = entries.slice(index);
  const kept = new Set(stays.flatMap(({ item }) => (isContext(item) ? [item.context] : [])));
  const back = comesBack(state, budget);
  return {
    goes: entries.slice(0, index),
    stays,
    keepFrom: seqAt(entries, index, head),
    before,
    context: back.filter(([key]) => !kept.has(key)).map(([key, blob]) => contextItem({ key, role: key === "developer" ? "developer" : "user", blob, again: false })),
    forgets: Object.keys(talk.context?.parts ?? {}).filter((key) => !kept.has(key) && !back.some(([known]) => known === key)),
    ledger,
    summaryTokens,
    scale,
    tooLarge,
  };
}

function keepTurns(state: State): number {
  const settings = state.talk.turn?.settings ?? state.thread.settings;
  const { keep_turns: configured } = (settings["compact"] ?? {}) as { keep_turns?: number };
  return typeof configured === "number" && configured >= 0 ? configured : KEEP_TURNS;
}

const SUMMARY_STARTS = "Previous conversation summary:\n";

/** The message that stands for what went. */
export function summaryMessage(text: string, most: number): MessageItem {
  return userText(SUMMARY_STARTS + capSummary(text.trim(), most));
}

/** Bytes count, not characters: most scripts take more than one for each. */
export function capSummary(text: string, most: number): string {
  for (let characters = Math.max(0, most) * 4; ; characters = Math.floor(characters * 0.8)) {
    const capped = capText(text, characters, (left) => `${left} characters of the summary left out`);
    if (!(characters > 0) || tokensOfText(capped) <= most + NOTE) return capped;
  }
}

/** What can be said without a model: the user's own words, after what stood for earlier ones. */
export function requestsOf({ history }: State, goes: readonly Entry[]): string {
  const earlier = history.summary.filter((item) => isMessage(item) && !isContext(item)).map(textOf).map((text) => text.replace(SUMMARY_STARTS, ""));
  const said = goes.filter(({ sample, item }) => sample === null && isMessage(item) && item.role === "user" && !isContext(item)).map(({ item }) => textOf(item).trim()).filter((text) => text !== "");
  const lines = [...earlier, ...(earlier.length === 0 && said.length > 0 ? ["Previous requests:"] : []), ...said.map((text) => `- ${text}`)];
  return lines.length > 0 ? lines.join("\n") : "Nothing was asked yet.";
}

/** The record that puts a compaction into force. */
export function compacted(state: State, planned: Plan, given: { items: readonly Item[]; strategy: CompactStrategy; trigger: CompactTrigger; madeBy?: Origin }): Draft {
  const summary = [...planned.context, ...given.items];
  const { ledger } = planned;
  const made = planned.stays.find((entry) => entry.sample !== null)?.origin;
  const origin = made ? { origin: made } : {};
  const after = overhead(state) + sum(summary) + tokensOfLedger(ledger) + sum(planned.stays.map((entry) => entry.item));
  return {
    type: "history.compacted",
    summary,
    ...(given.madeBy ? { madeBy: given.madeBy } : {}),
    ...(planned.forgets.length > 0 ? { forgets: [...planned.forgets] } : {}),
    ledger,
    keepFrom: planned.keepFrom,
    ...origin,
    previous: state.talk.history,
    tokens: { before: planned.before, after: Math.ceil(after * planned.scale) },
    strategy: given.strategy,
    trigger: given.trigger,
    carry: carryOf(state),
    ...(state.talk.turn ? { turn: state.talk.turn.id } : {}),
  };
}
