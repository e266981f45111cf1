/** Files that can fail: the n-th call, of any kind, with any fault. And files whose process can "die". */
import { realFiles, type Files } from "../../src/stores/file/files.ts";

/** In memory there is nothing to sync; saying so at once saves the way through the thread pool. */
export const quickFiles: Files = { ...realFiles, sync: () => Promise.resolve(), syncFolder: () => Promise.resolve() };

/** `death`: the process ends in the middle of the call; whatever it tries afterwards does not happen. */
export type Fault = "EIO" | "ENOSPC" | "EMFILE" | "EROFS" | "short_write" | "death";
export type CallName = keyof Files;

/** Which calls can meet which fault. */
const MEETS: Record<Fault, ReadonlySet<CallName>> = {
  EIO: new Set((Object.keys(realFiles) as CallName[]).filter((name) => name !== "close")),
  ENOSPC: new Set(["open", "write", "sync", "makeFolder", "rename", "symlink"]),
  EMFILE: new Set(["open", "syncFolder", "list"]),
  EROFS: new Set(["open", "write", "truncate", "makeFolder", "rename", "unlink", "removeAll", "symlink"]),
  short_write: new Set(["write"]),
  death: new Set(Object.keys(realFiles) as CallName[]),
};

export class FaultyFiles {
  /** Calls so far that the fault could have met. */
  calls = 0;
  /** What the fault met; null while it met nothing. */
  hit: CallName | null = null;
  readonly open = new Set<number>();
  readonly files: Files;
  #fault: Fault | null = null;
  #from = 0;
  #times = 0;

  constructor(base: Files = realFiles) {
    const wrapped = Object.fromEntries(
      (Object.keys(base) as CallName[]).map((name) => [
        name,
        (...args: unknown[]) => {
          const call = base[name] as (...given: unknown[]) => unknown;
          if (this.#meets(name, args)) return this.#fail(name, args, call);
          const result = call.apply(base, args);
          if (name === "open") this.open.add(result as number);
          if (name === "close") this.open.delete(args[0] as number);
          return result;
        },
      ]),
    );
    this.files = wrapped as unknown as Files;
  }

  get isDead(): boolean {
    return this.#fault === "death" && this.hit !== null;
  }

  /** Lets the calls from the n-th on (0 is the next) that can meet the fault meet it, so many times. */
  arm(fault: Fault, n = 0, times = 1): void {
    this.#fault = fault;
    this.#from = this.calls + n;
    this.#times = times;
    this.hit = null;
  }
  disarm(): void {
    this.#fault = null;
  }
  /** Counts the calls that a fault could meet, without failing any. */
  count(fault: Fault): void {
    this.arm(fault, Infinity);
    this.calls = 0;
  }
  /** What the kernel does when a process dies: its descriptors are closed, and with them its locks go. */
  die(): void {
    for (const fd of this.open) realFiles.close(fd);
    this.open.clear();
  }

  #meets(name: CallName, args: readonly unknown[]): boolean {
    if (this.#fault === null || !MEETS[this.#fault].has(name)) return false;
    if (this.#fault === "EROFS" && name === "open" && args[1] === "read") return false;
    if (this.#fault === "ENOSPC" && name === "open" && args[1] === "read") return false;
    this.calls += 1;
    return this.calls > this.#from && this.calls <= this.#from + this.#times;
  }

  #fail(name: CallName, args: unknown[], call: (...given: unknown[]) => unknown): unknown {
    const first = this.hit === null;
    this.hit ??= name;
    if (name === "write" && (first || this.#fault !== "death")) {
      const bytes = args[1] as Uint8Array;
      const part = bytes.subarray(0, Math.floor(bytes.byteLength / 2));
      if (part.byteLength > 0) call(args[0], part, args[2]);
      if (this.#fault === "short_write") return part.byteLength;
    }
    if (this.#fault === "death" && name === "close") return undefined;
    const error = Object.assign(new Error(`${this.#fault}: injected into ${name}`), { code: this.#fault });
    if (name === "sync" || name === "syncFolder") return Promise.reject(error);
    throw error;
  }
}
