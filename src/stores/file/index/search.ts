/**
 * Searching: newest thread first, and in a thread the latest first. The index says where, the log says what: a hit is shown with the text
 * that is in the log now, verified, and is left out if it is no longer there. Threads in the archive are searched too.
 */
import type { SearchHit, SearchQuery, ThreadSummary } from "../../../protocol/library.ts";
import type { ThreadId } from "../../../protocol/record.ts";
import { realFiles } from "../files.ts";
import { readFirst } from "../header.ts";
import type { Home } from "../layout.ts";
import { linesForward } from "../scan.ts";
import { pageSize, type Listed } from "./list.ts";
import { look, membershipPrint, type Look } from "./look.ts";
import { marked, readStamp } from "./marks.ts";
import { higher, type Need } from "./need.ts";
import { TOP_AT, type HitRow, type Rows, type SessionRow } from "./rows.ts";
import { textIn } from "./texts.ts";
import { parseQuery, snippet, type Phrase } from "./words.ts";

export function search(query: SearchQuery, { home, rows }: { home: Home; rows: Rows | null }): Listed<SearchHit> {
  if (!rows) return { page: { items: [], next: null, incomplete: true }, need: "rebuild" };
  const phrases = parseQuery(query.text);
  const threads = new Threads(home, rows);
  const need = missing(home, rows);
  const page = { items: [] as SearchHit[], next: null as string | null, incomplete: need !== "nothing" };
  if (phrases.length === 0) return { page, need };
  const limit = pageSize(query.limit);
  let before = query.cursor ? Number(query.cursor) || TOP_AT : TOP_AT;
  let last = before;
  for (;;) {
    const found = rows.hits(phrases, { before, limit: limit + 1 });
    for (const hit of found) {
      before = hit.at;
      const shown = threads.show(hit, phrases);
      if (!shown) continue;
      if (page.items.length === limit) return { page: { ...page, next: String(last) }, need };
      page.items.push(shown);
      last = hit.at;
    }
    if (found.length <= limit) return { page, need };
  }
}

/** What the index does not know yet. */
function missing(home: Home, rows: Rows): Need {
  const isBehind = (thread: ThreadId) => {
    const now = look(home, thread);
    return now !== null && rows.byId(thread)?.text_log !== now.logPrint;
  };
  let need: Need = rows.behind(1).length > 0 || marked(home).some(isBehind) ? "refresh" : "nothing";
  if (rows.fact("membership") !== membershipPrint(home).print) need = higher(need, "reconcile");
  if (rows.fact("stamp") !== readStamp(home)) need = higher(need, "sweep");
  return need;
}

interface Known {
  row: SessionRow;
  now: Look | null;
}

/** The threads of one page, each looked at once. */
class Threads {
  readonly #home: Home;
  readonly #rows: Rows;
  readonly #known = new Map<number, Known | null>();

  constructor(home: Home, rows: Rows) {
    this.#home = home;
    this.#rows = rows;
  }

  show(hit: HitRow, phrases: readonly Phrase[]): SearchHit | null {
    const known = this.#find(hit.session);
    if (!known?.now) return null;
    const { id, summary } = known.row;
    const found = hit.kind === "title" ? titleOf(summary) : textAt(known.now, id, hit);
    if (!found) return null;
    const kind = hit.kind as SearchHit["kind"];
    return { thread: id, seq: hit.seq, kind, at: found.at, snippet: snippet(found.text, phrases) };
  }

  #find(no: number): Known | null {
    let known = this.#known.get(no);
    if (known === undefined) {
      const row = this.#rows.byNo(no);
      known = row && { row, now: look(this.#home, row.id) };
      this.#known.set(no, known);
    }
    return known;
  }
}

interface Found {
  at: string;
  text: string;
}

function titleOf({ title, updated_at }: ThreadSummary): Found | null {
  return title === null ? null : { at: updated_at, text: title };
}

function textAt({ place }: Look, thread: ThreadId, { seq, offset, bytes, kind }: HitRow): Found | null {
  let fd: number;
  try {
    fd = realFiles.open(place.files.log, "read");
  } catch {
    return null;
  }
  try {
    const { seal } = readFirst({ files: realFiles, fd }, thread);
    for (const line of linesForward({ files: realFiles, fd, seal }, { from: offset, to: offset + bytes, chunk: bytes })) {
      const text = line.ok && line.record.seq === seq ? textIn(line.record, place.files) : null;
      return line.ok && text?.kind === kind ? { at: line.record.at, text: text.text } : null;
    }
    return null;
  } finally {
    realFiles.close(fd);
  }
}
