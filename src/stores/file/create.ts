/**
 * Creating a thread.
 *
 * It is made under sessions/.pending, complete and synced, with its lock held, and then renamed to its place; so at every moment
 * there is either no thread or a valid one. A fork is named in its parent (`children/<id>`, synced) before it exists, and the parent's
 * log is synced up to there, so that a fork never outlives what it stands on. Forking and removing exclude each other by a lock in
 * the parent (`children/.lock`); what a crash leaves under .pending is swept later (removal.ts).
 */
import { dirname } from "node:path";
import { StoreFault, type Log } from "../../core/store.ts";
import type { Draft, Position, ThreadId } from "../../protocol/record.ts";
import { asFault } from "./fault.ts";
import { errorCode, type Files } from "./files.ts";
import type { Place } from "./header.ts";
import { childMarker, familyLock, filesIn, threadFolder } from "./layout.ts";
import { sealOf } from "./line.ts";
import { tryLock, waitLock } from "./lock.ts";
import { introduce, makeLog, networkRefusal, type Context } from "./open.ts";
import { headOf, locate } from "./reader.ts";

export async function createThread(context: Context, thread: ThreadId, first: Draft): Promise<Log> {
  try {
    return await create(context, thread, first);
  } catch (error) {
    throw asFault(error, { doing: `create thread ${thread}`, kept: whatIsLeft(context, thread) });
  }
}

function whatIsLeft({ home, files }: Context, thread: ThreadId): string {
  const nothing = "There is no such thread, and nothing else was changed.";
  try {
    return locate(home, thread, files) === null ? nothing : "It could not be taken back: it is there, empty, and can be opened or removed.";
  } catch (error) {
    // Where the folder of all threads is no folder, there is none of them.
    return errorCode(error) === "ENOTDIR" ? nothing : "Whether it is there, empty, cannot be told now; nothing else was changed.";
  }
}

async function create(context: Context, thread: ThreadId, first: Draft): Promise<Log> {
  const { home, files } = context;
  if (first.type !== "thread.created") throw new TypeError("The first record of a thread is thread.created");
  const base = (first as { base?: Position | null }).base ?? null;
  for (const folder of [home.root, home.sessions, home.archive, home.pending]) if (files.makeFolder(folder)) await files.syncFolder(dirname(folder));
  const refusal = networkRefusal(context, home.sessions);
  if (refusal) throw new StoreFault(refusal, { code: "network_fs", poisoned: false });
  if (locate(home, thread, files)) throw exists(thread);
  const pending = filesIn(threadFolder(home.pending, thread));
  const place: Place = { thread, home, files: filesIn(threadFolder(home.sessions, thread)), archived: false };
  files.removeAll(pending.folder);
  files.makeFolder(pending.folder);
  const undo: (() => void)[] = [() => files.removeAll(pending.folder)];
  try {
    const held = tryLock(pending.lock, files);
    if (!held) throw exists(thread);
    undo.push(() => held.release());
    const fd = files.open(pending.log, "append");
    undo.push(() => files.close(fd));
    const log = makeLog(context, place, { fd, held, seal: sealOf(thread), head: base?.before ?? 0, length: 0 });
    undo.push(() => {
      context.suspects.delete(thread);
      context.closed(log);
    });
    const [header] = log.append([{ ...first, id: thread }]);
    await log.durable(header!.seq);
    await files.syncFolder(pending.folder);
    const publish = async () => {
      files.rename(pending.folder, place.files.folder);
      undo.push(() => files.rename(place.files.folder, pending.folder));
      await files.syncFolder(home.sessions);
    };
    await (base ? besideParent(context, { thread, base, undo }, publish) : publish());
    introduce(context, place);
    context.changed(thread);
    return log;
  } catch (error) {
    for (const step of undo.reverse()) {
      try {
        step();
      } catch {
        // What stays behind under .pending is swept later.
      }
    }
    if (errorCode(error) === "ENOTEMPTY" || errorCode(error) === "EEXIST") throw exists(thread);
    throw error;
  }
}

interface Birth {
  thread: ThreadId;
  base: Position;
  undo: (() => void)[];
}

async function besideParent(context: Context, { thread, base, undo }: Birth, publish: () => Promise<void>): Promise<void> {
  const { home, files } = context;
  const parent = locate(home, base.thread, files);
  if (!parent) throw noParent(base.thread);
  const newFolder = files.makeFolder(parent.files.children);
  const family = await waitLock(familyLock(parent.files), files);
  if (!family) throw new StoreFault(`Another process is forking or removing thread ${base.thread} and does not finish. Nothing was changed; try again.`, { code: "busy", poisoned: false });
  try {
    if (!files.stat(parent.files.folder)) throw noParent(base.thread);
    const head = headOf(parent, files);
    if (base.before > head) throw new StoreFault(`Thread ${base.thread} has no record before ${base.before} yet: it ends before ${head}. Nothing was changed.`, { code: "bad_base", poisoned: false });
    await syncLog(parent, files);
    const marker = childMarker(parent.files, thread);
    files.close(files.open(marker, "update"));
    undo.push(() => {
      if (!locate(home, thread, files)) files.unlink(marker);
    });
    await files.syncFolder(parent.files.children);
    if (newFolder) await files.syncFolder(parent.files.folder);
    await publish();
  } finally {
    family.release();
  }
}

async function syncLog(place: Place, files: Files): Promise<void> {
  const fd = files.open(place.files.log, "read");
  try {
    await files.sync(fd);
  } finally {
    files.close(fd);
  }
}

function exists(thread: ThreadId): StoreFault {
  return new StoreFault(`There is a thread ${thread} already; it was not changed.`, { code: "exists", poisoned: false });
}
function noParent(thread: ThreadId): StoreFault {
  return new StoreFault(`There is no thread ${thread} to fork from. Nothing was changed.`, { code: "not_found", poisoned: false });
}
