/**
 * The file store: threads as folders in a home (layout.ts), each with a log (log.ts) that one process writes (open.ts) and anybody
 * reads (reader.ts). Everything else in a folder is derived (derived.ts) or named by the log (blobs.ts).
 */
import { basename } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../../protocol/library.ts";
import type { Draft, LogRecord, ThreadId } from "../../protocol/record.ts";
import { StoreFault, type BlobStore, type Log, type Opened, type Range, type Store } from "../../core/store.ts";
import { FileBlobs } from "./blobs.ts";
import type { Catalog } from "./catalog.ts";
import { createThread } from "./create.ts";
import { rebuildDerived } from "./derived.ts";
import { asFault } from "./fault.ts";
import { realFiles, type Files } from "./files.ts";
import { FolderCatalog, threadsOf } from "./folders.ts";
import { follow } from "./follow.ts";
import type { Place } from "./header.ts";
import { homeAt, isThreadId } from "./layout.ts";
import type { FileLog } from "./log.ts";
import { openThread, type Context } from "./open.ts";
import { headerOf, headOf, isHidden, locate, readThread, type Reading } from "./reader.ts";
import { moveThread, removeThread, sweep } from "./removal.ts";

export interface FileStoreOptions {
  home: string;
  /** Where this process answers other processes, to be named in owner.json. */
  socket?: string | null;
  host: string;
  pid: number;
  now: () => string;
  files?: Files;
  /** Write although the home is on a network file system, where locks may not hold. */
  allowNetworkFs?: boolean;
  /** What lists and searches; without one every folder is looked at. */
  catalog?: Catalog;
}

const MOST_FOUND = 20;
/** After reading so much, others get their turn. */
const STRETCH = 1024 * 1024;

export function openFileStore(options: FileStoreOptions): FileStore {
  return new FileStore(options);
}

export class FileStore implements Store {
  readonly blobs: BlobStore;
  readonly #context: Context;
  readonly #catalog: Catalog;
  readonly #logs = new Set<FileLog>();
  #swept: Promise<void> | null = null;

  constructor(options: FileStoreOptions) {
    const files = options.files ?? realFiles;
    const home = homeAt(options.home);
    const blobs = new FileBlobs(files, (thread) => locate(home, thread, files));
    const catalog = options.catalog ?? new FolderCatalog(home, files);
    this.blobs = blobs;
    this.#catalog = catalog;
    this.#context = {
      home,
      files,
      blobs,
      now: options.now,
      host: options.host,
      pid: options.pid,
      socket: options.socket ?? null,
      allowNetworkFs: options.allowNetworkFs ?? false,
      suspects: new Map(),
      opened: (log) => this.#logs.add(log),
      closed: (log) => {
        this.#logs.delete(log);
        catalog.touched(log.thread);
      },
      changed: (thread) => catalog.touched(thread),
    };
  }

  async create(thread: ThreadId, first: Draft): Promise<Log> {
    if (!isThreadId(thread)) throw new StoreFault(`"${thread}" cannot be the id of a thread. Nothing was created.`, { code: "bad_id", poisoned: false });
    await this.#sweepOnce();
    return createThread(this.#context, thread, first);
  }

  open(thread: ThreadId): Promise<Opened> {
    return openThread(this.#context, thread);
  }

  async header(thread: ThreadId): Promise<LogRecord | null> {
    return this.#reading(thread, () => {
      const place = this.#find(thread);
      return place && headerOf(place, this.#context.files);
    });
  }

  async head(thread: ThreadId): Promise<number | null> {
    return this.#reading(thread, () => {
      const place = this.#find(thread);
      return place && headOf(place, this.#context.files);
    });
  }

  read(thread: ThreadId, range: Range): AsyncIterable<LogRecord> {
    return {
      [Symbol.asyncIterator]: () => {
        const place = this.#reading(thread, () => this.#find(thread));
        return new Records(thread, place && this.#reading(thread, () => readThread(place, range, this.#context.files)));
      },
    };
  }

  async *follow(thread: ThreadId, from: number, signal: AbortSignal): AsyncGenerator<LogRecord, void, void> {
    if (!this.#find(thread)) throw new StoreFault(`There is no thread ${thread} to follow.`, { code: "not_found", poisoned: false });
    try {
      yield* follow({ find: () => this.#find(thread), from, signal, files: this.#context.files });
    } catch (error) {
      throw asFault(error, reading(thread));
    }
  }

  async find(prefix: string): Promise<ThreadId[]> {
    const { home, files } = this.#context;
    return this.#reading(prefix, () => {
      const found = isThreadId(prefix) && this.#find(prefix) ? [prefix] : threadsOf(home, files).filter((id) => id.startsWith(prefix));
      const listed = found.toSorted().filter((id) => this.#isListed(id));
      return listed.slice(0, MOST_FOUND);
    });
  }

  async active(): Promise<ThreadId | null> {
    const { home, files } = this.#context;
    return this.#reading("active", () => {
      const target = files.readLink(home.active);
      const thread = target && basename(target);
      return thread && this.#isListed(thread) ? thread : null;
    });
  }

  async list(query: ListQuery): Promise<Page<ThreadSummary>> {
    return this.#catalog.list(query).catch((error: unknown) => {
      throw asFault(error, reading("the threads"));
    });
  }
  async search(query: SearchQuery): Promise<Page<SearchHit>> {
    return this.#catalog.search(query).catch((error: unknown) => {
      throw asFault(error, reading("the threads"));
    });
  }

  async archive(thread: ThreadId): Promise<void> {
    await moveThread(this.#context, thread, "archive");
    this.#catalog.touched(thread);
  }
  async unarchive(thread: ThreadId): Promise<void> {
    await moveThread(this.#context, thread, "sessions");
    this.#catalog.touched(thread);
  }
  async remove(thread: ThreadId): Promise<void> {
    await removeThread(this.#context, thread);
    this.#catalog.gone(thread);
  }

  /** Makes metadata.json, state.json and diffs/ again from the log alone. */
  async rebuildDerived(thread: ThreadId): Promise<void> {
    try {
      const place = this.#find(thread);
      if (place) await rebuildDerived(place, this.#context);
    } catch (error) {
      throw asFault(error, reading(thread));
    }
    this.#catalog.touched(thread);
  }

  async close(): Promise<void> {
    const closing = await Promise.allSettled([...this.#logs].map((log) => log.close()));
    await this.#catalog.close();
    for (const result of closing) if (result.status === "rejected") throw result.reason;
  }

  #find(thread: ThreadId): Place | null {
    return locate(this.#context.home, thread, this.#context.files);
  }
  #isListed(thread: ThreadId): boolean {
    const place = this.#find(thread);
    return place !== null && !isHidden(place, this.#context.files);
  }
  #reading<T>(thread: ThreadId, read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw asFault(error, reading(thread));
    }
  }
  /** What is left over hinders nobody, so failing to sweep it does not either. */
  #sweepOnce(): Promise<void> {
    this.#swept ??= sweep(this.#context).catch(() => {});
    return this.#swept;
  }
}

/** Records as they are asked for. Written out because an async generator costs more than verifying a record does. */
class Records implements AsyncIterator<LogRecord, void, void> {
  readonly #thread: ThreadId;
  readonly #records: Reading | null;
  #stretch = 0;

  constructor(thread: ThreadId, records: Reading | null) {
    this.#thread = thread;
    this.#records = records;
  }

  next(): Promise<IteratorResult<LogRecord, void>> {
    if (this.#stretch < STRETCH) return this.#step();
    this.#stretch = 0;
    return turn().then(() => this.#step());
  }

  #step(): Promise<IteratorResult<LogRecord, void>> {
    try {
      const step = this.#records?.next();
      if (!step || step.done) return Promise.resolve({ done: true, value: undefined });
      this.#stretch += step.value.bytes;
      return Promise.resolve({ done: false, value: step.value.record });
    } catch (error) {
      return Promise.reject(asFault(error, reading(this.#thread)));
    }
  }

  return(): Promise<IteratorResult<LogRecord, void>> {
    this.#records?.return();
    return Promise.resolve({ done: true, value: undefined });
  }
}

function reading(thread: ThreadId): { doing: string; kept: string } {
  return { doing: `read ${thread}`, kept: "Nothing was changed; try again when the cause is gone." };
}
