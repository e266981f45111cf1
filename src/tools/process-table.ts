/** Process table: the processes of the machine as /proc lists them. Linux only: elsewhere there are none. */
import { readFileSync, readdirSync } from "node:fs";

export interface Status {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** A zombie has ended: only its parent has not heard of it yet. */
  readonly running: boolean;
  /** When it was started: a number that another process with the same ID does not have. */
  readonly born: string;
}

export function processIds(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

export function statusOf(pid: number): Status | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, parent, group, ...more] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, parent: Number(parent), group: Number(group), running: state !== "Z" && state !== "X", born: more[16]! };
  } catch {
    return null;
  }
}

export function processTable(): Status[] {
  return processIds().flatMap((pid) => statusOf(pid) ?? []);
}
