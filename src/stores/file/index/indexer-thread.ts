/**
 * Starting, stopping and hearing of the indexer's thread.
 *
 * It never keeps the process alive and is never waited for, except by `catchUp`, and at the end until it has left SQLite: that is a moment, and a
 * thread that is ended there aborts the whole process. It starts when a reader found the index lacking, or
 * when something changed and the process has lived for a while, so that a short run never pays for it; it ends when it has
 * had nothing to do for some time. If it fails, lists and searches go on without it; after some failures it is not tried again.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { PassEnd } from "./indexer.ts";
import { BUSY, STOP, type Order, type Report, type ThreadData } from "./messages.ts";
import { higher } from "./need.ts";
import type { Progress } from "./rows.ts";

const LIVED_MS = 2000;
const SOON_MS = 500;
const RETRY_MS = 5000;
const BUSY_POLL_MS = 200;
const IDLE_MS = 10_000;
const STOP_MS = 5000;
const MOST_FAILURES = 3;

type Ended = (end: PassEnd | "failed") => void;

export class IndexerThread {
  readonly #home: string;
  readonly #script: URL;
  readonly #flags = new Int32Array(new SharedArrayBuffer(8));
  #worker: Worker | null = null;
  /** What the next pass is for, and who waits for its end. */
  #next: Order | null = null;
  #waitingForNext: Ended[] = [];
  #running: Ended[] | null = null;
  #current: Order | null = null;
  #timer: NodeJS.Timeout | null = null;
  #idle: NodeJS.Timeout | null = null;
  #failures = 0;
  #closed = false;
  readonly #listeners = new Set<(progress: Progress) => void>();

  constructor(home: string, script: URL) {
    this.#home = home;
    this.#script = script;
  }

  /** Something changed, or is not quite fresh. */
  askSoon(): void {
    this.#want({ need: "refresh", damaged: null });
    if (!this.#running && this.#timer === null) this.#startIn(Math.max(SOON_MS, LIVED_MS - process.uptime() * 1000));
  }

  ask(order: Order): void {
    this.#want(order);
    this.#startIn(0);
  }

  /** True when the index holds everything that was there when this was called. */
  async catchUp({ signal, onProgress, onBusy }: { signal: AbortSignal | undefined; onProgress: (progress: Progress) => void; onBusy: () => void }): Promise<boolean> {
    const aborted = new Promise<"aborted">((resolve) => signal?.addEventListener("abort", () => resolve("aborted"), { once: true }));
    this.#listeners.add(onProgress);
    const alive = setInterval(() => {}, 60_000);
    try {
      for (;;) {
        if (this.#closed || signal?.aborted) return false;
        const end = await Promise.race([aborted, this.#pass()]);
        if (end === "complete") return true;
        if (end !== "busy") return false;
        onBusy();
        await Promise.race([aborted, sleep(BUSY_POLL_MS)]);
      }
    } finally {
      clearInterval(alive);
      this.#listeners.delete(onProgress);
    }
  }

  #pass(): Promise<PassEnd | "failed"> {
    return new Promise((resolve) => {
      this.#waitingForNext.push(resolve);
      this.ask({ need: "reconcile", damaged: null });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#clearTimers();
    Atomics.store(this.#flags, STOP, 1);
    const worker = this.#worker;
    if (worker && this.#running) {
      const timeout = new AbortController();
      const ended = new Promise<void>((resolve) => this.#running!.push(() => resolve()));
      await Promise.race([ended, sleep(STOP_MS, undefined, { signal: timeout.signal }).catch(() => {})]);
      timeout.abort();
    }
    if (!this.#isBusy()) await worker?.terminate();
    this.#answer("stopped");
  }

  #isBusy(): boolean {
    return Atomics.load(this.#flags, BUSY) !== 0;
  }

  /** For a process that exits, which ends all its threads wherever they are. */
  readonly #leave = (): void => {
    Atomics.store(this.#flags, STOP, 1);
    if (this.#isBusy()) Atomics.wait(this.#flags, BUSY, 1, STOP_MS);
  };

  #want(order: Order): void {
    this.#next = this.#next ? { need: higher(this.#next.need, order.need), damaged: order.damaged ?? this.#next.damaged } : order;
  }

  #startIn(delay: number): void {
    this.#clearTimers();
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.#start(), delay);
    this.#timer.unref();
  }

  #clearTimers(): void {
    clearTimeout(this.#timer ?? undefined);
    clearTimeout(this.#idle ?? undefined);
    this.#timer = null;
    this.#idle = null;
  }

  #start(): void {
    this.#timer = null;
    if (this.#running || this.#closed || !this.#next) return;
    const worker = this.#failures >= MOST_FAILURES ? null : (this.#worker ??= this.#spawn());
    if (!worker) return this.#answer("failed");
    this.#running = this.#waitingForNext;
    this.#waitingForNext = [];
    this.#current = this.#next;
    this.#next = null;
    Atomics.store(this.#flags, BUSY, 1);
    worker.postMessage(this.#current);
  }

  #spawn(): Worker | null {
    if (!existsSync(fileURLToPath(this.#script))) return null;
    const workerData: ThreadData = { home: this.#home, flags: this.#flags.buffer as SharedArrayBuffer };
    const worker = new Worker(this.#script, { workerData, name: "skein index" });
    process.once("exit", this.#leave);
    worker.on("message", (report: Report) => {
      if (report.type === "progress") for (const listener of this.#listeners) listener(report.progress);
      else this.#ended(report.end);
    });
    worker.on("error", () => {});
    worker.on("exit", () => {
      process.off("exit", this.#leave);
      Atomics.store(this.#flags, BUSY, 0);
      if (this.#worker === worker) this.#worker = null;
      if (this.#running) this.#ended("failed");
    });
    // Listening for messages makes it keep the process alive, so this comes after.
    worker.unref();
    return worker;
  }

  #ended(end: PassEnd | "failed"): void {
    this.#failures = end === "failed" ? this.#failures + 1 : 0;
    const waited = this.#running ?? [];
    this.#running = null;
    if ((end === "busy" || end === "failed") && this.#current) this.#want(this.#current);
    this.#current = null;
    if (this.#next) this.#startIn(end === "busy" || end === "failed" ? RETRY_MS : this.#waitingForNext.length > 0 ? 0 : SOON_MS);
    else this.#endWhenIdle();
    for (const ended of waited) ended(end);
  }

  #endWhenIdle(): void {
    if (this.#closed) return;
    this.#idle = setTimeout(() => void this.#worker?.terminate(), IDLE_MS);
    this.#idle.unref();
  }

  /** Nobody will: those who wait are told so. */
  #answer(end: PassEnd | "failed"): void {
    const waiting = [...(this.#running ?? []), ...this.#waitingForNext];
    this.#running = null;
    this.#waitingForNext = [];
    for (const ended of waiting) ended(end);
  }
}
