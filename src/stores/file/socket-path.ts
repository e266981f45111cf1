/**
 * Where a process that owns threads listens: `<home>/run/<pid>.sock`, or, where that is longer than a socket's name may be, a folder of
 * this user's under the system's temporary one. What dead processes left there is removed.
 */
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeFolders } from "./files.ts";

/** What every Unix takes, with room for the end of the string. */
const LONGEST = 100;

export function socketPath(home: string, pid: number): string | null {
  const near = join(resolve(home), "run");
  const folder = Buffer.byteLength(join(near, `${pid}.sock`)) <= LONGEST ? near : awayFrom(home);
  try {
    makeFolders(folder);
    chmodSync(folder, 0o700);
    if (process.getuid && statSync(folder).uid !== process.getuid()) return null;
    for (const name of readdirSync(folder)) if (isLeftOver(name, pid)) unlinkSync(join(folder, name));
  } catch {
    return null;
  }
  return join(folder, `${pid}.sock`);
}

function awayFrom(home: string): string {
  const key = createHash("sha256").update(resolve(home)).digest("hex").slice(0, 16);
  return join(tmpdir(), `skein-${process.getuid?.() ?? 0}-${key}`);
}

function isLeftOver(name: string, self: number): boolean {
  const pid = Number(/^(\d+)\.sock$/u.exec(name)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(pid)) return false;
  if (pid === self) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
