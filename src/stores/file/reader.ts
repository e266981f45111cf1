/**
 * Reading a thread's own log: records in order, verified, with the header rebuilt where it is damaged. It changes nothing on
 * disk and needs no lock; a writer may be at work.
 */
import type { LogRecord, ThreadId } from "../../protocol/record.ts";
import type { Range } from "../../core/store.ts";
import { errorCode, type Files } from "./files.ts";
import { readFirst, rebuildHeader, type Header, type Place } from "./header.ts";
import { filesIn, isThreadId, threadFolder, type Home } from "./layout.ts";
import { inOrder, inOrderBackward } from "./order.ts";
import { linesBackward, linesForward, type GoodLine, type LogFile } from "./scan.ts";
import { endOf, offsetOf } from "./seek.ts";

/** Null when there is no such thread. */
export function locate(home: Home, thread: ThreadId, files: Files): Place | null {
  if (!isThreadId(thread)) return null;
  for (const parent of [home.sessions, home.archive]) {
    const folder = threadFolder(parent, thread);
    if (files.isFolder(folder)) return { thread, home, files: filesIn(folder), archived: parent === home.archive };
  }
  return null;
}

export function isHidden(place: Place, files: Files): boolean {
  return files.stat(place.files.hidden) !== null;
}

export interface OpenLog {
  /** Null where there is no file. */
  log: LogFile | null;
  header: Header;
}

/** Opens the log for reading; whoever asks closes it. */
export function openLog(place: Place, files: Files): OpenLog {
  let fd: number;
  try {
    fd = files.open(place.files.log, "read");
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return { log: null, header: asHeader(rebuildHeader(place, null, files)) };
  }
  try {
    return withHeader({ files, fd }, place);
  } catch (error) {
    files.close(fd);
    throw error;
  }
}

/** The log of an open descriptor, and its header. */
export function withHeader({ files, fd }: { files: Files; fd: number }, place: Place): { log: LogFile; header: Header } {
  const { seal, record } = readFirst({ files, fd }, place.thread);
  const log: LogFile = { files, fd, seal };
  return { log, header: record ? { record, rebuiltFrom: null } : asHeader(rebuildHeader(place, log, files)) };
}

function asHeader({ record, from }: { record: LogRecord; from: string }): Header {
  return { record, rebuiltFrom: from };
}

function using<T>(place: Place, files: Files, use: (open: OpenLog) => T): T {
  const open = openLog(place, files);
  try {
    return use(open);
  } finally {
    if (open.log) files.close(open.log.fd);
  }
}

export function headerOf(place: Place, files: Files): LogRecord {
  return using(place, files, ({ header }) => header.record);
}

/** The seq that the next record gets. */
export function headOf(place: Place, files: Files): number {
  return using(place, files, ({ log, header }) => nextSeq(log && endOf(log), header));
}

export function nextSeq(end: { head: number | null; lost: number } | null, header: Header): number {
  return end?.head ?? header.record.seq + Math.max(1, end?.lost ?? 0);
}

/** A record and how long its line is; 0 for a header that is not in the file. */
export interface Read {
  record: LogRecord;
  bytes: number;
}

/** The records of a range. */
export function readThread(place: Place, range: Range, files: Files): Reading {
  const open = openLog(place, files);
  return new Reading(range.order === "backward" ? backward(open, range) : forward(open, range), () => {
    if (open.log) files.close(open.log.fd);
  });
}

/** Closes the log when the end is reached, when an error comes, or when whoever reads stops. */
export class Reading implements IterableIterator<Read, void, void> {
  readonly #records: Iterator<Read, void, void>;
  #close: (() => void) | null;

  constructor(records: Iterator<Read, void, void>, close: () => void) {
    this.#records = records;
    this.#close = close;
  }

  next(): IteratorResult<Read, void> {
    if (!this.#close) return { done: true, value: undefined };
    try {
      const step = this.#records.next();
      if (step.done) this.return();
      return step;
    } catch (error) {
      this.return();
      throw error;
    }
  }

  return(): IteratorResult<Read, void> {
    const close = this.#close;
    this.#close = null;
    close?.();
    return { done: true, value: undefined };
  }

  [Symbol.iterator](): this {
    return this;
  }
}

function* forward({ log, header }: OpenLog, { from = 0, before = Infinity, onDamage }: Range): Generator<Read, void, void> {
  const first = header.record.seq;
  if (first >= before) return;
  const fromStart = from <= first;
  const added = header.rebuiltFrom !== null && (!log || !holds(log, first));
  if (fromStart && added) yield { record: header.record, bytes: 0 };
  if (!log) return;
  const lines = linesForward(log, { from: fromStart ? 0 : offsetOf(log, from) });
  const after = fromStart ? first - (added ? 0 : 1) : from - 1;
  for (const line of inOrder(lines, { after, onDamage })) {
    if (line.record.seq >= before) return;
    yield isHeader(header, line) ? { record: header.record, bytes: line.bytes } : line;
  }
}

function isHeader(header: Header, line: GoodLine): boolean {
  return line.offset === 0 && header.rebuiltFrom === null && line.record.seq === header.record.seq;
}

/** The first good line has the seq of the rebuilt header, though it is none: it stands in its place. */
function holds(log: LogFile, seq: number): boolean {
  for (const line of linesForward(log, { from: 0 })) if (line.ok) return line.record.seq === seq;
  return false;
}

function* backward({ log, header }: OpenLog, { from = 0, before = Infinity, onDamage }: Range): Generator<Read, void, void> {
  const first = header.record.seq;
  if (first >= before) return;
  let reached = false;
  const to = log && Number.isFinite(before) ? offsetOf(log, before) : undefined;
  const lines = log ? linesBackward(log, to === undefined ? {} : { to }) : [];
  for (const line of inOrderBackward(lines, { before, onDamage })) {
    const { seq } = line.record;
    if (seq < from) return;
    if (seq < first) break;
    reached = seq === first;
    yield isHeader(header, line) ? { record: header.record, bytes: line.bytes } : line;
  }
  if (!reached && first >= from) yield { record: header.record, bytes: 0 };
}
