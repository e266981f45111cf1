/**
 * Listing: right and newest first, whatever state the index is in.
 *
 * Order is by id, newest first; a cursor is the last id shown, so what arrives meanwhile moves nothing. The index only proposes:
 * a thread is shown if its folder is there now, with the summary of its row if the folder still has the row's print, else
 * with one read from the folder. What the index may not propose is added from elsewhere:
 *
 * - Threads that it does not know. While the folders have the print that it was completed at, there are none. Otherwise the names
 *   in the folder are read: an unfiltered page is filled by name, a filtered one judges the names without a row.
 * - Threads whose row would pass a filter if it were fresh. They are marked (marks.ts); the marked are judged by what they say now.
 *
 * What costs too much for one page is left out, and then the page says `incomplete`: more than OVERLAY threads of either sort;
 * without an index, a filtered look at more than OVERLAY folders (the cursor goes on from there); for a text, logs whose
 * full text is not indexed yet.
 */
import type { ListQuery, Page, ThreadSummary } from "../../../protocol/library.ts";
import type { ThreadId } from "../../../protocol/record.ts";
import type { Home } from "../layout.ts";
import { summarize } from "../summary.ts";
import { counters } from "./counters.ts";
import { look, membershipPrint, namesIn } from "./look.ts";
import { mark, marked, readStamp } from "./marks.ts";
import { newestFirst } from "./merge.ts";
import { bucketOf, bucketRange, BUCKET_SIZE } from "./rowids.ts";
import { TOP_ID, type Rows, type SessionRow, type Walk } from "./rows.ts";
import { higher, type Need } from "./need.ts";
import { matches, parseQuery, type Phrase } from "./words.ts";

const DEFAULT_LIMIT = 50;
const HIGHEST_LIMIT = 1000;
const OVERLAY = 500;

export interface Listed<T> {
  page: Page<T>;
  need: Need;
}

interface Candidate {
  id: ThreadId;
  row: SessionRow | null;
  /** Where the index found the text: in the log, which only grows, or in title or preview, which change. */
  match: "log" | "head" | null;
}

export function pageSize(limit: number | undefined): number {
  return limit === undefined || Number.isNaN(limit) ? DEFAULT_LIMIT : Math.min(HIGHEST_LIMIT, Math.max(1, Math.floor(limit)));
}

export function list(query: ListQuery, at: { home: Home; rows: Rows | null }): Listed<ThreadSummary> {
  return new Listing(query, at).page();
}

/** The making of one page. */
class Listing {
  readonly #query: ListQuery;
  readonly #home: Home;
  readonly #rows: Rows | null;
  readonly #archived: boolean;
  readonly #before: ThreadId;
  readonly #limit: number;
  /** Null where no text is asked for. */
  readonly #phrases: Phrase[] | null;
  #incomplete = false;
  #need: Need = "nothing";
  /** Where the next page goes on though this one is not full. */
  #resume: ThreadId | null = null;

  constructor(query: ListQuery, { home, rows }: { home: Home; rows: Rows | null }) {
    this.#query = query;
    this.#home = home;
    this.#rows = rows;
    this.#archived = query.archived ?? false;
    this.#before = query.cursor ?? TOP_ID;
    this.#limit = pageSize(query.limit);
    this.#phrases = query.text === undefined || query.text.trim() === "" ? null : parseQuery(query.text);
    if (!rows) this.#need = "rebuild";
  }

  page(): Listed<ThreadSummary> {
    const items: ThreadSummary[] = [];
    let more = false;
    for (const candidate of this.#candidates()) {
      const summary = this.#judge(candidate);
      if (!summary) continue;
      more = items.length === this.#limit;
      if (more) break;
      items.push(summary);
    }
    const next = more ? items.at(-1)!.id : this.#resume;
    return { page: { items, next, incomplete: this.#incomplete }, need: this.#need };
  }

  #candidates(): Iterable<Candidate> {
    const { source, provider, cwd } = this.#query;
    if (this.#phrases?.length === 0) return [];
    if (!source && !provider && cwd === undefined && !this.#phrases) return this.#unfiltered();
    return this.#rows ? this.#filtered(this.#rows) : this.#scanned();
  }

  *#unfiltered(): Generator<Candidate, void, void> {
    if (this.#rows && this.#isComplete(this.#rows)) yield* this.#walked(this.#rows, { by: "all" });
    else for (const id of this.#names()) yield { id, row: this.#rows?.byId(id) ?? null, match: null };
  }

  #isComplete(rows: Rows): boolean {
    const complete = rows.fact("membership") === membershipPrint(this.#home).print;
    if (!complete) this.#require("reconcile");
    return complete;
  }

  #names(): ThreadId[] {
    return namesIn(this.#archived ? this.#home.archive : this.#home.sessions).filter((id) => id < this.#before);
  }

  *#walked(rows: Rows, walk: Walk): Generator<Candidate, void, void> {
    for (const row of rows.walk(walk, { archived: this.#archived, before: this.#before, chunk: this.#limit + 1 })) yield { id: row.id, row, match: null };
  }

  #filtered(rows: Rows): Iterable<Candidate> {
    if (rows.fact("stamp") !== readStamp(this.#home)) {
      this.#incomplete = true;
      this.#require("sweep");
    }
    if (this.#phrases && rows.behind(1).length > 0) {
      this.#incomplete = true;
      this.#require("refresh");
    }
    const overlay = this.#overlay(rows);
    const proposed = this.#phrases ? [this.#textual(rows, { phrases: this.#phrases, overlay })] : this.#walks().map((walk) => this.#walked(rows, walk));
    return newestFirst([...proposed, overlay]);
  }

  /** The narrowest filter leads; the others are judged. */
  #walks(): Walk[] {
    const { source, provider, cwd } = this.#query;
    if (cwd !== undefined) return [{ by: "cwd", value: cwd }];
    const by = provider ? "provider" : "source";
    return [...new Set<string>(provider ?? source)].map((value) => ({ by, value }));
  }

  *#textual(rows: Rows, { phrases, overlay }: { phrases: Phrase[]; overlay: readonly Candidate[] }): Generator<Candidate, void, void> {
    const { source, provider, cwd } = this.#query;
    const among = { archived: this.#archived, source, provider, cwd, always: overlay.flatMap(({ row }) => row?.no ?? []) };
    let bucket = -1;
    let found = new Map<number, "log" | "head">();
    for (const { at, session, kind } of rows.matches(phrases, { before: bucketRange(bucketOf(this.#before)).to, among })) {
      const here = Math.floor(at / BUCKET_SIZE);
      if (here !== bucket) {
        yield* this.#bucket(rows, found);
        bucket = here;
        found = new Map();
      }
      if (kind !== "title" && kind !== "preview") found.set(session, "log");
      else if (!found.has(session)) found.set(session, "head");
    }
    yield* this.#bucket(rows, found);
  }

  #bucket(rows: Rows, found: ReadonlyMap<number, "log" | "head">): Candidate[] {
    const candidates: Candidate[] = [];
    for (const [no, match] of found) {
      const row = rows.byNo(no);
      if (row && row.id < this.#before) candidates.push({ id: row.id, row, match });
    }
    return candidates.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  }

  #overlay(rows: Rows): Candidate[] {
    const ids = new Set(marked(this.#home).filter((id) => id < this.#before));
    if (!this.#isComplete(rows)) {
      const known = rows.ids(this.#archived);
      for (const id of this.#names()) if (!known.has(id)) ids.add(id);
    }
    const ordered = [...ids].toSorted().reverse();
    if (ordered.length > OVERLAY) this.#incomplete = true;
    return ordered.slice(0, OVERLAY).map((id) => ({ id, row: rows.byId(id), match: null }));
  }

  *#scanned(): Generator<Candidate, void, void> {
    const names = this.#names();
    for (const id of names.slice(0, OVERLAY)) yield { id, row: null, match: null };
    if (names.length <= OVERLAY) return;
    this.#incomplete = true;
    this.#resume = names[OVERLAY - 1]!;
  }

  #judge({ id, row, match }: Candidate): ThreadSummary | null {
    const now = look(this.#home, id);
    if (!now || now.archived !== this.#archived) return null;
    const fresh = row?.print === now.print;
    if (!fresh) this.#isStale(id, row);
    const summary = fresh ? row.summary : read(this.#home, id);
    if (!summary || !this.#passes(summary)) return null;
    if (!this.#phrases || match === "log" || (match === "head" && fresh)) return summary;
    if (headMatches(summary, this.#phrases)) return summary;
    if (!row || row.text_log !== now.logPrint) this.#incomplete = true;
    return null;
  }

  /** A row that changed unnoticed is marked, so that the indexer need not look at all of them. */
  #isStale(id: ThreadId, row: SessionRow | null): void {
    if (row) mark(this.#home, id);
    this.#require("refresh");
  }

  #passes(summary: ThreadSummary): boolean {
    const { source, provider, cwd } = this.#query;
    if (source && !source.includes(summary.session_source)) return false;
    if (provider && !provider.includes(summary.model_provider)) return false;
    return cwd === undefined || summary.cwd === cwd;
  }

  #require(need: Need): void {
    this.#need = higher(this.#need, need);
  }
}

function headMatches({ title, preview }: ThreadSummary, phrases: readonly Phrase[]): boolean {
  return [title, preview].some((text) => text !== null && matches(text, phrases));
}

/** Null where there is nothing to show, whatever the reason: one folder must not spoil a page. */
function read(home: Home, thread: ThreadId): ThreadSummary | null {
  counters.summaries += 1;
  try {
    return summarize(home.root, thread);
  } catch {
    return null;
  }
}
