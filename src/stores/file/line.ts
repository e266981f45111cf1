/**
 * A line of a log, and whether it is what was written.
 *
 * Sealed: the record's text without its last brace, then `,"crc":"xxxxxxxx"}` and a newline. The checksum is CRC-32 over the bytes
 * before `,"crc"`, started with the CRC-32 of the thread's id, as 8 lower-case hex digits, compared exactly. A line that has no
 * such ending is bad, except in a log whose header says `unverified`. So is a line that is not UTF-8 or not a record.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { crc32 } from "node:zlib";
import { decode, type Decoded } from "../../protocol/codec.ts";
import type { ThreadId } from "../../protocol/record.ts";

export const NEWLINE = 0x0a;
/** Longer lines are refused when writing and are damage when reading. */
export const MAX_LINE = 128 * 1024 * 1024;

const CRC_START = Buffer.from(',"crc":"');
const CRC_END = Buffer.from('"}');
const CRC_BYTES = CRC_START.length + 8 + CRC_END.length;

/** What the checksums of a log are started with, and whether lines without one count. */
export interface Seal {
  seed: number;
  unverified: boolean;
}

export function sealOf(thread: ThreadId, unverified = false): Seal {
  return { seed: crc32(thread), unverified };
}

/** The line of a record, newline included, from the text that `encode` made. */
export function sealLine(text: string, seal: Seal): Buffer {
  const bytes = Buffer.byteLength(text) - 1;
  const line = Buffer.allocUnsafe(bytes + CRC_BYTES + 1);
  line.write(text);
  const crc = crc32(line.subarray(0, bytes), seal.seed);
  line.write(`,"crc":"${crc.toString(16).padStart(8, "0")}"}\n`, bytes, "latin1");
  return line;
}

/** The record of a line, given without its newline. */
export function openLine(line: Buffer, seal: Seal): Decoded {
  const body = line.length - CRC_BYTES;
  if (hasCrc(line, body)) {
    if (writtenCrc(line, body + CRC_START.length) !== crc32(line.subarray(0, body), seal.seed)) return { ok: false, why: "checksum mismatch" };
  } else if (!seal.unverified) return { ok: false, why: "no checksum" };
  if (isAscii(line)) return decode(line.toString("latin1"));
  if (!isUtf8(line)) return { ok: false, why: "not UTF-8" };
  return decode(line.toString("utf8"));
}

function hasCrc(line: Buffer, at: number): boolean {
  if (at < 1) return false;
  for (let index = 0; index < CRC_START.length; index++) if (line[at + index] !== CRC_START[index]) return false;
  return line[line.length - 2] === CRC_END[0] && line[line.length - 1] === CRC_END[1];
}

/** -1 where a digit is not one that the writer would have written. */
function writtenCrc(line: Buffer, at: number): number {
  let value = 0;
  for (let index = at; index < at + 8; index++) {
    const code = line[index]!;
    const digit = code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

const SEQ = Buffer.from(',"seq":');

/**
 * How many records the bytes of a bad line may have held, at least one: a newline that was damaged joins two lines. Quotes inside
 * a string are escaped, so only a record's start looks like `{"v":1,"seq":`.
 */
export function recordsIn(line: Buffer): number {
  let count = 0;
  for (let at = line.indexOf(SEQ); at >= 0; at = line.indexOf(SEQ, at + 1)) {
    if (/\{"v":\d+$/u.test(line.toString("latin1", Math.max(0, at - 24), at))) count += 1;
  }
  return Math.max(1, count);
}
