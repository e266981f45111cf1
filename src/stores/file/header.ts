/**
 * The first record of a log, which says whose log it is and where it starts.
 *
 * Where it is damaged or missing it is rebuilt, so that nothing makes a thread unresumable: from metadata.json, else from a carry in
 * the log, else from the folder's name, the parent that lists the thread as its child, and the seq of the next record. The
 * log is not rewritten for that.
 *
 * Checksums are started with the id in the header. A header that is right by the id that it holds itself, though not by the
 * folder's name, belongs to a folder that was copied or renamed: its lines are verified with its own id.
 */
import type { Carry, LogRecord, Position, Settings, Source, ThreadId } from "../../protocol/record.ts";
import { LOG_VERSION } from "../../protocol/record.ts";
import type { Files } from "./files.ts";
import { childMarker, filesIn, isThreadId, threadFolder, type Home, type ThreadFiles } from "./layout.ts";
import { NEWLINE, openLine, sealOf, type Seal } from "./line.ts";
import { linesForward, readFully, type LogFile } from "./scan.ts";
import { readJson } from "./whole.ts";

export interface Header {
  record: LogRecord;
  /** What it was rebuilt from; null when it is as written. */
  rebuiltFrom: string | null;
}

/** A thread's folder, wherever it is. */
export interface Place {
  thread: ThreadId;
  home: Home;
  files: ThreadFiles;
  archived: boolean;
}

/** Where the thread was forked from; null for a root. */
export function baseOf(header: LogRecord): Position | null {
  return "base" in header ? asPosition(header.base) : null;
}

const HEADER_CHUNK = 4096;
const LONGEST_HEADER = 1024 * 1024;
/** So far from the start a carry is looked for. */
const CARRY_SEARCH = 4 * 1024 * 1024;

/** How the lines of the log are verified, and its header if that is as written. */
export function readFirst(file: { files: Files; fd: number }, thread: ThreadId): { seal: Seal; record: LogRecord | null } {
  const line = firstLine(file);
  for (const id of line ? [thread, claimedId(line)] : []) {
    if (id === null) continue;
    const opened = openLine(line!, sealOf(id));
    const record = opened.ok ? opened.record : null;
    if (record?.type !== "thread.created") continue;
    return { seal: sealOf(id, record["unverified"] === true), record: { ...record, id: thread } };
  }
  return { seal: sealOf(thread), record: null };
}

function firstLine(file: { files: Files; fd: number }): Buffer | null {
  const { size } = file.files.fstat(file.fd);
  const log: LogFile = { ...file, seal: sealOf("") };
  for (let length = HEADER_CHUNK; ; length *= 4) {
    const bytes = Buffer.alloc(Math.min(length, size));
    readFully(log, bytes, 0);
    const end = bytes.indexOf(NEWLINE);
    if (end >= 0) return bytes.subarray(0, end);
    if (length >= size || length >= LONGEST_HEADER) return null;
  }
}

function claimedId(line: Buffer): ThreadId | null {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    const id = (value as { id?: unknown } | null)?.id;
    return typeof id === "string" ? id : null;
  } catch {
    return null;
  }
}

/** `log` is null where there is no file. */
export function rebuildHeader(place: Place, log: LogFile | null, files: Files): { record: LogRecord; from: string } {
  const first = log && firstRecord(log);
  const known = fromMetadata(place, files) ?? (log && fromCarry(log)) ?? fromMarkers(place, files, first);
  const latest = first ? Math.max(0, first.seq - 1) : Infinity;
  const base = known.base && known.base.thread !== place.thread ? { ...known.base, before: Math.min(known.base.before, latest) } : null;
  const record: LogRecord = {
    v: LOG_VERSION,
    seq: base?.before ?? 0,
    at: known.at ?? timeIn(place.thread) ?? first?.at ?? new Date(0).toISOString(),
    type: "thread.created",
    id: place.thread,
    base,
    source: known.source,
    settings: known.settings,
  };
  return { record, from: known.from };
}

interface Known {
  from: string;
  base: Position | null;
  source: Source;
  settings: Settings;
  at: string | null;
}

const NO_SETTINGS: Settings = { model: "", model_provider: "", cwd: "/", approval_policy: "untrusted", sandbox_mode: "read-only" };

function fromMetadata(place: Place, files: Files): Known | null {
  const found = readJson(place.files.metadata, files);
  if (!found || found["id"] !== place.thread) return null;
  const text = (name: string) => (typeof found[name] === "string" ? found[name] : null);
  const settings: Settings = {
    model: text("model") ?? NO_SETTINGS.model,
    model_provider: text("model_provider") ?? NO_SETTINGS.model_provider,
    cwd: text("cwd") ?? NO_SETTINGS.cwd,
    approval_policy: (text("approval_policy") as Settings["approval_policy"] | null) ?? NO_SETTINGS.approval_policy,
    sandbox_mode: (text("sandbox_mode") as Settings["sandbox_mode"] | null) ?? NO_SETTINGS.sandbox_mode,
  };
  const source = (text("session_source") as Source | null) ?? "interactive";
  return { from: "metadata.json", base: asPosition(found["parent"]), source, settings, at: text("created_at") };
}

function fromCarry(log: LogFile): Known | null {
  for (const line of linesForward(log, { from: 0 })) {
    if (line.offset > CARRY_SEARCH) return null;
    if (!line.ok || !("carry" in line.record)) continue;
    const { thread } = line.record.carry as Carry;
    return { from: "a saved state in the log", base: asPosition(thread.base), source: thread.source, settings: thread.settings, at: thread.createdAt };
  }
  return null;
}

function fromMarkers(place: Place, files: Files, first: First | null): Known {
  const from = "the folder's name";
  const nothing: Known = { from, base: null, source: "interactive", settings: NO_SETTINGS, at: null };
  const start = first ? first.seq - first.lost : 0;
  if (start <= 0) return nothing;
  for (const parent of [place.home.sessions, place.home.archive]) {
    for (const name of files.stat(parent) ? files.list(parent) : []) {
      if (!isThreadId(name) || !files.stat(childMarker(filesIn(threadFolder(parent, name)), place.thread))) continue;
      return { ...nothing, from: "the folder's name and its parent's", base: { thread: name, before: start } };
    }
  }
  return nothing;
}

interface First {
  seq: number;
  at: string;
  /** Records that bad lines before it may have held, the header among them. */
  lost: number;
}

function firstRecord(log: LogFile): First | null {
  let lost = 0;
  for (const line of linesForward(log, { from: 0 })) {
    if (line.ok) return { seq: line.record.seq, at: line.record.at, lost: Math.max(1, lost) };
    lost += line.records;
  }
  return null;
}

/** A UUID of version 7 starts with the milliseconds at which it was made. */
function timeIn(thread: ThreadId): string | null {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7/iu.exec(thread);
  return match && new Date(Number.parseInt(`${match[1]}${match[2]}`, 16)).toISOString();
}

function asPosition(value: unknown): Position | null {
  const { thread, before } = (value ?? {}) as Partial<Position>;
  if (typeof thread !== "string" || !isThreadId(thread) || !Number.isSafeInteger(before) || before! < 0) return null;
  return { thread, before: before! };
}
