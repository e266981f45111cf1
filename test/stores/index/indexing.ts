/** Running the indexer in this process, and looking at what it left. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runPass, type PassEnd } from "../../../src/stores/file/index/indexer.ts";
import { list } from "../../../src/stores/file/index/list.ts";
import { Reading } from "../../../src/stores/file/index/reading.ts";
import { search } from "../../../src/stores/file/index/search.ts";
import { loadSqlite, type Sqlite } from "../../../src/stores/file/index/sqlite.ts";
import { homeAt } from "../../../src/stores/file/layout.ts";
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../../../src/protocol/library.ts";
import type { Need } from "../../../src/stores/file/index/need.ts";

export const sqlite: Sqlite = (await loadSqlite())!;

export interface TestIndex {
  home: string;
  list(query?: ListQuery): Page<ThreadSummary> & { need: Need };
  search(query: SearchQuery): Page<SearchHit> & { need: Need };
  /** A whole pass, or one that is stopped at the nth time that it asks. */
  pass(options?: { need?: Need; stopAt?: number }): PassEnd;
  /** Lets go of the file, as a process that ended. */
  close(): void;
}

export function indexOf(home: string): TestIndex {
  const at = homeAt(home);
  const reading = new Reading(at, sqlite);
  return {
    home,
    list(query = {}) {
      const { page, need } = reading.answer((rows) => list(query, { home: at, rows }));
      return { ...page, need };
    },
    search(query) {
      const { page, need } = reading.answer((rows) => search(query, { home: at, rows }));
      return { ...page, need };
    },
    pass({ need = "refresh", stopAt = Infinity } = {}) {
      let asked = 0;
      return runPass({ home: at, sqlite, need, damaged: reading.damaged, stopped: () => ++asked >= stopAt, onProgress: () => {} });
    },
    close: () => reading.close(),
  };
}

/** In memory where the machine has such. */
export function temporaryHome(): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "skein-index-"));
}
export function removeHome(home: string): void {
  rmSync(home, { recursive: true, force: true });
}

/** RUNS=10 npm test: ten times as many random cases. */
export function runs(count: number): { numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env["RUNS"] ?? 1)) };
}
