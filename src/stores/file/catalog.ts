/**
 * Catalog: what lists and searches the threads of a home. It is derived: it may be missing, behind or deleted, and nothing waits
 * for it. The file store tells it what happened; it finds out the rest from the folders (see layout.ts, scan.ts, summary.ts).
 */
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../../protocol/library.ts";
import type { ThreadId } from "../../protocol/record.ts";

export interface Catalog {
  list(query: ListQuery): Promise<Page<ThreadSummary>>;
  search(query: SearchQuery): Promise<Page<SearchHit>>;
  /** A writer created, opened or closed the thread, refreshed its derived files, or moved it into or out of the archive. */
  touched(thread: ThreadId): void;
  /** The thread was removed, or hidden because forks of it remain: it is no longer listed. */
  gone(thread: ThreadId): void;
  close(): Promise<void>;
}
