/**
 * Reading the index. Every statement here walks an index in the order of its answer and stops at its limit: none scans a table
 * and none sorts, so what a page costs does not grow with the number of threads.
 */
import { crc32 } from "node:zlib";
import type { ThreadSummary } from "../../../protocol/library.ts";
import type { ThreadId } from "../../../protocol/record.ts";
import { counters } from "./counters.ts";
import { KINDS, type Kind } from "./texts.ts";
import { DamagedIndex, type Database, type Row, type Statement } from "./sqlite.ts";
import { toMatch, type Phrase } from "./words.ts";

export interface SessionRow {
  no: number;
  id: ThreadId;
  archived: boolean;
  summary: ThreadSummary;
  print: string;
  log: string;
  text_log: string;
  text_file: string;
  text_at: number;
}
export interface MatchRow {
  at: number;
  session: number;
  kind: Kind;
}
/** Threads by their rows. */
export interface Among {
  archived: boolean;
  cwd?: string | undefined;
  provider?: string[] | undefined;
  source?: string[] | undefined;
  /** Those whose rows say nothing. */
  always: number[];
}
export interface HitRow extends MatchRow {
  seq: number;
  offset: number;
  bytes: number;
}

/** Sorts after every id. */
export const TOP_ID = "~";
export const TOP_AT = Number.MAX_SAFE_INTEGER;

const PAGE = "AND id < ? ORDER BY id DESC LIMIT ?";
export const STATEMENTS = {
  byId: "SELECT * FROM sessions WHERE id = ?",
  byNo: "SELECT * FROM sessions WHERE no = ?",
  all: `SELECT * FROM sessions WHERE archived = ? ${PAGE}`,
  source: `SELECT * FROM sessions WHERE archived = ? AND source = ? ${PAGE}`,
  provider: `SELECT * FROM sessions WHERE archived = ? AND provider = ? ${PAGE}`,
  cwd: `SELECT * FROM sessions WHERE archived = ? AND cwd = ? ${PAGE}`,
  behind: "SELECT id FROM sessions WHERE text_log <> log ORDER BY id DESC LIMIT ?",
  matches:
    "SELECT words.rowid AS at, docs.session, docs.kind FROM words CROSS JOIN docs ON docs.no = words.rowid CROSS JOIN sessions ON sessions.no = docs.session " +
    "WHERE words MATCH ?1 AND words.rowid < ?2 AND (docs.session IN (SELECT value FROM json_each(?3)) OR (sessions.archived = ?4 " +
    "AND (?5 IS NULL OR sessions.cwd = ?5) AND (?6 IS NULL OR sessions.provider IN (SELECT value FROM json_each(?6))) " +
    "AND (?7 IS NULL OR sessions.source IN (SELECT value FROM json_each(?7))))) ORDER BY words.rowid DESC",
  hits:
    "SELECT words.rowid AS at, docs.* FROM words CROSS JOIN docs ON docs.no = words.rowid " +
    `WHERE words MATCH ? AND words.rowid < ? AND docs.kind <> ${KINDS.indexOf("preview")} ORDER BY words.rowid DESC LIMIT ?`,
  /** A virtual table counts up to a word if asked for what is greater than it, so it is asked for no less than what follows. */
  word: "SELECT term FROM completions WHERE term >= ? LIMIT 1",
  fact: "SELECT value FROM facts WHERE name = ?",
} as const;
/** Outside of pages: for telling what is missing in an index that is behind. */
const ALL_IDS = "SELECT id FROM sessions WHERE archived = ?";

const PROGRESS = "SELECT (SELECT count(*) FROM sessions) AS total, (SELECT count(*) FROM sessions WHERE text_log <> log) AS behind";

/** In threads, by their full text. */
export interface Progress {
  done: number;
  total: number;
}
export type Fact = "membership" | "stamp" | "swept";
/** By what a list can be walked, and the value. */
export type Walk = { by: "all" } | { by: "source" | "provider" | "cwd"; value: string };

export class Rows {
  readonly #db: Database;
  readonly #prepared = new Map<string, Statement>();

  constructor(db: Database) {
    this.#db = db;
  }

  #statement(sql: string): Statement {
    let statement = this.#prepared.get(sql);
    if (!statement) this.#prepared.set(sql, (statement = this.#db.prepare(sql)));
    return statement;
  }

  byId(thread: ThreadId): SessionRow | null {
    return one(this.#statement(STATEMENTS.byId).get(thread));
  }

  byNo(no: number): SessionRow | null {
    return one(this.#statement(STATEMENTS.byNo).get(no));
  }

  /** Newest first, from before an id on, `chunk` at a time, as long as somebody asks. */
  *walk(walk: Walk, { archived, before, chunk }: { archived: boolean; before: ThreadId; chunk: number }): Generator<SessionRow, void, void> {
    const values = walk.by === "all" ? [Number(archived)] : [Number(archived), walk.value];
    for (let last = before; ; ) {
      const rows = this.#statement(STATEMENTS[walk.by]).all(...values, last, chunk);
      for (const raw of rows) {
        const row = rowFrom(raw);
        if (row.id >= last) throw new DamagedIndex();
        last = row.id;
        yield row;
      }
      if (rows.length < chunk) return;
    }
  }

  /** Where a text is found in the threads that pass, newest first. Not to be used by two at a time. */
  *matches(phrases: readonly Phrase[], { before, among }: { before: number; among: Among }): Generator<MatchRow, void, void> {
    const { archived, cwd = null, provider, source, always } = among;
    const json = (values: readonly unknown[] | undefined) => (values ? JSON.stringify(values) : null);
    const values = [this.#match(phrases), before, JSON.stringify(always), Number(archived), cwd, json(provider), json(source)];
    for (const raw of this.#statement(STATEMENTS.matches).iterate(...values)) {
      counters.rows += 1;
      yield { at: Number(raw["at"]), session: Number(raw["session"]), kind: kindOf(raw) };
    }
  }

  hits(phrases: readonly Phrase[], { before, limit }: { before: number; limit: number }): HitRow[] {
    return this.#statement(STATEMENTS.hits)
      .all(this.#match(phrases), before, limit)
      .map((raw) => {
        counters.rows += 1;
        const { at, session, seq, offset, bytes } = raw as Record<string, number>;
        return { at: at!, session: session!, kind: kindOf(raw), seq: seq!, offset: offset!, bytes: bytes! };
      });
  }

  #match(phrases: readonly Phrase[]): string {
    return toMatch(phrases, (beginning, most) => this.#completions(beginning, most));
  }

  #completions(beginning: string, most: number): string[] | null {
    const words: string[] = [];
    for (let from = beginning; ; ) {
      const word = this.#statement(STATEMENTS.word).get(from)?.["term"];
      if (typeof word !== "string" || !word.startsWith(beginning)) return words;
      if (words.length === most) return null;
      words.push(word);
      from = `${word}\u0001`;
    }
  }

  /** Threads whose full text is not complete, newest first. */
  behind(limit: number): ThreadId[] {
    return this.#statement(STATEMENTS.behind)
      .all(limit)
      .map((raw) => String(raw["id"]));
  }

  ids(archived: boolean): Set<ThreadId> {
    const ids = new Set<ThreadId>();
    for (const raw of this.#statement(ALL_IDS).iterate(Number(archived))) ids.add(String(raw["id"]));
    return ids;
  }

  fact(name: Fact): string | null {
    const found = this.#statement(STATEMENTS.fact).get(name);
    return found ? String(found["value"]) : null;
  }

  progress(): Progress {
    const { total, behind } = this.#statement(PROGRESS).get()!;
    return { done: Number(total) - Number(behind), total: Number(total) };
  }

  close(): void {
    this.#db.close();
  }
}

function one(raw: Row | undefined): SessionRow | null {
  return raw ? rowFrom(raw) : null;
}

function rowFrom(raw: Row): SessionRow {
  counters.rows += 1;
  const row = { ...raw, archived: raw["archived"] === 1 } as unknown as SessionRow;
  const summary = String(raw["summary"]);
  if (raw["sum"] !== sumOf({ ...row, summary })) throw new DamagedIndex();
  return { ...row, summary: JSON.parse(summary) as ThreadSummary };
}

/** SQLite has no checksums: a changed byte in a row would be shown. */
export function sumOf({ id, archived, print, summary }: { id: ThreadId; archived: boolean; print: string; summary: string }): number {
  return crc32(`${id} ${Number(archived)} ${print} ${summary}`);
}

function kindOf(raw: Row): Kind {
  const kind = KINDS[Number(raw["kind"])];
  if (!kind) throw new DamagedIndex();
  return kind;
}
