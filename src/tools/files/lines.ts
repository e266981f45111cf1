/**
 * Lines: some lines of a file of any size, read in pieces. It stops as soon as it has what was asked for, or as many bytes as it may give;
 * of a long line only the start is held.
 */
import type { FileHandle } from "node:fs/promises";

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

export async function readLines(file: FileHandle, { offset, limit, mostBytes, longest, signal }: Wanted): Promise<Slice> {
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
  function end(): void {
    if (number >= offset) {
      const line = Buffer.concat(held);
      lines.push(line);
      cut.push(Math.max(0, length - longest));
      room -= line.length + 1;
    }
    held = [];
    length = 0;
    number += 1;
  }

  for (let at = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(piece, 0, PIECE, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    const read = piece.subarray(0, bytesRead);
    for (let from = 0; from < read.length; ) {
      if (lines.length === limit || room <= 0) return { lines, cut, seen: number - 1, more: true };
      const newline = read.indexOf(10, from);
      take(read.subarray(from, newline < 0 ? read.length : newline));
      if (newline >= 0) end();
      from = newline < 0 ? read.length : newline + 1;
    }
  }
  if (length > 0) end();
  return { lines, cut, seen: number - 1, more: false };
}
