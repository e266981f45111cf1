/**
 * Usage: what the requests of all threads have used, summed by day, model and folder. A pure function of the logs:
 *
 * - A thread's own records count, live or not: what was rewound was paid for as well. A fork's past counts in its parent.
 * - Every request counts, compactions and failed ones too. One that was refused used nothing; one that was lost used what nobody told.
 * - Replayed recordings cost nothing and do not count.
 *
 * A log is only ever appended to, so the sums of a thread are kept with the place up to which they go, and only what follows is read.
 * What is kept is derived: it may be deleted. Where the log no longer has that place (power loss), the thread is read from its start.
 */
import { asKnown } from "../core/known.ts";
import { costOf, modelInfo, PRICE_STEPS, pricesAt, type ModelOverride } from "../core/models.ts";
import type { Store } from "../core/store.ts";
import type { Failure, LogRecord, ThreadId, Usage } from "../protocol/record.ts";
import type { UsageQuery, UsageRow } from "../protocol/usage.ts";

/** Sums of requests of about the same size: above `above` tokens of input they may cost more. */
interface Sums extends Omit<UsageRow, "cost"> {
  above: number;
}

/** Whom a request asks, and from where. */
interface Place {
  model: string;
  provider: string;
  cwd: string;
}

/** The sums of a thread up to and including the record `last`. */
interface Tally {
  last: { seq: number; at: string } | null;
  /** By the settings of the thread. */
  settings: Place;
  /** Of the turn that is open, as its records say; null: a request that is not meant to be counted. */
  asked: Place | null;
  /** Since when a request runs. */
  open: string | null;
  sums: Sums[];
}
export type Tallies = Readonly<Record<ThreadId, Tally>>;

/** Where tallies are kept between calls. */
export interface TallyCache {
  read(): Tallies;
  write(tallies: Tallies): void;
}

type Reader = Pick<Store, "list" | "head" | "read">;

interface Given {
  store: Reader;
  cache: TallyCache;
  /** `[models]` of the config. */
  models: Readonly<Record<string, ModelOverride>>;
  query: UsageQuery;
}

/** `incomplete`: the index has not caught up, there may be threads that are not counted. */
export async function readUsage({ store, cache, models, query }: Given): Promise<{ rows: UsageRow[]; incomplete: boolean }> {
  const before = cache.read();
  const { threads, incomplete } = await threadsOf(store);
  const tallies: Record<ThreadId, Tally> = {};
  for (const thread of threads) tallies[thread] = await tallyOf(store, { thread, before: before[thread] });
  // What an incomplete list leaves out is kept for the next call.
  const kept = incomplete ? { ...before, ...tallies } : tallies;
  const isNew = Object.keys(kept).length !== Object.keys(before).length || threads.some((thread) => tallies[thread] !== before[thread]);
  if (isNew) cache.write(kept);
  return { rows: rowsOf(Object.values(tallies).flatMap(sumsOf).filter(wanted(query)), models), incomplete };
}

async function threadsOf(store: Reader): Promise<{ threads: ThreadId[]; incomplete: boolean }> {
  const threads: ThreadId[] = [];
  let incomplete = false;
  for (const archived of [false, true]) {
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Store["list"]>> = await store.list({ limit: 1000, cursor, archived });
      threads.push(...page.items.map(({ id }) => id));
      incomplete ||= page.incomplete;
      cursor = page.next;
    } while (cursor !== null);
  }
  return { threads, incomplete };
}

/** The same object when nothing was written since. */
async function tallyOf(store: Reader, { thread, before }: { thread: ThreadId; before: Tally | undefined }): Promise<Tally> {
  const last = before?.last;
  if (before && last) {
    if ((await store.head(thread)) === last.seq + 1) return before;
    const tally = structuredClone(before);
    let isAfter = false;
    for await (const record of store.read(thread, { from: last.seq })) {
      if (isAfter) count(tally, record);
      else if (record.seq === last.seq && record.at === last.at) isAfter = true;
      else break;
    }
    if (isAfter) return tally;
  }
  const nowhere = { model: "", provider: "", cwd: "/" };
  const tally: Tally = { last: null, settings: nowhere, asked: nowhere, open: null, sums: [] };
  for await (const record of store.read(thread, {})) count(tally, record);
  return tally;
}

/** Takes one more record of the thread's own log, in order. */
function count(tally: Tally, record: LogRecord): void {
  tally.last = { seq: record.seq, at: record.at };
  const known = asKnown(record);
  switch (known?.type) {
    case "thread.created":
    case "settings.changed": {
      const { model = tally.settings.model, model_provider: provider = tally.settings.provider, cwd = tally.settings.cwd } = known.settings;
      tally.settings = { model, provider, cwd };
      return;
    }
    case "turn.started":
      tally.asked = tally.settings;
      return;
    case "sample.started": {
      const { origin, at } = known;
      const cwd = tally.asked?.cwd ?? tally.settings.cwd;
      if (origin) tally.asked = origin.wire === "replay" ? null : { model: origin.model, provider: origin.provider, cwd };
      tally.open = at;
      return;
    }
    case "sample.ended":
      add(tally, { at: known.at, usage: known.usage ?? null, isUnknown: !known.usage && !isRefused(known.failure) });
      tally.open = null;
      return;
    case "summary.prepared":
      if (known.usage || known.failure?.code !== "nothing_to_summarize") add(tally, { at: known.at, usage: known.usage ?? null, isUnknown: !known.usage && !isRefused(known.failure) });
      return;
    default:
  }
}

/** It never got there or was answered with an error: nothing was made that could cost something. */
function isRefused(failure: Failure | undefined): boolean {
  return failure !== undefined && (failure.status !== undefined || NOT_SENT.has(failure.code));
}
const NOT_SENT: ReadonlySet<string> = new Set(["network", "no_provider", "missing_key", "bad_base_url", "unauthorized"]);

function add(tally: Tally, { at, usage, isUnknown }: { at: string; usage: Usage | null; isUnknown: boolean }): void {
  if (!tally.asked) return;
  const { model, provider, cwd } = tally.asked;
  const day = at.slice(0, 10);
  const above = PRICE_STEPS.findLast((step) => (usage?.input_tokens ?? 0) > step) ?? 0;
  let sums = tally.sums.find((each) => each.day === day && each.model === model && each.provider === provider && each.cwd === cwd && each.above === above);
  if (!sums) {
    sums = { day, model, provider, cwd, above, requests: 0, unknown_requests: 0, ...NOTHING };
    tally.sums.push(sums);
  }
  sums.requests += 1;
  if (isUnknown) sums.unknown_requests += 1;
  for (const name of TOKENS) sums[name] += usage?.[name] ?? 0;
}

const NOTHING = { input_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, reasoning_tokens: 0 };
const TOKENS = Object.keys(NOTHING) as (keyof typeof NOTHING)[];

/** A request that has not ended, because it runs or because its process died, has used what nobody told yet. */
function sumsOf(tally: Tally): Sums[] {
  if (tally.open === null) return tally.sums;
  const now = structuredClone(tally);
  add(now, { at: tally.open, usage: null, isUnknown: true });
  return now.sums;
}

function wanted({ since = "", cwd }: UsageQuery): (sums: Sums) => boolean {
  const inside = cwd === undefined || cwd.endsWith("/") ? cwd : `${cwd}/`;
  return (sums) => sums.day >= since && (inside === undefined || sums.cwd === cwd || sums.cwd.startsWith(inside));
}

/** In the order of days, models and folders. */
function rowsOf(all: readonly Sums[], models: Given["models"]): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const { above, ...sums } of all) {
    const { prices } = modelInfo(sums.model, models);
    const cost = costOf({ ...sums, total_tokens: 0 }, prices && pricesAt(prices, above + 1));
    const key = JSON.stringify([sums.day, sums.model, sums.provider, sums.cwd]);
    const row = rows.get(key);
    if (!row) rows.set(key, { ...sums, cost });
    else {
      for (const name of ["requests", "unknown_requests", ...TOKENS] as const) row[name] += sums[name];
      row.cost = row.cost === null || cost === null ? null : row.cost + cost;
    }
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
