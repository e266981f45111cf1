/**
 * Marks: which threads changed since they were indexed, known to every process of a home.
 *
 *   dirty/<id>      the thread changed
 *   dirty/<id>~     the indexer is taking it in; counts as a mark
 *   dirty/.stamp    equals the stamp in the index, unless marks were removed that this copy of the index never saw
 *
 * Whoever changes a thread marks it afterwards. The indexer claims a mark by renaming it, then reads the thread, and removes the
 * claim only when what it read is still what is there and the log says that its writer closed it, or nothing happened for
 * an hour. A change after the claim makes a new mark; a writer that died made its mark when it opened the log and wrote no
 * `writer.closed`. So a change goes unmarked only if its writer idled for an hour and died between the change and the mark; the
 * sweep (see indexer.ts) finds it. Nothing here may fail a turn.
 */
import { join } from "node:path";
import type { ThreadId } from "../../../protocol/record.ts";
import { realFiles } from "../files.ts";
import { isThreadId, type Home } from "../layout.ts";

const CLAIM = "~";

function dirtyFolder(home: Home): string {
  return join(home.root, "dirty");
}
function markFile(home: Home, thread: ThreadId): string {
  return join(dirtyFolder(home), thread);
}
function claimFile(home: Home, thread: ThreadId): string {
  return join(dirtyFolder(home), thread + CLAIM);
}
function stampFile(home: Home): string {
  return join(dirtyFolder(home), ".stamp");
}

export function mark(home: Home, thread: ThreadId): void {
  if (!isThreadId(thread)) return;
  if (attempt(() => create(markFile(home, thread)))) return;
  attempt(() => realFiles.makeFolder(dirtyFolder(home)));
  attempt(() => create(markFile(home, thread)));
}

function create(path: string): true {
  realFiles.close(realFiles.open(path, "update"));
  return true;
}

/** Newest first. */
export function marked(home: Home): ThreadId[] {
  const found = new Set<ThreadId>();
  for (const name of attempt(() => realFiles.list(dirtyFolder(home))) ?? []) {
    const thread = name.endsWith(CLAIM) ? name.slice(0, -1) : name;
    if (isThreadId(thread)) found.add(thread);
  }
  return [...found].toSorted().reverse();
}

export function claim(home: Home, thread: ThreadId): void {
  attempt(() => realFiles.rename(markFile(home, thread), claimFile(home, thread)));
}
/** The thread stays marked. */
export function release(home: Home, thread: ThreadId): void {
  attempt(() => realFiles.rename(claimFile(home, thread), markFile(home, thread)));
}
/** The claimed change is in the index. */
export function settle(home: Home, thread: ThreadId): void {
  attempt(() => realFiles.unlink(claimFile(home, thread)));
}

export function readStamp(home: Home): string | null {
  return attempt(() => realFiles.readLink(stampFile(home))) ?? null;
}
/** A symbolic link that leads nowhere: its text is replaced at once or not at all, and needs no opening. */
export function writeStamp(home: Home, stamp: string): void {
  realFiles.makeFolder(dirtyFolder(home));
  const fresh = `${stampFile(home)}-${stamp}`;
  realFiles.symlink(stamp, fresh);
  realFiles.rename(fresh, stampFile(home));
}

/** Marks are a help, not a need: a home that cannot be written to has none. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
