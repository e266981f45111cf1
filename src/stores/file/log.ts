/**
 * FileLog: the one writer of a log file. The lock is held by whoever made it; see open.ts.
 *
 * - A batch is one write at the end of the file. When it returned, the records are in the page cache and survive the process.
 * - Before each batch the file must be as long as this writer left it and must still have its name; otherwise somebody else
 *   writes or replaced it, and this log accepts nothing more.
 * - A write that failed or was short is cut off again before anything else; then the log goes on being usable. If it cannot be
 *   cut off, the log is poisoned, and recovery does it on the next opening.
 * - One sync is in flight at a time. Who waits for what was written before it began shares it, who waits for more shares the
 *   next one. After a sync that failed it is unknown what is on the medium, so the log is poisoned; it is never tried again on
 *   the same descriptor.
 */
import { encode } from "../../protocol/codec.ts";
import type { Draft, LogRecord, ThreadId } from "../../protocol/record.ts";
import { StoreFault, type Derived, type Log } from "../../core/store.ts";
import { stamped } from "../stamp.ts";
import { asFault } from "./fault.ts";
import type { Files } from "./files.ts";
import { MAX_LINE, sealLine, type Seal } from "./line.ts";
import type { LiveFile } from "./live.ts";

/** What one write call of the kernel takes for certain. */
const MAX_BATCH = 1024 * 1024 * 1024;

export interface LogParts {
  thread: ThreadId;
  files: Files;
  fd: number;
  seal: Seal;
  head: number;
  length: number;
  now: () => string;
  live: LiveFile;
  derive: (derived: Derived) => Promise<void>;
  /** The medium refused a sync: bytes from `from` on may not be on it, whatever reading says. */
  onSyncFailed: (from: number) => void;
  /** Frees the lock. */
  onClose: () => void;
}

interface Waiter {
  resolve: () => void;
  reject: (fault: StoreFault) => void;
}

export class FileLog implements Log {
  readonly thread: ThreadId;
  readonly live: LiveFile;
  readonly #parts: LogParts;
  #head: number;
  #length: number;
  /** Records before this seq, and the bytes of the file before this offset, are on the medium. */
  #synced: { head: number; length: number };
  /** Covers the records before `head`. */
  #syncing: { head: number; waiters: Waiter[]; ended: Promise<void> } | null = null;
  #waiting: Waiter[] = [];
  #fault: StoreFault | null = null;
  #closed: Promise<void> | null = null;

  /** What is in the file is on the medium already. */
  constructor(parts: LogParts) {
    this.thread = parts.thread;
    this.live = parts.live;
    this.#parts = parts;
    this.#head = parts.head;
    this.#length = parts.length;
    this.#synced = { head: parts.head, length: parts.length };
  }

  get head(): number {
    return this.#head;
  }
  get bytes(): number {
    return this.#length;
  }

  append(drafts: readonly Draft[]): LogRecord[] {
    this.#mustBeUsable();
    const { records, bytes } = this.#sealed(drafts);
    if (records.length === 0) return records;
    this.#mustBeAlone();
    this.#write(bytes);
    this.#head += records.length;
    this.#length += bytes.length;
    return records;
  }

  durable(seq: number): Promise<void> {
    if (seq < this.#synced.head) return Promise.resolve();
    if (this.#fault) return Promise.reject(this.#fault);
    if (this.#closed) return Promise.reject(closedFault(this.thread));
    if (seq >= this.#head) return Promise.reject(new RangeError(`Record ${seq} was not written: the log ends before ${this.#head}`));
    return new Promise((resolve, reject) => {
      const covered = this.#syncing && seq < this.#syncing.head;
      (covered ? this.#syncing!.waiters : this.#waiting).push({ resolve, reject });
      this.#startSync();
    });
  }

  derive(derived: Derived): Promise<void> {
    return this.#parts.derive(derived);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #mustBeUsable(): void {
    if (this.#fault) throw this.#fault;
    if (this.#closed) throw closedFault(this.thread);
  }

  #sealed(drafts: readonly Draft[]): { records: LogRecord[]; bytes: Buffer } {
    const at = this.#parts.now();
    const records: LogRecord[] = [];
    const lines: Buffer[] = [];
    let total = 0;
    for (const draft of drafts) {
      const record = stamped(draft, { seq: this.#head + records.length, at });
      const line = sealed(record, this.#parts.seal);
      total += line.length;
      if (total > MAX_BATCH) throw tooLarge(`${drafts.length} records together`, total);
      records.push(record);
      lines.push(line);
    }
    return { records, bytes: lines.length === 1 ? lines[0]! : Buffer.concat(lines, total) };
  }

  #mustBeAlone(): void {
    let stat;
    try {
      stat = this.#parts.files.fstat(this.#parts.fd);
    } catch (error) {
      throw asFault(error, { doing: "write to the log", kept: NOTHING_WRITTEN });
    }
    if (stat.size === this.#length && stat.nlink > 0) return;
    const what = stat.nlink === 0 ? "its file was replaced or removed" : `its file is ${stat.size} bytes long instead of ${this.#length}`;
    throw this.#poison(
      new StoreFault(
        `Something else has written to the log of thread ${this.thread}: ${what}. This process writes nothing more to it, so that neither overwrites the other. ` +
          "Everything acknowledged so far is in the file; open the thread again to go on from there.",
        { code: "foreign_writer", poisoned: true },
      ),
    );
  }

  #write(bytes: Buffer): void {
    const { files, fd } = this.#parts;
    let cause: unknown;
    try {
      const wrote = files.write(fd, bytes, null);
      if (wrote === bytes.length) return;
      cause = Object.assign(new Error(`only ${wrote} of ${bytes.length} bytes were written`), { code: "short_write" });
    } catch (error) {
      cause = error;
    }
    try {
      files.truncate(fd, this.#length);
      if (files.fstat(fd).size !== this.#length) throw new Error("the file kept its length");
    } catch {
      const kept = "A part of it may be in the file and could not be cut off; it will be when the thread is opened again. Everything acknowledged before is kept.";
      throw this.#poison(asFault(cause, { doing: "write to the log", kept, poisoned: true }));
    }
    throw asFault(cause, { doing: "write to the log", kept: NOTHING_WRITTEN });
  }

  #startSync(): void {
    if (this.#syncing || this.#waiting.length === 0) return;
    const waiters = this.#waiting;
    this.#waiting = [];
    this.#syncing = { head: this.#head, waiters, ended: this.#syncFor(waiters) };
  }

  async #syncFor(waiters: readonly Waiter[]): Promise<void> {
    try {
      await this.#sync();
    } catch (fault) {
      this.#syncing = null;
      this.#waiting.unshift(...waiters);
      this.#poison(fault as StoreFault);
      return;
    }
    this.#syncing = null;
    for (const waiter of waiters) waiter.resolve();
    this.#startSync();
  }

  async #sync(): Promise<void> {
    const target = { head: this.#head, length: this.#length };
    try {
      await this.#parts.files.sync(this.#parts.fd);
    } catch (error) {
      this.#parts.onSyncFailed(this.#synced.length);
      const kept = "It is unknown what of the last records is on the disk; what was reported as durable before is. Open the thread again to verify and go on.";
      throw asFault(error, { doing: "bring the log to the disk", kept, poisoned: true });
    }
    this.#synced = target;
  }

  #poison(fault: StoreFault): StoreFault {
    this.#fault ??= fault;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const waiter of waiting) waiter.reject(this.#fault);
    return this.#fault;
  }

  async #close(): Promise<void> {
    try {
      while (this.#syncing) await this.#syncing.ended;
      if (!this.#fault && this.#synced.head < this.#head) await this.#sync();
    } finally {
      this.live.close();
      this.#parts.files.close(this.#parts.fd);
      this.#parts.onClose();
    }
  }
}

const NOTHING_WRITTEN = "Nothing of it was written, and everything acknowledged before is kept; it can be tried again.";

function sealed(record: LogRecord, seal: Seal): Buffer {
  let text: string;
  try {
    text = encode(record, record);
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(`A record of type ${record.type}`, null);
    throw error;
  }
  const bytes = text.length > MAX_LINE ? text.length : Buffer.byteLength(text);
  if (bytes > MAX_LINE - 32) throw tooLarge(`A record of type ${record.type}`, bytes);
  return sealLine(text, seal);
}

function tooLarge(what: string, bytes: number | null): StoreFault {
  const size = bytes === null ? "" : ` of ${(bytes / 1024 / 1024).toFixed(0)} MiB`;
  return new StoreFault(`${what}${size}: more than a log takes at once (${MAX_LINE / 1024 / 1024} MiB a record). Nothing was written; keep long contents in a blob.`, {
    code: "too_large",
    poisoned: false,
  });
}

function closedFault(thread: ThreadId): StoreFault {
  return new StoreFault(`Thread ${thread} is closed for writing; nothing was written. Open it again to go on.`, { code: "closed", poisoned: true });
}
