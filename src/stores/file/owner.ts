/**
 * owner.json: who holds a thread's lock. It informs, the lock decides: it is written after the lock is taken and may be left over
 * from an owner that died. `start` is the process's start time in clock ticks (from /proc), which tells a process from a later one with
 * the same pid.
 */
import { readFileSync } from "node:fs";
import type { Owner } from "../../protocol/rpc.ts";
import type { Files } from "./files.ts";
import { readJson, replaceFile } from "./whole.ts";

export interface OwnerFile extends Owner {
  start: string | null;
}

export function writeOwner(path: string, owner: Owner, files: Files): void {
  replaceFile(path, `${JSON.stringify({ ...owner, start: startOf(owner.pid) }, null, 2)}\n`, files);
}

export function readOwner(path: string, files: Files): OwnerFile | null {
  const found = readJson(path, files);
  if (!found) return null;
  const { pid, host, since, socket, start } = found;
  if (typeof pid !== "number" || typeof host !== "string" || typeof since !== "string") return null;
  return { pid, host, since, socket: typeof socket === "string" ? socket : null, start: typeof start === "string" ? start : null };
}

/** False when it is known that the process is gone; only on its own host can that be known. */
export function mayLive(owner: OwnerFile, host: string): boolean {
  if (owner.host !== host) return true;
  const start = startOf(owner.pid);
  if (start !== null) return owner.start === null || owner.start === start;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Field 22 of /proc/<pid>/stat; null where there is no such process or no /proc. */
export function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

export function busyMessage(thread: string, owner: Owner | null): string {
  const who = owner
    ? `process ${owner.pid} on ${owner.host}, since ${owner.since}`
    : "another process that has not said who it is";
  return `Thread ${thread} is open for writing in ${who}. Nothing was changed. You can follow it live, ask that process to release it, or fork it.`;
}
