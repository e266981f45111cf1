/** The catalog of a home without an index: it reads every folder each time it is asked. Right always, quick for few threads. */
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../../protocol/library.ts";
import type { LogRecord, ThreadId } from "../../protocol/record.ts";
import { listPage, searchPage, type Listed } from "../listing.ts";
import type { Catalog } from "./catalog.ts";
import type { Files } from "./files.ts";
import type { Place } from "./header.ts";
import { isThreadId, type Home } from "./layout.ts";
import { isHidden, locate, readThread } from "./reader.ts";
import { summarize } from "./summary.ts";

export class FolderCatalog implements Catalog {
  readonly #home: Home;
  readonly #files: Files;

  constructor(home: Home, files: Files) {
    this.#home = home;
    this.#files = files;
  }

  list(query: ListQuery): Promise<Page<ThreadSummary>> {
    return new Promise((resolve) => resolve(listPage(this.#summaries(), query)));
  }
  search(query: SearchQuery): Promise<Page<SearchHit>> {
    return new Promise((resolve) => resolve(searchPage(this.#logs(), query)));
  }
  touched(): void {}
  gone(): void {}
  async close(): Promise<void> {}

  *#summaries(): Generator<Listed, void, void> {
    for (const { thread, archived } of this.#places()) {
      const summary = summarize(this.#home.root, thread, this.#files);
      if (summary) yield { summary, archived };
    }
  }
  *#logs(): Generator<{ thread: ThreadId; records: Iterable<LogRecord> }, void, void> {
    for (const place of this.#places()) yield { thread: place.thread, records: recordsOf(place, this.#files) };
  }
  *#places(): Generator<Place, void, void> {
    for (const thread of threadsOf(this.#home, this.#files)) {
      const place = locate(this.#home, thread, this.#files);
      if (place && !isHidden(place, this.#files)) yield place;
    }
  }
}

/** Every id that has a folder, hidden ones too. */
export function threadsOf(home: Home, files: Files): ThreadId[] {
  return [home.sessions, home.archive].flatMap((folder) => (files.isFolder(folder) ? files.list(folder).filter(isThreadId) : []));
}

function* recordsOf(place: Place, files: Files): Generator<LogRecord, void, void> {
  for (const { record } of readThread(place, {}, files)) yield record;
}
