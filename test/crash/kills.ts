/**
 * Kills a real writer at random moments and opens what it left. The result says what was lost; nothing may be.
 *
 * A kill hits in mid-write when it left a torn tail, or records that are complete but were not acknowledged. A run in which no kill
 * did proves nothing and counts as failed.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openFileStore } from "../../src/stores/file/store.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { random, textOf } from "./content.ts";

export interface KillOptions {
  program: string;
  home: string;
  kills: number;
  seed?: number;
  /** So many writers at once, each with its own thread. */
  parallel?: number;
}
export interface KillResult {
  kills: number;
  midWrite: number;
  torn: number;
  unacknowledged: number;
  acknowledged: number;
  forks: number;
  blobs: number;
  /** What should not have happened, in words. */
  failures: string[];
}

/** A process takes about so long to start; then it opens the thread and mends what the kill before left. */
const STARTING_US = 60_000;
const KILLS_A_THREAD = 10;
const SETTINGS = { model: "m", model_provider: "p", cwd: "/", approval_policy: "never", sandbox_mode: "read-only" };

export async function killWriters({ program, home, kills, seed = 1, parallel = 2 }: KillOptions): Promise<KillResult> {
  const result: KillResult = { kills: 0, midWrite: 0, torn: 0, unacknowledged: 0, acknowledged: 0, forks: 0, blobs: 0, failures: [] };
  const lanes = Array.from({ length: parallel }, async (_, lane) => {
    const next = random(seed * 1000 + lane + 1);
    for (let number = 0; result.kills < kills && result.failures.length === 0; number++) {
      const victim = new Victim({ program, home, thread: `lane${lane}-${String(number).padStart(6, "0")}`, next, result });
      await victim.create();
      for (let kill = 0; kill < KILLS_A_THREAD && result.kills < kills && result.failures.length === 0; kill++) {
        result.kills += 1;
        await victim.kill();
      }
      await victim.verify();
    }
  });
  await Promise.all(lanes);
  if (result.midWrite === 0) result.failures.push("no kill hit in mid-write, so the run proves nothing");
  return result;
}

interface VictimOptions {
  program: string;
  home: string;
  thread: string;
  next: () => number;
  result: KillResult;
}

class Victim {
  readonly #options: VictimOptions;
  readonly #forks: string[] = [];
  readonly #blobs: { sha256: string; bytes: number }[] = [];
  /** Every record below this was acknowledged. */
  #acknowledged = 0;

  constructor(options: VictimOptions) {
    this.#options = options;
  }

  #store() {
    return openFileStore({ home: this.#options.home, host: "crash", pid: process.pid, now: () => new Date().toISOString() });
  }

  async create(): Promise<void> {
    const { thread } = this.#options;
    const log = await this.#store().create(thread, { type: "thread.created", id: thread, base: null, source: "exec", settings: SETTINGS });
    await log.close();
    this.#acknowledged = 1;
  }

  async kill(): Promise<void> {
    const { next, result } = this.#options;
    const reports = next() % 13;
    const lines = await this.#runUntilKilled({ reports, microseconds: reports === 0 ? STARTING_US + (next() % STARTING_US) : next() % 4000 });
    for (const line of lines) this.#note(line);
    await this.#reopen();
    result.midWrite = result.torn + result.unacknowledged;
  }

  /** Lets the writer run until so many reports, and then so many microseconds more, kills it, and gives all its reports. */
  #runUntilKilled({ reports, microseconds }: { reports: number; microseconds: number }): Promise<string[]> {
    const { program, home, thread, next } = this.#options;
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [program, home, thread, String(next())], { stdio: ["ignore", "pipe", "pipe"] });
      let out = "";
      let err = "";
      let killing = false;
      const killSoon = () => {
        killing = true;
        setTimeout(() => child.kill("SIGKILL"), microseconds / 1000);
      };
      if (reports === 0) killSoon();
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        out += text;
        if (!killing && out.split("\n").length > reports) killSoon();
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
      child.on("error", reject);
      child.on("close", (_code, signal) => {
        if (signal === "SIGKILL") resolve(out.split("\n").slice(0, -1));
        else reject(new Error(`the writer ended by itself: ${err}`));
      });
    });
  }

  #note(line: string): void {
    const { result } = this.#options;
    const [kind, first = "", second = ""] = line.split(" ");
    if (kind === "a") this.#acknowledged = Math.max(this.#acknowledged, Number(first) + 1);
    else if (kind === "d" && Number(first) >= this.#acknowledged) this.#fail(`durable ${first} was reported and never acknowledged`);
    else if (kind === "o" && Number(first) < this.#acknowledged) this.#fail(`opened at ${first} though ${this.#acknowledged - 1} was acknowledged`);
    else if (kind === "f") {
      this.#forks.push(first);
      result.forks += 1;
    } else if (kind === "b") {
      this.#blobs.push({ sha256: first, bytes: Number(second) });
      result.blobs += 1;
    }
  }

  /** Opens what was left, as the next process would. */
  async #reopen(): Promise<void> {
    const { thread, result } = this.#options;
    const store = this.#store();
    const found = Number(await store.head(thread));
    const opened = await store.open(thread);
    if (!opened.ok) return this.#fail(`cannot be opened: ${opened.message}`);
    const { log, repairs } = opened;
    if (log.head < this.#acknowledged) this.#fail(`${this.#acknowledged - 1} was acknowledged, but the log ends before ${log.head}`);
    if (repairs.length > 0) result.torn += 1;
    if (found > this.#acknowledged || log.head > found) result.unacknowledged += 1;
    if (repairs.some((repair) => !repair.includes("cut off") && !repair.includes("newline"))) this.#fail(`unexpected repairs: ${repairs.join(" ")}`);
    result.acknowledged += Math.max(0, log.head - this.#acknowledged);
    this.#acknowledged = log.head;
    await log.close();
    await store.close();
  }

  /** Reads everything: no seq is missing or twice, every record is what was written, forks and blobs are there. */
  async verify(): Promise<void> {
    const { home, thread, result } = this.#options;
    const store = this.#store();
    let due = 0;
    for await (const record of store.read(thread, { onDamage: ({ offset, why }) => this.#fail(`damage at ${offset}: ${why}`) })) {
      if (record.seq !== due) return this.#fail(`record ${record.seq} came where ${due} was due`);
      if (due > 0 && !isAsWritten(record)) return this.#fail(`record ${record.seq} is not what was written`);
      due += 1;
    }
    if (due < this.#acknowledged) this.#fail(`read ${due} records of ${this.#acknowledged}`);
    result.acknowledged += due - this.#acknowledged;
    const lines = readFileSync(join(home, "sessions", thread, "rollout.jsonl"), "latin1").match(/^\{"v":1,"seq":\d+/gmu) ?? [];
    if (new Set(lines).size !== lines.length) this.#fail("a seq is in the file twice");
    for (const fork of this.#forks) {
      const opened = await store.open(fork);
      if (!opened.ok) this.#fail(`the fork ${fork} was made and is not there: ${opened.message}`);
    }
    for (const ref of this.#blobs) if ((await store.blobs.get(thread, ref)) === null) this.#fail(`the blob ${ref.sha256} was kept and is not there`);
    for (const id of await store.find("")) if ((await store.header(id)) === null) this.#fail(`${id} has no header`);
    await store.close();
    result.acknowledged += this.#acknowledged;
  }

  #fail(what: string): void {
    this.#options.result.failures.push(`${this.#options.thread}: ${what}`);
  }
}

function isAsWritten(record: LogRecord): boolean {
  if (record.type !== "item.added") return false;
  const { text } = (record as unknown as { item: { content: { text: string }[] } }).item.content[0]!;
  return text === textOf(record.seq, text.length - textOf(record.seq, 0).length);
}
