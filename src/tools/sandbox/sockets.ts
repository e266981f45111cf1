/**
 * Sockets: Unix sockets of the host that have a path. A read-only mount does not keep anybody from connecting to one, so each that
 * would be seen in the sandbox is masked. Most are in /run and /tmp, which the sandbox has for itself.
 */
import { lstatSync, readFileSync } from "node:fs";

export function hostSockets(): string[] {
  return [...new Set(listed().filter(isSocket))];
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}

function listed(): string[] {
  try {
    return readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .map((line) => line.slice(line.indexOf(" /") + 1))
      .filter((path) => path.startsWith("/"));
  } catch {
    return [];
  }
}
