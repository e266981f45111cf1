/**
 * Lines: some lines of a file of any size, read in pieces. It stops as soon as it has what was asked for, or as many bytes as it may give,
 * the numbers before the lines counted; of a long line only the start is held.
 */

/** A file, or bytes that are read like one. */
export interface Readable {
  read(into: Buffer, at: number, length: number, position: number): Promise<{ bytesRead: number }>;
}

export interface Slice {
  /** Cut to `longest` bytes each. */
  readonly lines: readonly Buffer[];
  /** How many bytes of each line were left out. */
  readonly cut: readonly number[];
  /** Lines that the file has, as far as it was read. */
  readonly seen: number;
  /** There are more lines after these. */
  readonly more: boolean;
}

interface Wanted {
  /** The number of the first line, from 1. */
  offset: number;
  limit: number;
  mostBytes: number;
  longest: number;
  signal: AbortSignal;
}

const PIECE = 256 * 1024;
/** What is said of a line that was cut takes about so much. */
const CUT_NOTE = 30;

export async function readLines(file: Readable, { offset, limit, mostBytes, longest, signal }: Wanted): Promise<Slice> {
  const lines: Buffer[] = [];
  const cut: number[] = [];
  const piece = Buffer.allocUnsafe(PIECE);
  let held: Buffer[] = [];
  let length = 0;
  let number = 1;
  let room = mostBytes;

  function take(part: Buffer): void {
    const kept = Math.max(0, Math.min(part.length, longest - length));
    if (number >= offset && kept > 0) held.push(Buffer.from(part.subarray(0, kept)));
    length += part.length;
  }
  /** False: there is no room for it. One line is always given. */
  function end(): boolean {
    if (number >= offset) {
      const line = Buffer.concat(held);
      const left = Math.max(0, length - longest);
      room -= String(number).length + 1 + line.length + (left > 0 ? CUT_NOTE : 0) + 1;
      if (room < 0 && lines.length > 0) return false;
      lines.push(line);
      cut.push(left);
    }
    held = [];
    length = 0;
    number += 1;
    return true;
  }
  const soFar = (more: boolean): Slice => ({ lines, cut, seen: number - 1, more });

  for (let at = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(piece, 0, PIECE, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    const read = piece.subarray(0, bytesRead);
    for (let from = 0; from < read.length; ) {
      if (lines.length === limit) return soFar(true);
      const newline = read.indexOf(10, from);
      take(read.subarray(from, newline < 0 ? read.length : newline));
      if (newline >= 0 && !end()) return soFar(true);
      from = newline < 0 ? read.length : newline + 1;
    }
  }
  return soFar(length > 0 && !end());
}
