/**
 * Moving threads out of the way: archiving, removing, and sweeping what crashes left.
 *
 * A thread without forks is removed by renaming it to sessions/.trash, from which moment it is gone, and deleting it there. A thread
 * with forks is cut: its log keeps the records before the highest place that a fork starts from, its blobs those that these
 * records name, everything else goes; and it is hidden until the last fork is gone, when it goes too. Removing needs the lock
 * of the thread: nothing is taken from a live owner.
 */
import { join } from "node:path";
import { StoreFault } from "../../core/store.ts";
import { encode } from "../../protocol/codec.ts";
import type { ThreadId } from "../../protocol/record.ts";
import { asFault } from "./fault.ts";
import type { Files } from "./files.ts";
import { baseOf, type Place } from "./header.ts";
import { childMarker, familyLock, filesIn, isBlobName, isThreadId, threadFolder } from "./layout.ts";
import { sealLine } from "./line.ts";
import { tryLock, waitLock, type Held } from "./lock.ts";
import type { Context } from "./open.ts";
import { busyMessage, readOwner } from "./owner.ts";
import { headerOf, isHidden, locate, openLog } from "./reader.ts";
import { copyBytes } from "./recovery.ts";
import { linesForward } from "./scan.ts";
import { offsetOf } from "./seek.ts";
import { discard, temporaryBeside, writeFully } from "./whole.ts";

export async function moveThread(context: Context, thread: ThreadId, to: "archive" | "sessions"): Promise<void> {
  const { home, files } = context;
  const doing = to === "archive" ? `archive thread ${thread}` : `take thread ${thread} out of the archive`;
  try {
    const place = visible(context, thread);
    if (place.archived === (to === "archive")) return;
    files.makeFolder(home[to]);
    const held = takeOrRefuse(place, files);
    try {
      files.rename(place.files.folder, threadFolder(home[to], thread));
    } finally {
      held.release();
    }
    await files.syncFolder(home[to]);
    await files.syncFolder(place.archived ? home.archive : home.sessions);
  } catch (error) {
    throw asFault(error, { doing, kept: "It is complete, in the one place or the other." });
  }
}

export async function removeThread(context: Context, thread: ThreadId): Promise<void> {
  try {
    await removeHeld(context, visible(context, thread));
  } catch (error) {
    throw asFault(error, { doing: `remove thread ${thread}`, kept: "What is left of it is swept later if it was removed, and complete if it was not." });
  }
}

async function removeHeld(context: Context, place: Place): Promise<void> {
  const { files } = context;
  const held = takeOrRefuse(place, files);
  try {
    files.makeFolder(place.files.children);
    const family = await waitLock(familyLock(place.files), files);
    if (!family) throw new StoreFault(`Another process is forking thread ${place.thread} and does not finish. Nothing was removed; try again.`, { code: "busy", poisoned: false });
    try {
      const children = childrenOf(context, place);
      if (children.length > 0) await hide(place, children, files);
      else await trash(context, place);
    } finally {
      family.release();
    }
  } finally {
    held.release();
  }
  const trashed = filesIn(threadFolder(context.home.trash, place.thread));
  if (files.isFolder(trashed.folder)) await empty(context, { ...place, files: trashed });
}

async function trash({ home, files }: Context, place: Place): Promise<void> {
  const target = threadFolder(home.trash, place.thread);
  files.makeFolder(home.trash);
  files.removeAll(target);
  files.rename(place.files.folder, target);
  await files.syncFolder(home.trash);
  await files.syncFolder(place.archived ? home.archive : home.sessions);
}

/**
 * Ends a removal: the thread is no longer its parent's child, a hidden parent that it was the last child of goes too, then its
 * files. In this order, because its log says who the parent is: a crash in between is made up for by doing it all again.
 */
async function empty(context: Context, trashed: Place): Promise<void> {
  const { home, files } = context;
  const base = baseOf(headerOf(trashed, files));
  const parent = base && locate(home, base.thread, files);
  if (parent) {
    files.removeAll(childMarker(parent.files, trashed.thread));
    if (files.isFolder(parent.files.children)) await files.syncFolder(parent.files.children);
    if (isHidden(parent, files) && childrenOf(context, parent).length === 0) await removeHeld(context, parent);
  }
  files.removeAll(trashed.files.folder);
}

/** Forks of the thread that exist, or that a living process is making. */
function childrenOf({ home, files }: Context, place: Place): Place[] {
  if (!files.isFolder(place.files.children)) return [];
  return files.list(place.files.children).flatMap((name) => {
    if (!isThreadId(name)) return [];
    return locate(home, name, files) ?? beingMade(home.pending, { ...place, thread: name }, files) ?? [];
  });
}

function beingMade(pending: string, place: Place, files: Files): Place | null {
  const made = { ...place, files: filesIn(threadFolder(pending, place.thread)) };
  return files.isFolder(made.files.folder) && !isAbandoned(made.files.lock, files) ? made : null;
}

async function hide(place: Place, children: readonly Place[], files: Files): Promise<void> {
  const bases = children.map((child) => baseOf(headerOf(child, files)));
  const before = Math.max(...bases.map((base) => (base?.thread === place.thread ? base.before : Infinity)));
  const named = await cut(place, before, files);
  files.close(files.open(place.files.hidden, "update"));
  await files.syncFolder(place.files.folder);
  if (files.isFolder(place.files.blobs)) {
    for (const name of files.list(place.files.blobs)) if (!isBlobName(name) || !named.has(name)) files.removeAll(join(place.files.blobs, name));
  }
  const kept = new Set([place.files.log, place.files.lock, place.files.hidden, place.files.blobs, place.files.children]);
  for (const name of files.list(place.files.folder)) {
    const path = join(place.files.folder, name);
    if (!kept.has(path)) files.removeAll(path);
  }
}

/** Keeps the records before `before`, in a new file that takes the log's name. Gives the blobs that they name. */
async function cut(place: Place, before: number, files: Files): Promise<Set<string>> {
  const { log, header } = openLog(place, files);
  const named = new Set<string>();
  const temporary = temporaryBeside(place.files.log);
  try {
    const fd = files.open(temporary, "create");
    try {
      const first = header.rebuiltFrom !== null && log ? sealLine(encode(header.record, header.record), log.seal) : Buffer.alloc(0);
      writeFully(fd, first, { files });
      if (log) {
        const [headerLine] = linesForward(log, { from: 0 });
        const end = Math.max(offsetOf(log, before), header.rebuiltFrom === null && headerLine ? headerLine.bytes : 0);
        copyBytes({ files, from: log.fd, to: fd }, { from: 0, to: end, target: first.length });
        for (const line of linesForward(log, { from: 0, to: end })) {
          if (line.ok) for (const [name] of JSON.stringify(line.record).matchAll(/[0-9a-f]{64}/gu)) named.add(name);
        }
      }
      await files.sync(fd);
    } finally {
      files.close(fd);
    }
    files.rename(temporary, place.files.log);
  } catch (error) {
    discard(temporary, files);
    throw error;
  } finally {
    if (log) files.close(log.fd);
  }
  return named;
}

const ABANDONED_MS = 60_000;

/** Finishes removals that a crash interrupted, and drops threads that were never completed. */
export async function sweep(context: Context): Promise<void> {
  const { home, files } = context;
  for (const name of threadsIn(home.trash, files)) {
    const trashed = filesIn(threadFolder(home.trash, name));
    await empty(context, { thread: name, home, files: trashed, archived: false });
  }
  for (const name of threadsIn(home.pending, files)) {
    const pending = filesIn(threadFolder(home.pending, name));
    if (isOld(pending.folder, files) && isAbandoned(pending.lock, files)) files.removeAll(pending.folder);
  }
}

function isOld(path: string, files: Files): boolean {
  return Date.now() - (files.stat(path)?.modified ?? Infinity) > ABANDONED_MS;
}

function threadsIn(folder: string, files: Files): ThreadId[] {
  return files.isFolder(folder) ? files.list(folder).filter(isThreadId) : [];
}

function isAbandoned(lock: string, files: Files): boolean {
  const held = tryLock(lock, files);
  held?.release();
  return held !== null;
}

function visible({ home, files }: Context, thread: ThreadId): Place {
  const place = locate(home, thread, files);
  if (place && !isHidden(place, files)) return place;
  throw new StoreFault(`There is no thread ${thread}.`, { code: "not_found", poisoned: false });
}

function takeOrRefuse(place: Place, files: Files): Held {
  const held = tryLock(place.files.lock, files);
  if (held) return held;
  throw new StoreFault(busyMessage(place.thread, readOwner(place.files.owner, files)), { code: "busy", poisoned: false });
}
