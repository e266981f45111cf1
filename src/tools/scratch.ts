/**
 * Scratch: a folder of this process alone (0700), removed when it exits, or by a later process when it was killed. It holds what running
 * a command needs on disk:
 *
 * - `tmp/`, which sandboxed commands that may write see as /tmp, so that what one call leaves there the next one finds;
 * - named pipes. Node's own pipes are sockets, which a command cannot open again: `echo >/dev/stderr` fails on them. One pipe takes
 *   both output streams of a command, so what it wrote is read in the order in which it was written;
 * - small files that are handed to a child as a descriptor.
 */
import { execFile } from "node:child_process";
import { chmodSync, closeSync, constants, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface OutputPipe {
  readonly reader: Socket;
  /** For the child; closed here once it is started. */
  readonly writer: number;
}

export interface InputPipe {
  /** For the child; to be closed here once it is started. */
  readonly reader: number;
  readonly writer: Socket;
}

export interface Scratch {
  readonly path: string;
  readonly tmp: string;
  pipe(): Promise<OutputPipe>;
  input(): Promise<InputPipe>;
  /** A descriptor that reads `bytes` from their start. */
  descriptor(name: string, bytes: Uint8Array): number;
}

const PIPES_AT_ONCE = 16;
const MKFIFO = "mkfifo";
const PREFIX = "skein-scratch-";

let current: Scratch | null = null;

/** The folder of this process; a new one if a cleaner of /tmp took the last. */
export function scratch(): Scratch {
  if (!current || !existsSync(current.tmp)) current = createScratch();
  return current;
}

function createScratch(): Scratch {
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  void removeAbandoned(tmpdir());
  process.once("exit", () => rmSync(path, { recursive: true, force: true }));
  const tmp = join(path, "tmp");
  mkdirSync(tmp);
  chmodSync(tmp, 0o1777);
  const written = new Set<string>();
  const spare: string[] = [];
  let making: Promise<void> | null = null;
  let count = 0;

  async function makePipes(): Promise<void> {
    const names = Array.from({ length: PIPES_AT_ONCE }, () => join(path, `pipe-${count++}`));
    await mkfifo(names);
    spare.push(...names);
  }
  function refill(): Promise<void> {
    making ??= makePipes().finally(() => (making = null));
    return making;
  }

  async function takePipe(): Promise<string> {
    while (spare.length === 0) await refill();
    const name = spare.shift()!;
    if (spare.length < PIPES_AT_ONCE / 4) refill().catch(() => {});
    return name;
  }

  return {
    path,
    tmp,
    async pipe() {
      const name = await takePipe();
      const reading = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
      const writer = openSync(name, constants.O_WRONLY);
      unlinkSync(name);
      return { reader: new Socket({ fd: reading, readable: true, writable: false }), writer };
    },
    async input() {
      const name = await takePipe();
      // Opening a pipe to write needs a reader, and the child's own end must block, which opening it needs a writer for.
      const first = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
      const writing = openSync(name, constants.O_WRONLY | constants.O_NONBLOCK);
      const reader = openSync(name, constants.O_RDONLY);
      closeSync(first);
      unlinkSync(name);
      return { reader, writer: new Socket({ fd: writing, readable: false, writable: true }) };
    },
    descriptor(name, bytes) {
      const file = join(path, name);
      if (!written.has(name)) writeFileSync(file, bytes, { mode: 0o600 });
      written.add(name);
      return openSync(file, constants.O_RDONLY);
    },
  };
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
    if (pid > 0 && !exists(pid)) await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function mkfifo(names: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(MKFIFO, ["-m", "600", ...names], { env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" } }, (error) => (error ? reject(error) : resolve()));
  });
}

