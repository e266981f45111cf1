/**
 * Mark: a variable in a command's environment that tells its processes from all others, also those that left its process group and
 * whose parents are gone. A process can wash it off: then its parents tell whose it is, for as long as they live (tree.ts). What may do so
 * is run in a sandbox, whose end is the end of all in it.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

export const MARK_VARIABLE = "SKEIN_CALL";

export function createMark(): string {
  return randomBytes(12).toString("hex");
}

/** Linux only: elsewhere none does. */
export function carriesMark(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`${MARK_VARIABLE}=${mark}`);
  } catch {
    return false;
  }
}
