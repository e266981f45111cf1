/**
 * Recovery: what a new writer does before it goes on with a log.
 *
 * - Bytes after the last newline are a write that was cut off. They are saved beside the log, cut off and the cut is synced. If they
 *   are a whole valid record that only lacks its newline, the newline is put right instead and nothing is lost.
 * - A complete line that is bad stays where it is and is skipped by everybody. Bad lines at the end may have been acknowledged
 *   records, so their seqs are not given again: the next seq is that of the last good line, plus one, plus the records that bad
 *   lines after it may have held.
 * - A log without a line gets its header back. A damaged header is rebuilt in memory whenever the log is read; see header.ts.
 * - After a sync that failed, reading shows pages that may never have reached the medium. They are written once more, so that the
 *   sync that follows is about them.
 *
 * Only the end of the log is looked at: what is damaged further back is found, skipped and reported when it is read.
 */
import { encode } from "../../protocol/codec.ts";
import type { Files } from "./files.ts";
import type { Header, Place } from "./header.ts";
import { MAX_LINE, openLine, sealLine, type Seal } from "./line.ts";
import { nextSeq, withHeader } from "./reader.ts";
import { readFully, type LogFile } from "./scan.ts";
import { endOf, type End } from "./seek.ts";
import { writeFully } from "./whole.ts";

export interface Recovered {
  seal: Seal;
  head: number;
  length: number;
  repairs: string[];
}

export interface Recovering {
  files: Files;
  /** Opened for appending; the lock is held. */
  fd: number;
  place: Place;
  now: () => string;
  /** From where on the medium is not to be trusted; null when it is. */
  suspectFrom: number | null;
  onSyncFailed: () => void;
}

const COPY = 1024 * 1024;
const REPORTED = 5;

export async function recover(recovering: Recovering): Promise<Recovered> {
  const { files, fd, place, suspectFrom } = recovering;
  const repairs: string[] = [];
  if (suspectFrom !== null) rewrite(recovering, suspectFrom, repairs);
  let { log, header, end } = inspect(recovering);
  if (files.fstat(fd).size > end.offset) {
    await mendTail(recovering, { log, header, end }, repairs);
    ({ log, header, end } = inspect(recovering));
  }
  if (end.offset === 0) {
    appendFully(recovering, sealLine(encode(header.record, header.record), log.seal));
    repairs.push(`The log was empty. Its first record was rebuilt from ${header.rebuiltFrom} and written.`);
    ({ log, header, end } = inspect(recovering));
  } else if (header.rebuiltFrom !== null) {
    repairs.push(`The first record of the log is damaged. What it said was rebuilt from ${header.rebuiltFrom}; everything else is read as it is.`);
  }
  for (const { offset, bytes, why } of end.bad.slice(0, REPORTED)) {
    repairs.push(`The line at byte ${offset} (${bytes} bytes) is damaged (${why}) and is skipped; everything else is read.`);
  }
  if (end.bad.length > REPORTED) repairs.push(`${end.bad.length - REPORTED} more damaged lines before it are skipped.`);
  await syncLog(recovering);
  await files.syncFolder(place.files.folder);
  return { seal: log.seal, head: nextSeq(end, header), length: files.fstat(fd).size, repairs };
}

interface Found {
  log: LogFile;
  header: Header;
  end: End;
}

function inspect({ files, fd, place }: Recovering): Found {
  const { log, header } = withHeader({ files, fd }, place);
  return { log, header, end: endOf(log) };
}

async function mendTail(recovering: Recovering, { log, header, end }: Found, repairs: string[]): Promise<void> {
  const { files, fd } = recovering;
  const { size } = files.fstat(fd);
  const torn = size - end.offset;
  const saved = await saveTail(recovering, { from: end.offset, to: size });
  const whole = wholeRecord(log, { from: end.offset, bytes: torn, due: end.offset === 0 ? 0 : nextSeq(end, header) });
  files.truncate(fd, end.offset + whole);
  if (whole > 0) appendFully(recovering, Buffer.from("\n"));
  await syncLog(recovering);
  repairs.push(
    whole > 0
      ? `The last line of the log had lost its newline; it was put right and nothing is lost. Its bytes as found are in ${saved}.`
      : `The last ${torn} bytes of the log were a write that was cut off and never acknowledged. They were saved as ${saved} and cut off.`,
  );
}

async function syncLog({ files, fd, onSyncFailed }: Recovering): Promise<void> {
  try {
    await files.sync(fd);
  } catch (error) {
    onSyncFailed();
    throw error;
  }
}

/** The length of the valid record, due next, that the bytes hold if their newline was lost or spoilt; 0 where they hold none. */
function wholeRecord(log: LogFile, tail: { from: number; bytes: number; due: number }): number {
  if (tail.bytes > MAX_LINE) return 0;
  const bytes = Buffer.alloc(tail.bytes);
  readFully(log, bytes, tail.from);
  for (const length of [bytes.length, bytes.length - 1]) {
    const opened = openLine(bytes.subarray(0, length), log.seal);
    if (opened.ok && opened.record.seq >= tail.due) return length;
  }
  return 0;
}

/** The name under which the bytes are kept. */
async function saveTail({ files, fd, place, now }: Recovering, { from, to }: { from: number; to: number }): Promise<string> {
  const stem = `${place.files.log}.torn-${now().replace(/[^0-9A-Za-z]/gu, "")}`;
  let path = stem;
  for (let number = 2; files.stat(path); number++) path = `${stem}-${number}`;
  const copy = files.open(path, "create");
  try {
    copyBytes({ files, from: fd, to: copy }, { from, to, target: 0 });
    await files.sync(copy);
  } finally {
    files.close(copy);
  }
  await files.syncFolder(place.files.folder);
  return path.slice(place.files.folder.length + 1);
}

function rewrite({ files, fd, place }: Recovering, from: number, repairs: string[]): void {
  const { size } = files.fstat(fd);
  if (from >= size) return;
  const again = files.open(place.files.log, "update");
  try {
    copyBytes({ files, from: fd, to: again }, { from, to: size, target: from });
  } finally {
    files.close(again);
  }
  repairs.push(`The disk had failed to take the last ${size - from} bytes of the log; they were written again.`);
}

/** Copies a range of one open file to a place in another. */
export function copyBytes({ files, from, to }: { files: Files; from: number; to: number }, range: { from: number; to: number; target: number }): void {
  const buffer = Buffer.allocUnsafe(Math.min(COPY, range.to - range.from));
  for (let at = range.from; at < range.to; ) {
    const got = files.read(from, buffer, { offset: 0, length: Math.min(buffer.length, range.to - at), position: at });
    if (got === 0) return;
    writeFully(to, buffer.subarray(0, got), { files, position: range.target + at - range.from });
    at += got;
  }
}

function appendFully({ files, fd }: Recovering, bytes: Buffer): void {
  if (files.write(fd, bytes, null) !== bytes.length) throw Object.assign(new Error("only a part was written"), { code: "short_write" });
}
