/**
 * Tree: everything that a command started, as something that can be ended.
 */
import { setTimeout as delay } from "node:timers/promises";
import { carriesMark } from "./mark.ts";
import { processIds, processTable, statusOf, type Status } from "./process-table.ts";

const MOST_LOOKS = 5;

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
 * A process group, and once it is being stopped also what left the group: what carries the command's mark, and what a process of it started,
 * as long as its parents live to tell. A command that ends by itself may leave a process in a session of its own (`setsid`): that takes intent.
 */
export function groupTree(group: number, mark: string): Tree {
  let stopping = false;
  const family = createFamily(group, mark);
  function end(name: NodeJS.Signals): void {
    const strays = stopping ? family.find() : [];
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
      const isLeft = (): boolean => (signal(-group, 0) && hasRunning(group)) || (stopping && family.find().length > 0);
      for (let round = 0; round < 20 && isLeft(); round++) {
        end("SIGKILL");
        await delay(2);
      }
      return !isLeft();
    },
  };
}

/**
 * The processes of a command, whatever they did to leave it. Who was found once is known until it ends, also when its parents are gone; who
 * is older than the command is looked at once only.
 */
function createFamily(group: number, mark: string) {
  const since = Number(statusOf(group)?.born ?? 0);
  const older = new Set<number>();
  const known = new Map<number, string>();

  function look(): Status[] {
    const table = processIds().flatMap((pid) => (older.has(pid) ? [] : (statusOf(pid) ?? [])));
    for (const { pid, born } of table) if (Number(born) < since) older.add(pid);
    const members = new Set(table.filter(({ pid, group: own, born }) => !older.has(pid) && (own === group || known.get(pid) === born || carriesMark(pid, mark))).map(({ pid }) => pid));
    for (let size = 0; size !== members.size; ) {
      size = members.size;
      for (const { pid, parent } of table) if (members.has(parent)) members.add(pid);
    }
    return table.filter(({ pid, running }) => members.has(pid) && running);
  }

  return {
    /** Those that run outside of the group, once none is new: what is started meanwhile is found as well. */
    find(): number[] {
      for (let found = look(), rounds = 1; ; found = look(), rounds++) {
        const isNew = found.some(({ pid, born }) => known.get(pid) !== born);
        for (const { pid, born } of found) known.set(pid, born);
        if (!isNew || rounds === MOST_LOOKS) return found.filter((each) => each.group !== group).map(({ pid }) => pid);
      }
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

function isRunning(pid: number): boolean {
  return statusOf(pid)?.running === true;
}

/** Where the system does not say, a group that is there counts as running. */
function hasRunning(group: number): boolean {
  const table = processTable();
  return table.length === 0 || table.some((each) => each.group === group && each.running);
}
