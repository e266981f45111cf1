/**
 * Following a log that another process, or this one, is writing: complete valid lines only, as they appear. It never repairs and
 * holds no lock.
 *
 * The kernel's notice of a change wakes it; a slow poll makes up for notices that do not come (some file systems, no watches
 * left). A file that was replaced (a scrub, a cut) is opened anew and gone on with by seq. When the log became shorter than what was
 * given already, a batch that failed was taken back: that cannot be un-given, so it is a fault, and whoever follows starts again.
 */
import { watch, type FSWatcher } from "node:fs";
import type { LogRecord } from "../../protocol/record.ts";
import { StoreFault } from "../../core/store.ts";
import type { Files } from "./files.ts";
import type { Place } from "./header.ts";
import { inOrder } from "./order.ts";
import { openLog } from "./reader.ts";
import { linesForward } from "./scan.ts";
import { offsetOf } from "./seek.ts";

const POLL_MS = 75;

interface Following {
  find: () => Place | null;
  from: number;
  signal: AbortSignal;
  files: Files;
}

export async function* follow({ find, from, signal, files }: Following): AsyncGenerator<LogRecord, void, void> {
  const cursor: Cursor = { next: from, identity: null, offset: 0 };
  const changes = new Changes(signal);
  try {
    while (!signal.aborted) {
      const place = find();
      if (!place) return;
      changes.watch(place.files.log);
      for (const record of newRecords(place, cursor, files)) {
        yield record;
        if (signal.aborted) return;
      }
      await changes.next();
    }
  } finally {
    changes.stop();
  }
}

interface Cursor {
  /** The lowest seq that was not given yet. */
  next: number;
  identity: string | null;
  /** Where the lines that were not read yet begin. */
  offset: number;
}

function* newRecords(place: Place, cursor: Cursor, files: Files): Generator<LogRecord, void, void> {
  const { log, header } = openLog(place, files);
  if (!log) return;
  try {
    const { identity, size } = files.fstat(log.fd);
    if (cursor.identity !== identity) {
      if (header.rebuiltFrom !== null && cursor.next <= header.record.seq) {
        yield header.record;
        cursor.next = header.record.seq + 1;
      }
      cursor.offset = cursor.next <= header.record.seq ? 0 : offsetOf(log, cursor.next);
      cursor.identity = identity;
    } else if (size < cursor.offset) throw takenBack(place.thread);
    for (const { record, offset, bytes } of inOrder(linesForward(log, { from: cursor.offset }), { after: cursor.next - 1, onDamage: undefined })) {
      yield record;
      cursor.next = record.seq + 1;
      cursor.offset = offset + bytes;
    }
  } finally {
    files.close(log.fd);
  }
}

function takenBack(thread: string): StoreFault {
  return new StoreFault(`The last records of thread ${thread} were taken back by its writer after a failed write. Nothing acknowledged is lost; follow it again from the last record that it still has.`, {
    code: "taken_back",
    poisoned: false,
  });
}

/** One wait at a time: ended by a change of the file, by the poll, or by the signal. */
class Changes {
  readonly #signal: AbortSignal;
  #watched: string | null = null;
  #watcher: FSWatcher | null = null;
  #changed = false;
  #wake: () => void = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  watch(path: string): void {
    this.#changed = false;
    if (this.#watched === path) return;
    this.stop();
    this.#watched = path;
    try {
      this.#watcher = watch(path, { persistent: false }, (kind) => {
        if (kind === "rename") this.#watched = null;
        this.#changed = true;
        this.#wake();
      });
      this.#watcher.on("error", () => this.stop());
    } catch {
      this.stop();
    }
  }

  next(): Promise<void> {
    if (this.#changed || this.#signal.aborted) return new Promise((resolve) => setImmediate(resolve));
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#signal.removeEventListener("abort", done);
        this.#wake = () => {};
        resolve();
      };
      const timer = setTimeout(done, POLL_MS);
      this.#signal.addEventListener("abort", done);
      this.#wake = done;
    });
  }

  stop(): void {
    this.#watcher?.close();
    this.#watcher = null;
    this.#watched = null;
  }
}
