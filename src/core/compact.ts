/**
 * compact: when history is compacted, what of it stays, and the record that says so.
 *
 * - A request may hold `limit` tokens before history is compacted: what the configuration says, but at most 90% of the window; 100,000 where
 *   the window is not known. A compacted request holds at most `budget`: 70% of the window, instructions and tools included.
 * - What the server counted for the last request is believed; what came since is estimated (tokens.ts), and so is everything where no
 *   server counts. If estimates were too low so far, they are scaled up.
 * - The last turns stay as they are, at most `keep_turns` of them, fewer where they do not fit, and then only the end of the last. A cut
 *   parts no call from its output and no sample in two.
 * - What the open turn was told and nobody answered yet always stays. If that alone is too long, the provider has the last word, and the
 *   next turn may let it go.
 * - The context comes back, of skills that were used once only the newest within a share: the others go with the history.
 * - Nothing else is too long to compact: in the worst case all of it goes, and summary and ledger stand for it.
 */
import { isCall, isMessage, isOutput, textOf, type Item, type MessageItem, type Origin, userText } from "../protocol/item.ts";
import type { BlobRef, CompactPolicy, CompactStrategy, CompactTrigger, Draft, Ledger, Settings } from "../protocol/record.ts";
import { capText } from "./cap.ts";
import { contextItem, PASSING } from "./context.ts";
import type { Entry } from "./history.ts";
import { freeze, render } from "./ledger.ts";
import { carryOf, type State } from "./state.ts";
import { tokensOf, tokensOfBytes, tokensOfText } from "./tokens.ts";

const FULL = 0.9;
const AFTER = 0.7;
/** A summary is prepared when so much of the limit is used. */
const NEARLY = 0.8;
const LEDGER = 0.1;
const SUMMARY = 0.1;
/** The user's own words stand for the past where no model is asked: they may take more. */
const REQUESTS = 0.3;
/** Of skills that were used. */
const PASSED = 0.2;
/** A summary of fewer tokens says nothing. */
const SMALLEST = 200;
/** What stands around summary and ledger. */
const FRAMES = 50;
/** Of what says that something was left out. */
const NOTE = 20;
const UNKNOWN_LIMIT = 100_000;
const KEEP_TURNS = 5;
/** Estimates are that much too low at most; a server that counts more counts something else. */
const MOST_SCALE = 3;
/** After so many compactions in a row that did not help, the provider's word that it is too long is final. */
const MOST_SQUEEZES = 4;
const FRUITLESS = 2;

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

export const OVERFLOW = "context_length_exceeded";
export const TOO_LARGE = "context_too_large";
/** A compaction that was asked for came to nothing. */
export const NO_SUMMARY = "no_summary";

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

function tokensOfLedger(ledger: Ledger): number {
  const tokens = ledgers.get(ledger) ?? tokensOfText(render(ledger));
  ledgers.set(ledger, tokens);
  return tokens;
}

/** Instructions and tools: what stands before every history. */
function overhead({ talk }: State): number {
  return talk.context ? tokensOfBytes(talk.context.instructions.bytes) + tokensOfBytes(talk.context.tools.bytes) : 0;
}

/** With the context, which a compaction puts before the model again. */
function fixedTokens(state: State, budget: number): number {
  return overhead(state) + comesBack(state, budget).reduce((total, [, part]) => total + tokensOfBytes(part.bytes), 0);
}

function comesBack(state: State, budget: number): [key: string, part: BlobRef][] {
  let left = budget * PASSED;
  const back = Object.entries(state.talk.context?.parts ?? {}).toReversed().filter(([key, part]) => {
    if (!key.startsWith(PASSING)) return true;
    left -= tokensOfBytes(part.bytes);
    return left >= 0;
  });
  return back.toReversed();
}

function sum(items: readonly Item[]): number {
  return items.reduce((total, item) => total + tokensOf(item), 0);
}

export type Need = { trigger: CompactTrigger } | { loop: true } | null;

/** Whether the open turn's history is compacted before the next request. */
export function compactionNeed(state: State): Need {
  const { turn, compaction, loop } = state.talk;
  if (!turn || (turn.failure && turn.failure.code !== OVERFLOW)) return null;
  // Nothing could go: the provider decides, unless it is clear beforehand that nothing ever fits.
  const { budget } = roomOf(state);
  if (unanswered(state) === 0 && !compaction && budget - fixedTokens(state, budget) >= SMALLEST) return null;
  if (turn.failure?.code === OVERFLOW) return (turn.squeezes ?? 0) < MOST_SQUEEZES ? { trigger: "overflow" } : null;
  if (compaction) return { trigger: "manual" };
  if (!turn.due || tokensUsed(state) <= roomOf(state).limit) return null;
  return loop && loop.compactions >= FRUITLESS && !loop.progress ? { loop: true } : { trigger: "auto" };
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
  const made = turn?.sample ? entries.filter(({ sample }) => sample === turn.sample!.seq) : [];
  return sum(made.map(({ item }) => item));
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
  const scale = Math.min(MOST_SCALE, Math.max(1, before / Math.max(1, overhead(state) + estimate(state))));
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
  const kept = new Set(stays.map(({ item }) => (item as { context?: unknown } | null)?.context));
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

function fits(entries: readonly Entry[], from: number, room: number): boolean {
  let left = room;
  for (let index = entries.length - 1; index >= from; index--) {
    left -= tokensOf(entries[index]!.item);
    if (left < 0) return false;
  }
  return true;
}

/** Where history may be cut, longest rest first: at the starts of the last turns, then at every place within the last that was answered. */
function candidates(entries: readonly Entry[], { turns, last }: { turns: number; last: number }): number[] {
  const places = cuts(entries);
  const starts = places.filter((index) => entries[index]!.turn !== entries[index - 1]?.turn);
  const kept = turns === 0 ? [] : starts.slice(-turns);
  const answered = kept.findLast((index) => index < last) ?? entries.length;
  return places.filter((index) => kept.includes(index) || index > answered);
}

/** Indexes at which no call is open, no sample is under way, and everything before is older than everything after. */
function cuts(entries: readonly Entry[]): number[] {
  const oldestFrom: number[] = [];
  let oldest = Number.POSITIVE_INFINITY;
  for (let index = entries.length - 1; index >= 0; index--) oldestFrom[index] = oldest = Math.min(oldest, startOf(entries[index]!));
  const found: number[] = [];
  const open = new Set<string>();
  let newest = -1;
  entries.forEach(({ item, seq, sample }, index) => {
    const within = sample !== null && sample === entries[index - 1]?.sample;
    if (open.size === 0 && !within && newest < oldestFrom[index]!) found.push(index);
    if (isCall(item)) open.add(item.call_id);
    else if (isOutput(item)) open.delete(item.call_id);
    newest = Math.max(newest, seq);
  });
  return found;
}

/** Where that begins which the open turn was told and nobody has answered yet. */
function unanswered({ history: { entries }, talk: { turn } }: State): number {
  let index = entries.length;
  const isNew = ({ turn: of, sample, item }: Entry): boolean => turn !== null && of === turn.id && sample === null && isMessage(item);
  while (index > 0 && isNew(entries[index - 1]!)) index -= 1;
  return index;
}

function seqAt(entries: readonly Entry[], index: number, head: number): number {
  let oldest = head;
  for (let at = index; at < entries.length; at++) oldest = Math.min(oldest, startOf(entries[at]!));
  return oldest;
}

/** What a model made begins with its sample, which says where it was made. */
function startOf({ seq, sample }: Entry): number {
  return sample !== null && sample >= 0 ? Math.min(seq, sample) : seq;
}

function largest({ talk }: State): { part: string; partTokens: number } {
  const parts: Record<string, BlobRef | undefined> = { instructions: talk.context?.instructions, "tool descriptions": talk.context?.tools, ...talk.context?.parts };
  const [part, blob] = Object.entries(parts).toSorted(([, a], [, b]) => (b?.bytes ?? 0) - (a?.bytes ?? 0))[0]!;
  return { part, partTokens: tokensOfBytes(blob?.bytes ?? 0) };
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

function isContext(item: Item): boolean {
  return isMessage(item) && typeof item["context"] === "string";
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
