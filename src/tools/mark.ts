/**
 * Mark: a variable in a command's environment that tells its processes from all others, also those that left its process group and
 * whose parents are gone. A process can wash it off; what may do so is run in a sandbox, whose end is the end of all in it.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";

export const MARK_VARIABLE = "SKEIN_CALL";

export function createMark(): string {
  return randomBytes(12).toString("hex");
}

/** Linux only: elsewhere nothing is found. */
export function markedProcesses(mark: string): number[] {
  const wanted = `${MARK_VARIABLE}=${mark}`;
  return processes().filter((pid) => pid !== process.pid && environmentOf(pid).includes(wanted));
}

function processes(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}
