/**
 * Descriptors that this process was started with and would hand on to every command. Node marks the first ones as its own, up to a
 * gap in their numbers; those after a gap would reach the command, and an open folder is a way out of any sandbox.
 */
import { openSync, readFileSync, readdirSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2000000;

let found: { inherited: readonly number[]; nothing: number } | null = null;

/** For `stdio` of spawn: each descriptor that would be handed on is covered by /dev/null. */
export function coverInherited<T>(stdio: readonly (T | number | "ignore" | "pipe")[]): (T | number | "ignore" | "pipe")[] {
  found ??= look();
  const covered = [...stdio];
  for (const descriptor of found.inherited) {
    while (covered.length <= descriptor) covered.push("ignore");
    if (covered[descriptor] === "ignore" && descriptor > 2) covered[descriptor] = found.nothing;
  }
  return covered;
}

function look(): { inherited: readonly number[]; nothing: number } {
  const inherited = listDescriptors().filter((descriptor) => descriptor > 2 && isHandedOn(descriptor));
  return { inherited, nothing: inherited.length > 0 ? openSync("/dev/null", "r+") : -1 };
}

function listDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

function isHandedOn(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/mu.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false;
  }
}
