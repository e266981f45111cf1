/**
 * Tree: everything that a command started, as something that can be ended.
 */
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { markedProcesses } from "./mark.ts";

export interface Tree {
  /** What Ctrl-C does. */
  interrupt(): void;
  /** Asks all of it to end. */
  terminate(): void;
  /** Ends all of it. */
  kill(): void;
  /** Its first process has ended: ends what that one left behind. */
  sweep(): void;
  /** Whether nothing is left, once that is so or nothing more can be done about it. */
  gone(): Promise<boolean>;
}

/**
 * A process group, and once it is being stopped also what carries the command's mark outside of the group. A command that ends by
 * itself may leave a process in a session of its own (`setsid`): that takes intent.
 */
export function groupTree(group: number, mark: string): Tree {
  let stopping = false;
  function end(name: NodeJS.Signals): void {
    const strays = stopping ? markedProcesses(mark) : [];
    signal(-group, name);
    for (const pid of strays) signal(pid, name);
  }
  return {
    interrupt: () => void signal(-group, "SIGINT"),
    terminate() {
      stopping = true;
      end("SIGTERM");
    },
    kill: () => end("SIGKILL"),
    sweep: () => end("SIGKILL"),
    async gone() {
      const isLeft = (): boolean => (signal(-group, 0) && hasRunning(group)) || (stopping && markedProcesses(mark).length > 0);
      for (let round = 0; round < 20 && isLeft(); round++) {
        end("SIGKILL");
        await delay(2);
      }
      return !isLeft();
    },
  };
}

/**
 * The processes of a bubblewrap sandbox. `init()` is their first one, or null until it is known: it leads their group, it dies with
 * bubblewrap, and when it has ended all others have. While it is unknown bubblewrap is not killed at once: its child notices that
 * only from some point on, and until then would go on alone.
 */
export function namespaceTree(bubblewrap: number, init: () => number | null): Tree {
  return {
    interrupt() {
      const pid = init();
      if (pid !== null) signal(-pid, "SIGINT");
    },
    terminate() {
      const pid = init();
      if (pid !== null) signal(-pid, "SIGTERM");
    },
    kill() {
      const pid = init();
      if (pid !== null) signal(pid, "SIGKILL");
      signal(-bubblewrap, "SIGKILL");
    },
    sweep() {},
    async gone() {
      const pid = init();
      if (pid === null) return true;
      for (let waited = 0; waited < 2000 && isRunning(pid); waited++) await delay(1);
      return !isRunning(pid);
    },
  };
}

function signal(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}

/** A zombie has ended: only its parent has not heard of it yet. */
function isRunning(pid: number): boolean {
  return statusOf(pid)?.running === true;
}

/** Where the system does not say, a group that is there counts as running. */
function hasRunning(group: number): boolean {
  try {
    return readdirSync("/proc").some((name) => {
      const status = statusOf(Number(name));
      return status?.group === group && status.running;
    });
  } catch {
    return true;
  }
}

function statusOf(pid: number): { running: boolean; group: number } | null {
  if (!Number.isInteger(pid)) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { running: state !== "Z" && state !== "X", group: Number(group) };
  } catch {
    return null;
  }
}
