/**
 * The reader's connection to the index: opened when first needed, again when the file was replaced. Whatever is wrong with the index,
 * an answer is made without it; damage is remembered, so that the indexer can be told which file to throw away.
 */
import type { Home } from "../layout.ts";
import type { Listed } from "./list.ts";
import { Rows, type Progress } from "./rows.ts";
import { fileIdentity, filePrint, openForReading } from "./schema.ts";
import { isCorruption, type Sqlite } from "./sqlite.ts";

export class Reading {
  readonly #home: Home;
  readonly #sqlite: Sqlite | null;
  #open: { rows: Rows; identity: string } | null = null;
  /** The print of the file in which damage was found. */
  damaged: string | null = null;

  constructor(home: Home, sqlite: Sqlite | null) {
    this.#home = home;
    this.#sqlite = sqlite;
  }

  answer<T>(make: (rows: Rows | null) => Listed<T>): Listed<T> {
    const rows = this.#rows();
    if (!rows) return make(null);
    try {
      return make(rows);
    } catch (error) {
      if (isCorruption(error)) this.damaged = filePrint(this.#home);
      this.close();
      return make(null);
    }
  }

  progress(): Progress | null {
    try {
      return this.#rows()?.progress() ?? null;
    } catch {
      return null;
    }
  }

  /** Null when there is no index that counts. */
  #rows(): Rows | null {
    const identity = fileIdentity(this.#home);
    if (this.#open && this.#open.identity === identity) return this.#open.rows;
    this.close();
    if (!this.#sqlite || identity === null || this.damaged === filePrint(this.#home)) return null;
    try {
      const db = openForReading(this.#sqlite, this.#home);
      if (!db) return null;
      this.#open = { rows: new Rows(db), identity };
      return this.#open.rows;
    } catch (error) {
      if (isCorruption(error)) this.damaged = filePrint(this.#home);
      return null;
    }
  }

  close(): void {
    this.#open?.rows.close();
    this.#open = null;
  }
}
