/**
 * Opening a thread for writing: first the lock, then recovery, then the log is this process's. A refusal changes nothing and says who
 * has the thread. The lock is held until the log is closed or the process ends.
 */
import { join } from "node:path";
import type { BlobReader, Opened } from "../../core/store.ts";
import type { ThreadId } from "../../protocol/record.ts";
import type { Owner } from "../../protocol/rpc.ts";
import { mendSmall, writeDerived } from "./derived.ts";
import { asFault, isReadOnly } from "./fault.ts";
import { errorCode, type Files } from "./files.ts";
import type { Place } from "./header.ts";
import type { Home } from "./layout.ts";
import { LiveFile, readLive } from "./live.ts";
import { networkFileSystem, tryLock, type Held } from "./lock.ts";
import { FileLog } from "./log.ts";
import { busyMessage, mayLive, readOwner, writeOwner } from "./owner.ts";
import { isHidden, locate } from "./reader.ts";
import { recover } from "./recovery.ts";
import { discard, isTemporary, temporaryBeside } from "./whole.ts";

/** What the parts of a file store share. */
export interface Context {
  home: Home;
  files: Files;
  blobs: BlobReader;
  now: () => string;
  host: string;
  pid: number;
  socket: string | null;
  allowNetworkFs: boolean;
  /** Where a log was not brought to the medium: from which byte on. */
  suspects: Map<ThreadId, number>;
  opened: (log: FileLog) => void;
  closed: (log: FileLog) => void;
  changed: (thread: ThreadId) => void;
}

export async function openThread(context: Context, thread: ThreadId): Promise<Opened> {
  try {
    for (let tries = 0; tries < 3; tries++) {
      const opened = await openLocated(context, thread);
      if (opened) return opened;
    }
    throw new Error("its folder is being moved again and again");
  } catch (error) {
    throw asFault(error, { doing: `open thread ${thread} for writing`, kept: "Everything that it holds is kept and can be read; try again when the cause is gone." });
  }
}

/** Null when the folder was moved meanwhile (into or out of the archive). */
async function openLocated(context: Context, thread: ThreadId): Promise<Opened | null> {
  const { files } = context;
  const place = locate(context.home, thread, files);
  if (!place || isHidden(place, files)) return { ok: false, why: "not_found", message: `There is no thread ${thread}.` };
  const refusal = networkRefusal(context, place.files.folder);
  if (refusal) return { ok: false, why: "read_only", message: refusal };
  const taken = await take(context, place);
  if (taken.why === "moved") return null;
  if (taken.why === "busy") return { ok: false, why: "busy", message: busyMessage(thread, taken.owner), owner: taken.owner };
  if (taken.why === "read_only") return { ok: false, why: "read_only", message: `Thread ${thread} can be read and forked, but not written: ${taken.message}.` };
  try {
    return await openHeld(context, place, taken.held);
  } catch (error) {
    taken.held.release();
    throw error;
  }
}

type Taken = { why: "held"; held: Held } | { why: "moved" } | { why: "busy"; owner: Owner | null } | { why: "read_only"; message: string };

/** Someone who has just taken the lock may not have said so yet: they get a moment, so that the refusal names the right one. */
const INTRODUCTION_MS = 100;
const STEP_MS = 10;

async function take(context: Context, place: Place): Promise<Taken> {
  const { files } = context;
  for (let waited = 0; ; waited += STEP_MS) {
    let held: Held | null;
    try {
      held = tryLock(place.files.lock, files);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return { why: "moved" };
      if (isReadOnly(error)) return { why: "read_only", message: (error as Error).message };
      throw error;
    }
    if (held) return { why: "held", held };
    if (!files.stat(place.files.lock)) return { why: "moved" };
    const owner = readOwner(place.files.owner, files);
    if (owner && mayLive(owner, context.host)) return { why: "busy", owner: { pid: owner.pid, host: owner.host, since: owner.since, socket: owner.socket } };
    if (waited >= INTRODUCTION_MS) return { why: "busy", owner: null };
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}

async function openHeld(context: Context, place: Place, held: Held): Promise<Opened> {
  const { files, suspects } = context;
  const { thread } = place;
  introduce(context, place);
  const fd = files.open(place.files.log, "append");
  try {
    const recovered = await recover({
      files,
      fd,
      place,
      now: context.now,
      suspectFrom: suspects.get(thread) ?? null,
      onSyncFailed: () => suspects.set(thread, suspects.get(thread) ?? 0),
    });
    suspects.delete(thread);
    const repairs = [...recovered.repairs];
    const orSay = <T>(step: () => T, otherwise: T, repair: string): T => {
      try {
        return step();
      } catch {
        repairs.push(repair);
        return otherwise;
      }
    };
    orSay(() => sweepTemporaries(place, files), undefined, "Temporary files that an earlier writer left could not be removed; they hinder nobody.");
    orSay(() => mendSmall(place, files), false, "metadata.json and state.json could not be made again; the log is complete without them.");
    const live = orSay(() => readLive(place.files.live, files), [], "live.jsonl could not be read: text that was being streamed when the last writer ended is not shown.");
    const log = makeLog(context, place, { ...recovered, fd, held });
    context.changed(thread);
    return { ok: true, log, repairs, live };
  } catch (error) {
    files.close(fd);
    throw error;
  }
}

function sweepTemporaries(place: Place, files: Files): void {
  for (const folder of [place.files.folder, place.files.blobs, place.files.diffs]) {
    if (!files.isFolder(folder)) continue;
    for (const name of files.list(folder)) if (isTemporary(name)) discard(join(folder, name), files);
  }
}

/** The log of a thread whose lock is held. */
export function makeLog(context: Context, place: Place, { fd, held, ...state }: Pick<ConstructorParameters<typeof FileLog>[0], "fd" | "seal" | "head" | "length"> & { held: Held }): FileLog {
  const { files, blobs, now, suspects } = context;
  const { thread } = place;
  const log: FileLog = new FileLog({
    ...state,
    thread,
    files,
    fd,
    now,
    live: new LiveFile(place.files.live, files),
    derive: async (derived) => {
      await writeDerived(place, derived, { files, blobs });
      context.changed(thread);
    },
    onSyncFailed: (from) => suspects.set(thread, Math.min(from, suspects.get(thread) ?? from)),
    onClose: () => {
      discard(place.files.owner, files);
      held.release();
      context.closed(log);
    },
  });
  context.opened(log);
  return log;
}

/** Says who holds the thread, and that it is the active one. Both only inform, so failing to say so stops nobody. */
export function introduce(context: Context, place: Place): void {
  const { files, now, pid, host, socket } = context;
  try {
    writeOwner(place.files.owner, { pid, host, since: now(), socket }, files);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
  if (!place.archived) markActive(context, place.thread);
}

function markActive({ home, files }: Context, thread: ThreadId): void {
  try {
    if (files.readLink(home.active) === thread) return;
    const temporary = temporaryBeside(home.active);
    try {
      files.symlink(thread, temporary);
      files.rename(temporary, home.active);
    } catch (error) {
      discard(temporary, files);
      throw error;
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}

/** Why nothing is written there; null where it is. */
export function networkRefusal(context: Context, folder: string): string | null {
  if (context.allowNetworkFs) return null;
  const name = networkFileSystem(folder, context.files);
  return (
    name &&
    `${folder} is on a network file system (${name}), where a lock does not keep other machines from writing. Nothing was changed. ` +
      "Use a home on a local disk, or allow network file systems if you are sure that only one machine writes."
  );
}
