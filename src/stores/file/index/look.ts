/**
 * What the folders say now, by stat alone.
 *
 * A print names the state of a thread's log and metadata.json: same print, same summary. It is made of sizes, times and
 * identities; times have a grain of some milliseconds, so a print taken right after a change is not yet proof of anything
 * (`isSettled`).
 */
import type { ThreadId } from "../../../protocol/record.ts";
import { realFiles, type FileStat } from "../files.ts";
import type { Place } from "../header.ts";
import { isThreadId, type Home } from "../layout.ts";
import { isHidden, locate } from "../reader.ts";
import { counters } from "./counters.ts";

export interface Look {
  place: Place;
  archived: boolean;
  print: string;
  log: FileStat | null;
  /** The part of the print that the log makes. */
  logPrint: string;
  changedAt: number;
}

/** Null when there is no such thread, or a hidden one, or one that may not be seen. */
export function look(home: Home, thread: ThreadId): Look | null {
  counters.looks += 1;
  try {
    return lookAt(home, thread);
  } catch {
    return null;
  }
}

function lookAt(home: Home, thread: ThreadId): Look | null {
  const place = locate(home, thread, realFiles);
  if (!place || isHidden(place, realFiles)) return null;
  const log = realFiles.stat(place.files.log);
  const metadata = realFiles.stat(place.files.metadata);
  const logPrint = printOf(log);
  return {
    place,
    archived: place.archived,
    print: `${logPrint} ${printOf(metadata)}`,
    log,
    logPrint,
    changedAt: Math.max(log?.modified ?? 0, metadata?.modified ?? 0),
  };
}

function printOf(stat: FileStat | null): string {
  return stat ? `${stat.size}/${stat.modified}/${stat.identity}` : "-";
}

/** Longer than the grain of a file system's clock. */
export const GRAIN_MS = 50;

/** A change after `time` would show: it cannot get the same time as what is there. */
export function isSettled(time: number, now = Date.now()): boolean {
  return now - time > GRAIN_MS || time > now + GRAIN_MS;
}

/** The times of the two folders: while they stay, no thread came, went or moved. */
export function membershipPrint(home: Home): { print: string; changedAt: number } {
  const stats = [home.sessions, home.archive].map((folder) => realFiles.stat(folder));
  return { print: stats.map((stat) => (stat ? `${stat.modified}/${stat.identity}` : "-")).join(" "), changedAt: Math.max(...stats.map((stat) => stat?.modified ?? 0)) };
}

/** The ids in a folder, newest first. */
export function namesIn(folder: string): ThreadId[] {
  counters.folders += 1;
  if (!realFiles.stat(folder)) return [];
  return realFiles.list(folder).filter(isThreadId).toSorted().reverse();
}
