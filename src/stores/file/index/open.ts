/** The index of a home: lists and searches in this process, indexing in a thread of its own. */
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../../../protocol/library.ts";
import type { ThreadId } from "../../../protocol/record.ts";
import type { Catalog } from "../catalog.ts";
import { homeAt, type Home } from "../layout.ts";
import { IndexerThread } from "./indexer-thread.ts";
import { list, type Listed } from "./list.ts";
import { mark } from "./marks.ts";
import { Reading } from "./reading.ts";
import type { Progress, Rows } from "./rows.ts";
import { search } from "./search.ts";
import { loadSqlite } from "./sqlite.ts";

export interface Index extends Catalog {
  /** Waits for the indexer. True when the index holds everything that was there at the call; false when that was not to be had. */
  catchUp(options?: { signal?: AbortSignal; onProgress?: (progress: Progress) => void }): Promise<boolean>;
}

export interface IndexOptions {
  home: string;
  /** The built index.worker.ts; it lies beside the bundle. */
  worker?: URL;
}

export function openIndex({ home, worker = new URL("./index.worker.js", import.meta.url) }: IndexOptions): Index {
  return new FileIndex(homeAt(home), worker);
}

class FileIndex implements Index {
  readonly #home: Home;
  readonly #thread: IndexerThread;
  #reading: Promise<Reading> | null = null;

  constructor(home: Home, worker: URL) {
    this.#home = home;
    this.#thread = new IndexerThread(home.root, worker);
  }

  list(query: ListQuery): Promise<Page<ThreadSummary>> {
    return this.#answer((rows) => list(query, { home: this.#home, rows }));
  }

  async search(query: SearchQuery): Promise<Page<SearchHit>> {
    if (query.wait) await this.catchUp();
    return this.#answer((rows) => search(query, { home: this.#home, rows }));
  }

  async #answer<T>(make: (rows: Rows | null) => Listed<T>): Promise<Page<T>> {
    const reading = await this.#read();
    const { page, need } = reading.answer(make);
    if (need === "refresh") this.#thread.askSoon();
    else if (need !== "nothing") this.#thread.ask({ need, damaged: reading.damaged });
    return page;
  }

  #read(): Promise<Reading> {
    this.#reading ??= loadSqlite().then((sqlite) => new Reading(this.#home, sqlite));
    return this.#reading;
  }

  touched(thread: ThreadId): void {
    mark(this.#home, thread);
    this.#thread.askSoon();
  }

  gone(thread: ThreadId): void {
    this.touched(thread);
  }

  async catchUp({ signal, onProgress = () => {} }: { signal?: AbortSignal; onProgress?: (progress: Progress) => void } = {}): Promise<boolean> {
    const reading = await this.#read();
    const onBusy = () => {
      const progress = reading.progress();
      if (progress) onProgress(progress);
    };
    return this.#thread.catchUp({ signal, onProgress, onBusy });
  }

  async close(): Promise<void> {
    (await this.#reading)?.close();
    await this.#thread.close();
  }
}
