/**
 * Reading the lines of a log file, forwards and backwards, in chunks, each line verified.
 *
 * Only complete lines count: bytes after the last newline are still being written, or were cut off, and are not seen here. A
 * bad line is given with its place and the reason; it condemns no other. A line longer than MAX_LINE is bad and is never held
 * in memory. Everything is synchronous: a chunk comes from the page cache in microseconds.
 */
import type { LogRecord, ThreadId } from "../../protocol/record.ts";
import { realFiles, type Files } from "./files.ts";
import { MAX_LINE, NEWLINE, openLine, recordsIn, sealOf, type Seal } from "./line.ts";

/** `offset` is the line's first byte, `bytes` its length with the newline. */
export type ScannedLine = GoodLine | BadLine;
export interface GoodLine {
  ok: true;
  record: LogRecord;
  offset: number;
  bytes: number;
}
export interface BadLine {
  ok: false;
  offset: number;
  bytes: number;
  why: string;
  /** How many records it may have held. */
  records: number;
}

/** What was read from log files in this process, so that a test can prove what an operation costs without a clock. */
export const readCounters = { calls: 0, bytes: 0 };

/** A log file that is open for reading. */
export interface LogFile {
  files: Files;
  fd: number;
  seal: Seal;
}

export interface ScanOptions {
  thread: ThreadId;
  /** The byte offset of a line's start. */
  from?: number;
  /** Lines without a checksum count: the header says `unverified`. */
  unverified?: boolean;
  files?: Files;
}

/** The complete lines of the log at `path` from a byte offset on, oldest first. */
export function* scanForward(path: string, options: ScanOptions): Generator<ScannedLine, void, void> {
  const files = options.files ?? realFiles;
  const fd = files.open(path, "read");
  try {
    yield* linesForward({ files, fd, seal: sealOf(options.thread, options.unverified) }, { from: options.from ?? 0 });
  } finally {
    files.close(fd);
  }
}

const FIRST_CHUNK = 64 * 1024;
const CHUNK = 256 * 1024;
const LONG_CHUNK = 4 * 1024 * 1024;

/** Lines from `from`, a line's start, to `to`, where a line ends; to the end that the log has now when that is left out. */
export function* linesForward(log: LogFile, { from, to = Infinity, chunk = FIRST_CHUNK }: { from: number; to?: number; chunk?: number }): Generator<ScannedLine, void, void> {
  const limit = Math.min(to, log.files.fstat(log.fd).size);
  let buffer: Buffer = Buffer.allocUnsafe(Math.max(0, Math.min(chunk, limit - from)));
  /** Where in the file the buffer begins, how much of a line is at its beginning, and how much of a line too long was let go. */
  let base = from;
  let held = 0;
  let dropped = 0;
  while (base + held < limit) {
    const got = readInto(log, buffer, { offset: held, length: Math.min(buffer.length - held, limit - base - held), position: base + held });
    if (got === 0) return;
    const filled = buffer.subarray(0, held + got);
    let start = 0;
    for (let end = filled.indexOf(NEWLINE, held); end >= 0; end = filled.indexOf(NEWLINE, start)) {
      const offset = base + start;
      if (dropped > 0) yield tooLong(offset - dropped, dropped + end - start + 1);
      else yield judge(filled.subarray(start, end), offset, log.seal);
      dropped = 0;
      start = end + 1;
    }
    held = filled.length - start;
    if (held > MAX_LINE || dropped > 0) {
      dropped += held;
      base += filled.length;
      held = 0;
      continue;
    }
    base += start;
    buffer = moved(buffer, { start, held, room: Math.min(held < CHUNK / 2 ? CHUNK : held * 2, limit - base) });
  }
}

/** The held bytes at the beginning of a buffer of at least `room` bytes: the same one if it is large enough and not too large. */
function moved(buffer: Buffer, { start, held, room }: { start: number; held: number; room: number }): Buffer {
  if (buffer.length >= room && buffer.length <= LONG_CHUNK) {
    buffer.copyWithin(0, start, start + held);
    return buffer;
  }
  const next = Buffer.allocUnsafe(room);
  buffer.copy(next, 0, start, start + held);
  return next;
}

export interface Backwards {
  /** Where a line ends; the end of the log when it is left out. */
  to?: number;
  chunk?: number;
  /** Asked when the next line turns out to be longer than a chunk, with what was read of it: true ends the scan. */
  enough?: (bytes: number) => boolean;
}

/** Lines that end at or before `to`, newest first. */
export function* linesBackward(log: LogFile, { to, chunk = FIRST_CHUNK, enough }: Backwards = {}): Generator<ScannedLine, void, void> {
  let base = to ?? log.files.fstat(log.fd).size;
  let buffer = Buffer.allocUnsafe(Math.min(chunk, base));
  /** The newline that ends the line being collected; null until one is found: what follows it is no complete line. */
  let lineEnd: number | null = null;
  const tail = new Tail();
  while (base > 0) {
    const length = Math.min(buffer.length, base);
    base -= length;
    readFully(log, buffer.subarray(0, length), base);
    let cut = length;
    while (cut > 0) {
      const newline = buffer.lastIndexOf(NEWLINE, cut - 1);
      if (newline < 0) break;
      if (lineEnd !== null) yield tail.line(buffer.subarray(newline + 1, cut), { offset: base + newline + 1, end: lineEnd, seal: log.seal });
      lineEnd = base + newline;
      cut = newline;
    }
    if (lineEnd !== null) tail.push(buffer.subarray(0, cut));
    if (base > 0 && cut === length && enough?.(tail.bytes)) return;
    const next = tail.bytes > CHUNK ? LONG_CHUNK : CHUNK;
    if (buffer.length !== next) buffer = Buffer.allocUnsafe(Math.min(next, Math.max(base, 1)));
  }
  if (lineEnd !== null) yield tail.line(Buffer.alloc(0), { offset: 0, end: lineEnd, seal: log.seal });
}

/** The end of a line whose beginning was not read yet, newest part first. */
class Tail {
  #parts: Buffer[] = [];
  bytes = 0;

  push(part: Buffer): void {
    if (part.length === 0) return;
    this.bytes += part.length;
    if (this.bytes > MAX_LINE) this.#parts = [];
    else this.#parts.push(Buffer.from(part));
  }

  /** The line that begins with `first`; the tail is empty afterwards. */
  line(first: Buffer, { offset, end, seal }: { offset: number; end: number; seal: Seal }): ScannedLine {
    const bytes = this.bytes;
    const parts = this.#parts;
    this.#parts = [];
    this.bytes = 0;
    if (bytes + first.length > MAX_LINE) return tooLong(offset, end - offset + 1);
    return judge(parts.length === 0 ? first : Buffer.concat([first, ...parts.reverse()]), offset, seal);
  }
}

function judge(line: Buffer, offset: number, seal: Seal): ScannedLine {
  if (line.length > MAX_LINE) return tooLong(offset, line.length + 1);
  const opened = openLine(line, seal);
  const bytes = line.length + 1;
  return opened.ok ? { ok: true, record: opened.record, offset, bytes } : { ok: false, offset, bytes, why: opened.why, records: recordsIn(line) };
}

function tooLong(offset: number, bytes: number): BadLine {
  return { ok: false, offset, bytes, why: "longer than any record", records: 1 };
}

function readInto(log: LogFile, into: Buffer, range: { offset: number; length: number; position: number }): number {
  const got = log.files.read(log.fd, into, range);
  readCounters.calls += 1;
  readCounters.bytes += got;
  return got;
}

/** Where less is there than was, the log was cut meanwhile: zeros make a bad line of what is gone. */
export function readFully(log: LogFile, into: Buffer, position: number): void {
  let offset = 0;
  while (offset < into.length) {
    const got = readInto(log, into, { offset, length: into.length - offset, position: position + offset });
    if (got === 0) {
      into.fill(0, offset);
      return;
    }
    offset += got;
  }
}
