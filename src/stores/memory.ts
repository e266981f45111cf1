/**
 * The store that keeps nothing: threads in memory, for `--ephemeral` and for tests. It keeps records as text, so that what is read
 * is never what somebody still holds, and it behaves like the file store wherever the port says something.
 */
import { createHash } from "node:crypto";
import { summaryOf } from "../core/derived.ts";
import { load, runReads } from "../core/load.ts";
import { StoreFault, type BlobStore, type Derived, type LiveItem, type LivePart, type LiveText, type Log, type Opened, type Range, type Store } from "../core/store.ts";
import { decode, encode } from "../protocol/codec.ts";
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../protocol/library.ts";
import type { BlobRef, Draft, LogRecord, Position, ThreadId } from "../protocol/record.ts";
import type { Owner } from "../protocol/rpc.ts";
import { listPage, searchPage, type Listed } from "./listing.ts";
import { stamped } from "./stamp.ts";

interface Thread {
  id: ThreadId;
  base: Position | null;
  first: number;
  /** The record with seq `first + index`, encoded. */
  texts: string[];
  bytes: number;
  blobs: Map<string, Uint8Array>;
  live: LivePart[];
  owner: Owner | null;
  archived: boolean;
  hidden: boolean;
  wakers: Set<() => void>;
}

export interface MemoryStoreOptions {
  host: string;
  pid: number;
  now: () => string;
}

const MOST_FOUND = 20;

export function openMemoryStore(options: MemoryStoreOptions): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #threads = new Map<ThreadId, Thread>();
  readonly #options: MemoryStoreOptions;
  #active: ThreadId | null = null;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
  }

  readonly blobs: BlobStore = {
    put: async (id, content) => {
      const thread = this.#must(id);
      const sha256 = createHash("sha256").update(content).digest("hex");
      thread.blobs.set(sha256, Uint8Array.from(content));
      return { sha256, bytes: content.byteLength };
    },
    get: async (id, ref: BlobRef) => {
      for (let at = this.#threads.get(id); at; at = at.base ? this.#threads.get(at.base.thread) : undefined) {
        const found = at.blobs.get(ref.sha256);
        if (found) return Uint8Array.from(found);
      }
      return null;
    },
  };

  async create(id: ThreadId, first: Draft): Promise<Log> {
    if (this.#threads.has(id)) throw fault("exists", `There is a thread ${id} already; it was not changed.`);
    const base = (first as { base?: Position | null }).base ?? null;
    if (base) {
      const parent = this.#must(base.thread);
      if (base.before > headOf(parent)) throw fault("bad_base", `Thread ${base.thread} has no record before ${base.before} yet. Nothing was changed.`);
    }
    const thread: Thread = {
      id,
      base,
      first: base?.before ?? 0,
      texts: [],
      bytes: 0,
      blobs: new Map(),
      live: [],
      owner: this.#owner(),
      archived: false,
      hidden: false,
      wakers: new Set(),
    };
    this.#threads.set(id, thread);
    this.#active = id;
    const log = new MemoryLog(thread, this.#options.now);
    log.append([{ ...first, id }]);
    return log;
  }

  async open(id: ThreadId): Promise<Opened> {
    const thread = this.#threads.get(id);
    if (!thread || thread.hidden) return { ok: false, why: "not_found", message: `There is no thread ${id}.` };
    if (thread.owner) return { ok: false, why: "busy", message: `Thread ${id} is open for writing in this process already. Nothing was changed.`, owner: thread.owner };
    thread.owner = this.#owner();
    if (!thread.archived) this.#active = id;
    return { ok: true, log: new MemoryLog(thread, this.#options.now), repairs: [], live: joined(thread.live) };
  }

  async header(id: ThreadId): Promise<LogRecord | null> {
    const thread = this.#threads.get(id);
    return thread ? recordAt(thread, thread.first) : null;
  }
  async head(id: ThreadId): Promise<number | null> {
    const thread = this.#threads.get(id);
    return thread ? headOf(thread) : null;
  }

  async *read(id: ThreadId, range: Range): AsyncGenerator<LogRecord, void, void> {
    const thread = this.#threads.get(id);
    if (thread) yield* recordsIn(thread, range);
  }

  async *follow(id: ThreadId, from: number, signal: AbortSignal): AsyncGenerator<LogRecord, void, void> {
    const thread = this.#must(id);
    let next = Math.max(from, thread.first);
    while (!signal.aborted && this.#threads.get(id) === thread) {
      while (next < headOf(thread)) {
        yield recordAt(thread, next++);
        if (signal.aborted) return;
      }
      await change(thread, signal);
    }
  }

  async find(prefix: string): Promise<ThreadId[]> {
    return [...this.#listed()].map(({ id }) => id).filter((id) => id.startsWith(prefix)).toSorted().slice(0, MOST_FOUND);
  }
  async active(): Promise<ThreadId | null> {
    const thread = this.#active === null ? undefined : this.#threads.get(this.#active);
    return thread && !thread.hidden ? thread.id : null;
  }

  async list(query: ListQuery): Promise<Page<ThreadSummary>> {
    const listed: Listed[] = [...this.#listed()].map((thread) => ({ summary: this.#summary(thread), archived: thread.archived }));
    return listPage(listed, query);
  }
  async search(query: SearchQuery): Promise<Page<SearchHit>> {
    return searchPage([...this.#listed()].map((thread) => ({ thread: thread.id, records: recordsIn(thread, {}) })), query);
  }

  async archive(id: ThreadId): Promise<void> {
    this.#mustBeFree(id).archived = true;
  }
  async unarchive(id: ThreadId): Promise<void> {
    this.#mustBeFree(id).archived = false;
  }

  async remove(id: ThreadId): Promise<void> {
    this.#drop(this.#mustBeFree(id));
  }

  #drop(thread: Thread): void {
    const children = [...this.#threads.values()].filter(({ base }) => base?.thread === thread.id);
    if (children.length > 0) {
      thread.hidden = true;
      thread.texts.length = Math.max(1, Math.min(thread.texts.length, Math.max(...children.map(({ base }) => base!.before)) - thread.first));
      return;
    }
    this.#threads.delete(thread.id);
    wake(thread);
    const parent = thread.base && this.#threads.get(thread.base.thread);
    if (parent?.hidden) this.#drop(parent);
  }

  async close(): Promise<void> {
    for (const thread of this.#threads.values()) thread.owner = null;
  }

  #summary(thread: Thread): ThreadSummary {
    const state = runReads(load({ thread: thread.id, before: headOf(thread) }), (need) => {
      const at = this.#threads.get(need.thread);
      if (!at) return [];
      return need.kind === "header" ? [recordAt(at, at.first)] : [...recordsIn(at, { before: need.before, order: "backward" })];
    });
    return summaryOf(state!);
  }

  *#listed(): Generator<Thread, void, void> {
    for (const thread of this.#threads.values()) if (!thread.hidden) yield thread;
  }
  #owner(): Owner {
    const { pid, host, now } = this.#options;
    return { pid, host, since: now(), socket: null };
  }
  #must(id: ThreadId): Thread {
    const thread = this.#threads.get(id);
    if (!thread) throw fault("not_found", `There is no thread ${id}.`);
    return thread;
  }
  #mustBeFree(id: ThreadId): Thread {
    const thread = this.#must(id);
    if (thread.hidden) throw fault("not_found", `There is no thread ${id}.`);
    if (thread.owner) throw fault("busy", `Thread ${id} is open for writing; close it first. Nothing was changed.`);
    return thread;
  }
}

class MemoryLog implements Log {
  readonly thread: ThreadId;
  readonly live: LiveText;
  readonly #thread: Thread;
  readonly #now: () => string;
  #closed = false;

  constructor(thread: Thread, now: () => string) {
    this.thread = thread.id;
    this.#thread = thread;
    this.#now = now;
    this.live = {
      add: (part) => thread.live.push({ ...part }),
      clear: () => {
        thread.live.length = 0;
      },
    };
  }

  get head(): number {
    return headOf(this.#thread);
  }
  get bytes(): number {
    return this.#thread.bytes;
  }

  append(drafts: readonly Draft[]): LogRecord[] {
    if (this.#closed) throw fault("closed", `Thread ${this.thread} is closed for writing; nothing was written.`);
    const at = this.#now();
    const records = drafts.map((draft, index) => stamped(draft, { seq: this.head + index, at }));
    const texts = records.map((record) => encode(record, record));
    for (const text of texts) {
      this.#thread.texts.push(text);
      this.#thread.bytes += Buffer.byteLength(text) + 1;
    }
    wake(this.#thread);
    return records;
  }

  durable(seq: number): Promise<void> {
    return seq < this.head ? Promise.resolve() : Promise.reject(new RangeError(`Record ${seq} was not written: the log ends before ${this.head}`));
  }
  async derive(_derived: Derived): Promise<void> {}
  async close(): Promise<void> {
    if (!this.#closed) this.#thread.owner = null;
    this.#closed = true;
  }
}

function headOf(thread: Thread): number {
  return thread.first + thread.texts.length;
}

function recordAt(thread: Thread, seq: number): LogRecord {
  const decoded = decode(thread.texts[seq - thread.first]!);
  if (!decoded.ok) throw new Error(`Record ${seq} of thread ${thread.id} cannot be read back: ${decoded.why}`);
  return decoded.record;
}

function* recordsIn(thread: Thread, { from = 0, before = Infinity, order }: Range): Generator<LogRecord, void, void> {
  const low = Math.max(from, thread.first);
  const high = Math.min(before, headOf(thread));
  if (order === "backward") for (let seq = high - 1; seq >= low; seq--) yield recordAt(thread, seq);
  else for (let seq = low; seq < high; seq++) yield recordAt(thread, seq);
}

function joined(parts: readonly LivePart[]): LiveItem[] {
  const items = new Map<string, LiveItem>();
  for (const { id, kind, delta } of parts) {
    const item = items.get(id);
    if (item) item.text += delta;
    else items.set(id, { id, kind, text: delta });
  }
  return [...items.values()];
}

function wake(thread: Thread): void {
  for (const waker of [...thread.wakers]) waker();
}

function change(thread: Thread, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      thread.wakers.delete(done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    thread.wakers.add(done);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

function fault(code: string, message: string): StoreFault {
  return new StoreFault(message, { code, poisoned: code === "closed" });
}
