/**
 * Store: the port behind which logs live. Types only.
 *
 * - A thread has one writer at a time. `open` gives the log to the writer or says who has it; readers need no opening.
 * - `append` is synchronous: when it returns, the records survive the death of the process (acknowledged). When `durable(seq)`
 *   resolves, every record up to and including `seq` survives power loss.
 * - A fault of the medium throws a StoreFault. After one the log may be `poisoned`: then nothing more is accepted on it, and
 *   the caller drops its state and opens again.
 * - `read` gives the records of one thread's own log, each verified; what is damaged is left out and reported. It knows
 *   nothing of lineage: see core/lineage.ts.
 */
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../protocol/library.ts";
import type { BlobRef, Draft, LogRecord, ThreadId } from "../protocol/record.ts";
import type { Owner } from "../protocol/rpc.ts";

export interface Store {
  /** A new thread whose first record is `first` (a `thread.created`), durable when this resolves. Its seq is `base.before`, or 0. */
  create(thread: ThreadId, first: Draft): Promise<Log>;
  open(thread: ThreadId): Promise<Opened>;
  /** The first record, rebuilt from what else is known where it is damaged; null when there is no such thread. */
  header(thread: ThreadId): Promise<LogRecord | null>;
  /** The seq that the next record will get, from the last valid line; null when there is no such thread. */
  head(thread: ThreadId): Promise<number | null>;
  read(thread: ThreadId, range: Range): AsyncIterable<LogRecord>;
  /** Records from `from` on, as they are written by whoever owns the thread, until `signal` aborts. Never repairs. */
  follow(thread: ThreadId, from: number, signal: AbortSignal): AsyncIterable<LogRecord>;
  /** Full ids that begin with `prefix` (at most 20), archived threads included. */
  find(prefix: string): Promise<ThreadId[]>;
  /** The thread that was opened for writing last. */
  active(): Promise<ThreadId | null>;
  list(query: ListQuery): Promise<Page<ThreadSummary>>;
  search(query: SearchQuery): Promise<Page<SearchHit>>;
  archive(thread: ThreadId): Promise<void>;
  unarchive(thread: ThreadId): Promise<void>;
  remove(thread: ThreadId): Promise<void>;
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

export interface Range {
  /** First seq, inclusive; the log's first when absent. */
  from?: number;
  /** Last seq, exclusive; the log's head when absent. */
  before?: number;
  order?: "forward" | "backward";
  onDamage?: (damage: Damage) => void;
}
export interface Damage {
  /** Byte offset in the log file; -1 where the store has no file. */
  offset: number;
  bytes: number;
  why: string;
}

export type Opened =
  | { ok: true; log: Log; repairs: string[]; live: LiveItem[] }
  | { ok: false; why: "not_found"; message: string }
  | { ok: false; why: "busy"; message: string; owner: Owner | null }
  | { ok: false; why: "read_only"; message: string };

export interface Log {
  readonly thread: ThreadId;
  /** The seq that the next record gets. */
  readonly head: number;
  /** Length of the log on its medium, in bytes. */
  readonly bytes: number;
  append(drafts: readonly Draft[]): LogRecord[];
  durable(seq: number): Promise<void>;
  /** Text being streamed now, kept so that a crash does not lose what the user already read. */
  readonly live: LiveText;
  /** Refresh what is derived: metadata, state, diffs. Never fails a turn: a fault here is reported by the promise only. */
  derive(derived: Derived): Promise<void>;
  close(): Promise<void>;
}

export interface LiveText {
  add(part: LivePart): void;
  /** Forget everything: the items are committed. */
  clear(): void;
}
export interface LivePart {
  id: string;
  kind: "message" | "reasoning" | "output";
  delta: string;
}
/** The parts of one item, joined. */
export interface LiveItem {
  id: string;
  kind: "message" | "reasoning" | "output";
  text: string;
}

export interface Derived {
  metadata: ThreadSummary;
  /** Small facts for people and tools; see core/derived.ts. */
  state: object;
  /** Diffs to (re)write, by number. */
  diffs: { number: number; content: BlobRef }[];
}

export interface BlobReader {
  /** Looks in the thread and then in the threads that it was forked from; null when it is gone. */
  get(thread: ThreadId, ref: BlobRef): Promise<Uint8Array | null>;
}
export interface BlobStore extends BlobReader {
  /** Synced before this resolves, so that the record that names it may follow. */
  put(thread: ThreadId, content: Uint8Array): Promise<BlobRef>;
}

export class StoreFault extends Error {
  readonly code: string;
  /** True when the log accepts nothing more and must be opened again. */
  readonly poisoned: boolean;
  constructor(message: string, fault: { code: string; poisoned: boolean; cause?: unknown }) {
    super(message, { cause: fault.cause });
    this.name = "StoreFault";
    this.code = fault.code;
    this.poisoned = fault.poisoned;
  }
}
