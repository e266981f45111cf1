/**
 * Where things are in a home. Every path that holds a thread's id is made here, and only of a valid id, so that no id leads
 * out of the home.
 *
 *   sessions/active -> <id>      sessions/<id>/      archive/<id>/
 *   sessions/.pending/<id>/      a thread being created; it exists once it was renamed to sessions/<id>
 *   sessions/.trash/<id>/        a thread being removed; it is gone once it was renamed to here
 *
 * In a thread's folder: rollout.jsonl live.jsonl lock owner.json metadata.json state.json hidden blobs/ diffs/ children/.
 * `hidden` marks a removed thread whose log is kept, cut, for the forks that start in it.
 */
import { join } from "node:path";
import type { ThreadId } from "../../protocol/record.ts";

const THREAD_ID = /^[0-9a-zA-Z-]{8,64}$/u;
const SHA256 = /^[0-9a-f]{64}$/u;

export function isThreadId(name: string): boolean {
  return THREAD_ID.test(name);
}
export function isBlobName(name: string): boolean {
  return SHA256.test(name);
}

export interface Home {
  root: string;
  sessions: string;
  archive: string;
  active: string;
  pending: string;
  trash: string;
}

export function homeAt(root: string): Home {
  const sessions = join(root, "sessions");
  return {
    root,
    sessions,
    archive: join(root, "archive"),
    active: join(sessions, "active"),
    pending: join(sessions, ".pending"),
    trash: join(sessions, ".trash"),
  };
}

/** The folder called by the thread's id in one of the folders of a home. */
export function threadFolder(parent: string, thread: ThreadId): string {
  if (!isThreadId(thread)) throw new Error(`"${thread}" is not a thread id`);
  return join(parent, thread);
}

export interface ThreadFiles {
  folder: string;
  log: string;
  live: string;
  lock: string;
  owner: string;
  metadata: string;
  state: string;
  hidden: string;
  blobs: string;
  diffs: string;
  children: string;
}

export function filesIn(folder: string): ThreadFiles {
  return {
    folder,
    log: join(folder, "rollout.jsonl"),
    live: join(folder, "live.jsonl"),
    lock: join(folder, "lock"),
    owner: join(folder, "owner.json"),
    metadata: join(folder, "metadata.json"),
    state: join(folder, "state.json"),
    hidden: join(folder, "hidden"),
    blobs: join(folder, "blobs"),
    diffs: join(folder, "diffs"),
    children: join(folder, "children"),
  };
}

export function childMarker(files: ThreadFiles, child: ThreadId): string {
  return threadFolder(files.children, child);
}
/** Held while a fork of the thread is made or the thread is removed. */
export function familyLock(files: ThreadFiles): string {
  return join(files.children, ".lock");
}
export function blobFile(files: ThreadFiles, sha256: string): string {
  if (!isBlobName(sha256)) throw new Error(`"${sha256}" is not a blob's name`);
  return join(files.blobs, sha256);
}
export function diffFile(files: ThreadFiles, number: number): string {
  return join(files.diffs, `${String(number).padStart(3, "0")}.diff`);
}
