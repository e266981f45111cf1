/** Where measurements keep their data, and the sessions that they are made on, generated in processes of their own. */
import { mkdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Made } from "../generate/session.ts";
import type { MadeMany } from "../generate/many.ts";
import { inChild, say } from "./measure.ts";

export interface Home<T> {
  home: string;
  made: T;
}

export interface Data {
  /** A new empty folder on a disk. */
  folder(name: string): string;
  /** A home with one session of about so many MB, and its forks. */
  session(megabytes: number): Promise<Home<Made>>;
  /** A home with many small sessions; in memory where there is room, because making so many files takes a disk minutes. */
  many(sessions: number): Promise<Home<MadeMany>>;
  /** Makes them now, so that nothing else runs while something is measured. */
  prepare(wanted: { megabytes: readonly number[]; sessions: readonly number[] }): Promise<void>;
  remove(): void;
  readonly root: string;
  readonly memory: string;
}

const ROOM = 8e9;

export function createData({ onDisk }: { onDisk: boolean }): Data {
  const bundle = fileURLToPath(new URL(".", import.meta.url));
  const root = process.env["SKEIN_BENCH_DATA"] ?? join(bundle, "data");
  const memory = !onDisk && hasRoom("/dev/shm") ? `/dev/shm/skein-bench-${process.pid}` : join(root, "many");
  const made = new Map<string, Promise<unknown>>();
  const once = <T>(name: string, make: () => Promise<T>): Promise<T> => {
    const known = (made.get(name) ?? make()) as Promise<T>;
    made.set(name, known);
    return known;
  };
  const generated = async <T extends { bytes: number }>(task: string, given: { home: string }): Promise<Home<T>> => {
    const started = performance.now();
    const result = await inChild<T>(task, given);
    const seconds = (performance.now() - started) / 1000;
    say(`made ${given.home} (${Math.round(result.bytes / 1e6)} MB in ${seconds.toFixed(1)} s)`);
    return { home: given.home, made: result };
  };
  const data: Data = {
    root,
    memory,
    folder(name) {
      const path = join(root, name);
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path, { recursive: true });
      return path;
    },
    session: (megabytes) => once(`session-${megabytes}`, () => generated<Made>("generate", { home: join(root, `session-${megabytes}`), bytes: megabytes * 1e6, seed: 3 } as { home: string })),
    many: (sessions) => once(`many-${sessions}`, () => generated<MadeMany>("generateMany", { home: join(memory, `many-${sessions}`), sessions, seed: 3 } as { home: string })),
    async prepare({ megabytes, sessions }) {
      const queue = [...sessions.toSorted((a, b) => b - a).map((count) => () => data.many(count)), ...megabytes.toSorted((a, b) => b - a).map((size) => () => data.session(size))];
      const work = async () => {
        for (let next = queue.shift(); next; next = queue.shift()) await next();
      };
      await Promise.all([work(), work()]);
    },
    remove() {
      rmSync(root, { recursive: true, force: true });
      rmSync(memory, { recursive: true, force: true });
    },
  };
  mkdirSync(root, { recursive: true });
  return data;
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
}
