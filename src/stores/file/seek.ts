/**
 * Where in a log file a record is.
 *
 * seq grows along the file, so its place is found by halving: a probe reads the first good line after a byte. Bad and very long
 * lines only make a probe read further; together the probes read at most the file once. Lines that do not belong where they are
 * (see order.ts) can mislead a probe; therefore the line before the place found must fit, and where it does not, the log is
 * read from its start.
 */
import { inOrder, WINDOW, WINDOW_BYTES } from "./order.ts";
import { linesBackward, linesForward, readFully, type GoodLine, type LogFile } from "./scan.ts";
import { NEWLINE } from "./line.ts";

const PROBE = 16 * 1024;
const LONGEST_PROBE = 4 * 1024 * 1024;

/** The end of a log: the seq that the next record gets, and where its line will start. */
export interface End {
  /** The highest seq plus one, plus the records that bad lines after it may have held: a seq that may exist is never given again. Null where no line is good. */
  head: number | null;
  /** Just after the last newline. */
  offset: number;
  /** Records that bad lines after the last good one may have held. */
  lost: number;
  /** The bad lines after the last good one, newest first. */
  bad: { offset: number; bytes: number; why: string }[];
}

export function endOf(log: LogFile): End {
  const end: End = { head: null, offset: 0, lost: 0, bad: [] };
  let first = true;
  let highest = -1;
  let lostAfter = 0;
  let seen = 0;
  let bytes = 0;
  for (const line of linesBackward(log, { enough: (pending) => seen > 0 && bytes + pending >= WINDOW_BYTES })) {
    if (first) end.offset = line.offset + line.bytes;
    first = false;
    if (!line.ok) {
      lostAfter += line.records;
      if (seen === 0) {
        end.lost += line.records;
        end.bad.push({ offset: line.offset, bytes: line.bytes, why: line.why });
      }
      continue;
    }
    if (line.record.seq > highest) {
      highest = line.record.seq;
      end.head = highest + 1 + lostAfter;
    }
    seen += 1;
    bytes += line.bytes;
    if (seen >= WINDOW || bytes >= WINDOW_BYTES) break;
  }
  return end;
}

/** Where the first record with `seq` or a later one starts; the end of the last complete line where there is none. */
export function offsetOf(log: LogFile, seq: number): number {
  const end = endOf(log);
  if (end.head === null || seq >= end.head) return end.offset;
  const found = halve(log, seq, end.offset);
  return found === null ? end.offset : fits(log, seq, found) ? found.offset : fromStart(log, seq, end.offset);
}

function halve(log: LogFile, seq: number, end: number): GoodLine | null {
  let low = 0;
  let high = end;
  let best: GoodLine | null = null;
  while (high - low > PROBE) {
    const middle = low + Math.floor((high - low) / 2);
    const line = firstGood(log, lineStart(log, middle, high), high);
    if (line && line.record.seq < seq) low = line.offset + line.bytes;
    else {
      best = line ?? best;
      high = middle + 1;
    }
  }
  for (const line of linesForward(log, { from: low, chunk: 2 * PROBE })) {
    if (line.offset >= high) break;
    if (line.ok && line.record.seq >= seq) return line;
  }
  return best;
}

/** The start of the first line that starts after `position`; `limit` where none starts before it. */
function lineStart(log: LogFile, position: number, limit: number): number {
  let buffer = Buffer.allocUnsafe(PROBE);
  for (let at = position; at < limit; ) {
    const part = buffer.subarray(0, Math.min(buffer.length, limit - at));
    readFully(log, part, at);
    const newline = part.indexOf(NEWLINE);
    if (newline >= 0) return at + newline + 1;
    at += part.length;
    if (buffer.length < LONGEST_PROBE) buffer = Buffer.allocUnsafe(buffer.length * 4);
  }
  return limit;
}

function firstGood(log: LogFile, from: number, limit: number): GoodLine | null {
  if (from >= limit) return null;
  for (const line of linesForward(log, { from, chunk: PROBE })) {
    if (line.offset >= limit) return null;
    if (line.ok) return line;
  }
  return null;
}

function fits(log: LogFile, seq: number, found: GoodLine): boolean {
  if (found.offset === 0) return true;
  let lost = 0;
  for (const line of linesBackward(log, { to: found.offset, chunk: PROBE })) {
    if (line.ok) return line.record.seq < seq && found.record.seq <= line.record.seq + 1 + lost;
    lost += line.records;
  }
  return true;
}

function fromStart(log: LogFile, seq: number, end: number): number {
  for (const line of inOrder(linesForward(log, { from: 0 }), { after: null, onDamage: undefined })) if (line.record.seq >= seq) return line.offset;
  return end;
}
