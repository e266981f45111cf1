/**
 * Writing the index, for the indexer alone. Work is collected in transactions of bounded size; what a row says and the texts that belong
 * to it are written in the same one, so that an index is consistent wherever its writer dies.
 */
import type { ThreadSummary } from "../../../protocol/library.ts";
import type { ThreadId } from "../../../protocol/record.ts";
import type { Look } from "./look.ts";
import { bucketOf, bucketRange } from "./rowids.ts";
import { Rows, sumOf, type Fact, type SessionRow } from "./rows.ts";
import type { Database, Statement } from "./sqlite.ts";
import { cut, KINDS, type Text } from "./texts.ts";
import { indexable } from "./words.ts";

const PREVIEW = KINDS.indexOf("preview");

/** What a transaction may grow to before it is committed, in characters of text. */
const LARGEST_BATCH = 4_000_000;
/** So much of a merge is done at a time. */
const MERGE_PAGES = 250;
/** What a row counts as. */
const ROW_COST = 4000;

export interface TextPlace {
  seq: number;
  offset: number;
  bytes: number;
}

export class Entries {
  readonly rows: Rows;
  readonly #db: Database;
  readonly #put: Statement;
  readonly #covered: Statement;
  readonly #lastDoc: Statement;
  readonly #addDoc: Statement;
  readonly #addWords: Statement;
  readonly #docs: Statement;
  readonly #dropDoc: Statement;
  readonly #dropWords: Statement;
  /** The next free place of the bucket that was written to last. */
  #next = { bucket: -1, doc: 0 };
  #pending = 0;
  #open = false;

  constructor(db: Database) {
    this.#db = db;
    this.rows = new Rows(db);
    this.#put = db.prepare(
      "INSERT INTO sessions (id, archived, source, provider, cwd, summary, print, sum, log, text_log, text_file, text_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', 0) " +
        "ON CONFLICT (id) DO UPDATE SET archived = excluded.archived, source = excluded.source, provider = excluded.provider, cwd = excluded.cwd, " +
        "summary = excluded.summary, print = excluded.print, sum = excluded.sum, log = excluded.log",
    );
    this.#covered = db.prepare("UPDATE sessions SET log = ?, text_log = ?, text_file = ?, text_at = ? WHERE no = ?");
    this.#lastDoc = db.prepare("SELECT max(no) AS last FROM docs WHERE no >= ? AND no < ?");
    this.#addDoc = db.prepare("INSERT INTO docs (no, session, seq, kind, offset, bytes) VALUES (?, ?, ?, ?, ?, ?)");
    this.#addWords = db.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
    this.#docs = db.prepare("SELECT no FROM docs WHERE no >= ? AND no < ? AND session = ? AND kind BETWEEN ? AND ?");
    this.#dropDoc = db.prepare("DELETE FROM docs WHERE no = ?");
    this.#dropWords = db.prepare("DELETE FROM words WHERE rowid = ?");
  }

  /** True when what was written should be committed before more is. */
  get full(): boolean {
    return this.#pending >= LARGEST_BATCH;
  }

  /** Counts work that leaves nothing in the index. */
  spend(cost: number): void {
    this.#pending += cost;
  }

  #write(cost: number): void {
    if (!this.#open) this.#db.exec("BEGIN IMMEDIATE");
    this.#open = true;
    this.#pending += cost;
  }

  commit(): void {
    if (this.#open) this.#db.exec("COMMIT");
    this.#open = false;
    this.#pending = 0;
  }

  /** Makes one segment of the many that FTS5 wrote, which is quicker to ask, a step at a time; false when that is done. */
  mergeWords(step: "first" | "next"): boolean {
    const before = this.#changes();
    this.#db.prepare("INSERT INTO words (words, rank) VALUES ('merge', ?)").run(step === "first" ? -MERGE_PAGES : MERGE_PAGES);
    return this.#changes() - before > 1;
  }

  #changes(): number {
    return Number(this.#db.prepare("SELECT total_changes() AS changes").get()!["changes"]);
  }

  /** Moves what was committed into the database file, as far as no reader is in the way. */
  checkpoint(): void {
    this.#db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** `before` is the row as it is; `print` is empty where the folder did not hold still: such a row is never taken for fresh. */
  put(look: Look, { summary, print, before }: { summary: ThreadSummary; print: string; before: SessionRow | null }): void {
    this.#write(ROW_COST);
    const { archived, logPrint: log } = look;
    const text = JSON.stringify(summary);
    const sum = sumOf({ id: summary.id, archived, print, summary: text });
    const { lastInsertRowid } = this.#put.run(summary.id, Number(archived), summary.session_source, summary.model_provider, summary.cwd, text, print, sum, log);
    if (before && before.summary.title === summary.title && before.summary.preview === summary.preview) return;
    const no = before?.no ?? Number(lastInsertRowid);
    if (before) this.#dropDocs(before, { from: 0, to: PREVIEW });
    const place: TextPlace = { seq: summary.parent?.before ?? 0, offset: 0, bytes: 0 };
    for (const kind of ["title", "preview"] as const) {
      const head = summary[kind];
      if (head) this.addText(summary.id, no, { ...cut({ kind, text: head }), ...place });
    }
  }

  drop(thread: ThreadId): void {
    const row = this.rows.byId(thread);
    if (!row) return;
    this.#write(ROW_COST);
    this.#dropDocs(row, { from: 0, to: KINDS.length });
    this.#db.prepare("DELETE FROM sessions WHERE no = ?").run(row.no);
  }

  /** A bucket that is full takes no more: a million texts of one second. */
  addText(thread: ThreadId, no: number, { kind, text, seq, offset, bytes }: Text & TextPlace): void {
    this.#write(text.length);
    const bucket = bucketOf(thread);
    const { from, to } = bucketRange(bucket);
    if (this.#next.bucket !== bucket) this.#next = { bucket, doc: this.#firstFree(from, to) };
    if (this.#next.doc >= to) return;
    const doc = this.#next.doc++;
    this.#addDoc.run(doc, no, seq, KINDS.indexOf(kind), offset, bytes);
    this.#addWords.run(doc, indexable(text));
  }

  #firstFree(from: number, to: number): number {
    const last = this.#lastDoc.get(from, to)?.["last"];
    return typeof last === "number" ? last + 1 : from;
  }

  dropLogTexts(row: SessionRow): void {
    this.#write(ROW_COST);
    this.#dropDocs(row, { from: PREVIEW + 1, to: KINDS.length });
  }

  #dropDocs(row: SessionRow, kinds: { from: number; to: number }): void {
    const { from, to } = bucketRange(bucketOf(row.id));
    for (const { no } of this.#docs.all(from, to, row.no, kinds.from, kinds.to)) {
      this.#dropWords.run(no!);
      this.#dropDoc.run(no!);
    }
  }

  /** Full text covers `file` up to byte `at`, which is the `whole` of what it was when it had the print `log`. */
  covered(row: SessionRow, { log, whole, file, at }: { log: string; whole: boolean; file: string; at: number }): void {
    this.#write(0);
    this.#covered.run(log, whole ? log : "", file, at, row.no);
  }

  setFact(name: Fact, value: string): void {
    this.#write(0);
    this.#db.prepare("INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value").run(name, value);
  }

  known(): Map<ThreadId, boolean> {
    return new Map(this.#db.prepare("SELECT id, archived FROM sessions").all().map(({ id, archived }) => [String(id), archived === 1]));
  }
}
