/**
 * Output: what a command wrote. Memory is bounded: the first and the last bytes are kept, the middle of a flood is counted and
 * dropped. From what is kept come the full text (for the blob) and a shorter one for the model, both cut between lines, or between
 * characters as people count them where a line alone is too long. What is said to be left out is counted from all that was written.
 */
import { isUtf8 } from "node:buffer";
import type { BlobRef } from "../protocol/record.ts";

const KEPT_BYTES = 10_000_000;

export interface Collected {
  bytes: number;
  /** Line ends. */
  lines: number;
  /** Everything, or head and tail around a note when it was too much to keep. */
  text: string;
  /** Of what was too much: how many bytes of its head, and of its tail, are in the text. Null: all of it is. */
  kept: number | null;
  /** Some bytes were not UTF-8: they are U+FFFD in the text. */
  hasForeignBytes: boolean;
}

export interface Collector {
  add(chunk: Buffer): void;
  collected(): Collected;
}

export function createCollector(keptBytes: number = KEPT_BYTES): Collector {
  const half = Math.floor(keptBytes / 2);
  let head = Buffer.allocUnsafe(0);
  let headLength = 0;
  let tail: Buffer | null = null;
  let afterHead = 0;
  let lines = 0;

  function addToHead(chunk: Buffer): void {
    const needed = headLength + chunk.length;
    if (needed > head.length) {
      const larger = Buffer.allocUnsafe(Math.min(half, Math.max(needed, head.length * 2, 4096)));
      head.copy(larger, 0, 0, headLength);
      head = larger;
    }
    chunk.copy(head, headLength);
    headLength = needed;
  }

  /** The tail is a ring: byte n after the head is at n modulo its size. */
  function addToTail(chunk: Buffer): void {
    tail ??= Buffer.allocUnsafe(half);
    const last = chunk.subarray(Math.max(0, chunk.length - half));
    afterHead += chunk.length - last.length;
    const at = afterHead % half;
    const fits = Math.min(last.length, half - at);
    last.copy(tail, at, 0, fits);
    last.copy(tail, 0, fits);
    afterHead += last.length;
  }

  function tailBytes(): Buffer {
    if (!tail) return Buffer.alloc(0);
    if (afterHead <= half) return tail.subarray(0, afterHead);
    const at = afterHead % half;
    return Buffer.concat([tail.subarray(at), tail.subarray(0, at)]);
  }

  return {
    add(chunk) {
      for (const byte of chunk) if (byte === 10) lines += 1;
      const room = half - headLength;
      if (room > 0) addToHead(chunk.subarray(0, room));
      if (chunk.length > room) addToTail(room > 0 ? chunk.subarray(room) : chunk);
    },
    collected() {
      const first = head.subarray(0, headLength);
      const last = tailBytes();
      const dropped = afterHead - last.length;
      if (dropped === 0) {
        const all = Buffer.concat([first, last]);
        return { bytes: all.length, lines, text: all.toString("utf8"), kept: null, hasForeignBytes: !isUtf8(all) };
      }
      const start = upToLine(first);
      const end = fromLine(last);
      const shownLines = countLines(start) + countLines(end);
      const bytes = headLength + afterHead;
      const note = leftOut({ lines: lines - shownLines, bytes: bytes - start.length - end.length, became: "were too much to keep" });
      return { bytes, lines, text: around(start, note, end), kept: half, hasForeignBytes: !isUtf8(start) || !isUtf8(end) };
    },
  };
}

export interface Looks {
  add(chunk: Buffer): void;
  /** What came since the last look; half a character at its end waits for the next one, if there is one. */
  look(given: { last: boolean }): Collected;
}

export function createLooks(keptBytes: number): Looks {
  let collector = createCollector(keptBytes);
  let half: Buffer = Buffer.alloc(0);
  return {
    add(chunk) {
      const bytes = half.length > 0 ? Buffer.concat([half, chunk]) : chunk;
      const whole = lastBoundary(bytes);
      half = Buffer.from(bytes.subarray(whole));
      collector.add(bytes.subarray(0, whole));
    },
    look({ last }) {
      if (last) collector.add(half);
      if (last) half = Buffer.alloc(0);
      const collected = collector.collected();
      collector = createCollector(keptBytes);
      return collected;
    },
  };
}

/** A text in at most about `limit` bytes of UTF-8, head and tail kept, with a note of what became of the rest; null when it fits. */
export function shorten(given: string | Collected, limit: number): ((became: string) => string) | null {
  const text = typeof given === "string" ? given : given.text;
  if (text.length * 3 <= limit) return null;
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return null;
  const half = Math.floor(limit / 2);
  const start = upToLine(bytes.subarray(0, half));
  const end = fromLine(bytes.subarray(bytes.length - half));
  const all = typeof given === "string" || given.kept === null ? { bytes: bytes.length, lines: countLines(bytes) } : given;
  const lines = all.lines - countLines(start) - countLines(end);
  return (became) => around(start, leftOut({ lines, bytes: all.bytes - start.length - end.length, became }), end);
}

/** What became of what was left out: where the model can read it. */
export function keptAs(full: BlobRef | undefined, kept: Collected["kept"] = null): string {
  if (!full) return "left out and not kept";
  return `left out; read_file "blob:${full.sha256}" has ${kept === null ? "it all" : `the first and the last ${kept / 1_000_000} MB`}`;
}

/** A middle that is less than one line has no count of lines. */
function leftOut({ lines, bytes, became }: { lines: number; bytes: number; became: string }): string {
  const what = lines > 0 ? `${lines} ${lines === 1 ? "line" : "lines"} (${bytes} bytes)` : `${bytes} bytes`;
  return `[… ${what} ${became} …]`;
}

/** The note has a line of its own. */
function around(start: Buffer, note: string, end: Buffer): string {
  return `${start.toString("utf8")}${start.at(-1) === 10 ? "" : "\n"}${note}\n${end.toString("utf8")}`;
}

/** The bytes up to and with the last line that is whole. */
function upToLine(bytes: Buffer): Buffer {
  const line = bytes.lastIndexOf(10);
  if (line >= bytes.length / 2) return bytes.subarray(0, line + 1);
  const whole = bytes.subarray(0, lastBoundary(bytes));
  const text = whole.subarray(startOfCharacter(whole, Math.max(0, whole.length - WINDOW))).toString("utf8");
  const kept = graphemeStarts(text).at(-1) ?? 0;
  return whole.subarray(0, whole.length - Buffer.byteLength(text.slice(kept)));
}

/** The bytes from the first line that is whole. */
function fromLine(bytes: Buffer): Buffer {
  const line = bytes.indexOf(10);
  if (line >= 0 && line < bytes.length / 2) return bytes.subarray(line + 1);
  const whole = bytes.subarray(nextCharacter(bytes, 0));
  const text = whole.subarray(0, lastBoundary(whole.subarray(0, WINDOW))).toString("utf8");
  const dropped = graphemeStarts(text)[1] ?? 0;
  return whole.subarray(Buffer.byteLength(text.slice(0, dropped)));
}

/** Enough bytes to hold any ordinary character, family emoji included. */
const WINDOW = 128;

function graphemeStarts(text: string): number[] {
  return [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)].map(({ index }) => index);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function nextCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (at < from + 3 && isContinuation(bytes[at])) at += 1;
  return at;
}

function startOfCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (at > 0 && at > from - 3 && isContinuation(bytes[at])) at -= 1;
  return at;
}

/** The end of the last character that is whole. */
function lastBoundary(bytes: Buffer): number {
  const start = startOfCharacter(bytes, Math.max(0, bytes.length - 1));
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length <= bytes.length ? bytes.length : start;
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === 10) count += 1;
  return count;
}
