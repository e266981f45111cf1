/**
 * A machine of append, fork, rewind, compact, save, close, crash and reopen against the simplest model there is: lists of the
 * records that were acknowledged. After each run every thread is read in both directions and loaded from its nearest carry, and
 * must be what the model says, replayed from zero.
 */
import { appendFileSync, rmSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decide } from "../../src/core/decide.ts";
import { historyFrom } from "../../src/core/history.ts";
import { asKnown } from "../../src/core/known.ts";
import { live } from "../../src/core/lineage.ts";
import { load, runReads } from "../../src/core/load.ts";
import { reduce } from "../../src/core/reduce.ts";
import { born, carryOf, type State } from "../../src/core/state.ts";
import type { Log } from "../../src/core/store.ts";
import { encode } from "../../src/protocol/codec.ts";
import type { Draft, LogRecord, Position, ThreadId } from "../../src/protocol/record.ts";
import { homeAt } from "../../src/stores/file/layout.ts";
import { sealLine, sealOf } from "../../src/stores/file/line.ts";
import { loadState } from "../../src/stores/file/loading.ts";
import type { FileStore } from "../../src/stores/file/store.ts";
import { FaultyFiles, quickFiles } from "./faulty.ts";
import { created, logFile, mustOpen, newHome, queued, ROOT, said, storeAt, threadId, ticking } from "./given.ts";

const RUNS = Number(process.env["MACHINE_RUNS"] ?? 10_000);

type Command =
  | { do: "append"; thread: number; picks: number[] }
  | { do: "fork" | "rewind" | "compact"; thread: number; at: number }
  | { do: "save" | "close"; thread: number }
  | { do: "crash"; torn: number | null };

const thread = fc.nat(3);
const at = fc.nat(99);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("append" as const), thread, picks: fc.array(fc.nat(11), { minLength: 1, maxLength: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("fork" as const, "rewind" as const, "compact" as const), thread, at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("save" as const, "close" as const), thread }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), torn: fc.option(fc.nat(300)) }) },
);

class Machine {
  readonly #home: string;
  readonly #faulty = new FaultyFiles(quickFiles);
  readonly #now = ticking();
  readonly #open = new Map<ThreadId, Log>();
  readonly model = new Map<ThreadId, LogRecord[]>();
  #store: FileStore;
  #ops = 0;

  constructor(home: string) {
    this.#home = home;
    this.#store = this.#start();
  }
  #start(): FileStore {
    return storeAt(this.#home, { files: this.#faulty.files, now: this.#now });
  }

  async run(commands: readonly Command[]): Promise<void> {
    await this.#create(ROOT, null);
    for (const step of commands) await this.#step(step);
    await this.#check();
    this.#faulty.die();
  }

  async #step(step: Command): Promise<void> {
    if (step.do === "crash") return this.#crash(step.torn);
    const id = this.#pick(step.thread);
    switch (step.do) {
      case "append":
        for (const pick of step.picks) await this.#append(id, this.#draft(id, pick));
        return;
      case "fork":
        if (this.model.size < 4) await this.#create(threadId(this.model.size), { thread: id, before: this.#place(id, step.at) });
        return;
      case "rewind": {
        const before = this.#place(id, step.at);
        const target = this.#state({ thread: id, before });
        const decision = decide(this.#state(this.#end(id))!, { id: this.#op(), type: "rewind", before }, target ? { target } : {});
        if (decision.ok) for (const draft of decision.records) await this.#append(id, draft);
        return;
      }
      case "compact": {
        const state = this.#state(this.#end(id))!;
        const from = state.talk.history.from;
        const keepFrom = from + Math.floor(((state.head - from) * step.at) / 99);
        await this.#append(id, { type: "history.compacted", summary: [said(`before ${keepFrom}`)], keepFrom, previous: state.talk.history, tokens: { before: 2, after: 1 }, carry: carryOf(state) });
        return;
      }
      case "save":
        return this.#append(id, { type: "state.saved", carry: carryOf(this.#state(this.#end(id))!) });
      case "close": {
        const log = this.#open.get(id);
        this.#open.delete(id);
        return log?.close();
      }
    }
  }

  /** The process dies; a write may have been under way in the thread that was written last. */
  async #crash(torn: number | null): Promise<void> {
    const last = [...this.#open.keys()].at(-1);
    this.#faulty.die();
    this.#open.clear();
    if (torn !== null && last) {
      const line = sealLine(encode(queued("torn", "x".repeat(200)), { seq: this.#end(last).before, at: this.#now() }), sealOf(last));
      appendFileSync(logFile(this.#home, last), line.subarray(0, Math.min(torn, line.length - 2)));
    }
    this.#store = this.#start();
  }

  async #create(id: ThreadId, base: Position | null): Promise<void> {
    this.#open.set(id, await this.#store.create(id, created(id, base)));
    this.model.set(id, [(await this.#store.header(id))!]);
  }
  async #append(id: ThreadId, draft: Draft): Promise<void> {
    let log = this.#open.get(id);
    if (!log) {
      log = (await mustOpen(this.#store, id)).log;
      this.#open.set(id, log);
    }
    this.model.get(id)!.push(...structuredClone(log.append([draft])));
  }

  #draft(id: ThreadId, pick: number): Draft {
    const { talk } = this.#state(this.#end(id))!;
    const turn = talk.turn?.id ?? "t0";
    const call = talk.turn?.calls[0];
    switch (pick) {
      case 0:
        return queued(this.#op());
      case 1:
        return { type: "turn.started", inputs: talk.queue.map(({ seq }) => seq), turn: this.#op() };
      case 2:
        return { type: "sample.started", turn, origin: { wire: "replay", provider: "p", model: "m" } };
      case 3:
        return { type: "sample.ended", sample: talk.turn?.sample?.seq ?? 0, status: "done", usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 }, turn };
      case 4:
        return { type: "item.added", id: this.#op(), item: said("hello"), turn };
      case 5:
        return { type: "item.added", id: this.#op(), item: { type: "function_call", call_id: this.#op(), name: "exec", arguments: "{}" }, turn };
      case 6:
        return { type: "call.started", call: call?.call ?? "none", tool: "exec", envelope: { cwd: "/", sandbox: "read-only" }, turn };
      case 7:
        return { type: "call.ended", call: call?.call ?? "none", tool: "exec", status: "done", output: { type: "function_call_output", call_id: call?.call ?? "none", output: "out" }, turn };
      case 8:
        return { type: "turn.ended", status: "completed", turn };
      case 9:
        return { type: "thread.described", op: this.#op(), title: `title ${this.#ops}` };
      case 10:
        return { type: "never.heard.of", of: { it: [this.#ops] } };
      default:
        return { type: "writer.opened", epoch: this.#ops, pid: 1, host: "h" };
    }
  }

  #op(): string {
    this.#ops += 1;
    return `op${this.#ops}`;
  }
  #pick(number: number): ThreadId {
    return threadId(number % this.model.size);
  }
  #end(id: ThreadId): Position {
    return { thread: id, before: this.model.get(id)!.at(-1)!.seq + 1 };
  }
  /** A place in the thread, or before it in those that it was forked from. */
  #place(id: ThreadId, percent: number): number {
    return Math.max(1, Math.round((this.#end(id).before * percent) / 99));
  }
  #state(position: Position): State | null {
    return runReads(load(position), (need) => {
      const log = this.model.get(need.thread) ?? [];
      return need.kind === "header" ? log.slice(0, 1) : log.filter(({ seq }) => seq < need.before).toReversed();
    });
  }

  async #check(): Promise<void> {
    for (const [id, expected] of this.model) {
      const forward: LogRecord[] = [];
      for await (const record of this.#store.read(id, {})) forward.push(record);
      same(forward, expected);
      const backward: LogRecord[] = [];
      for await (const record of this.#store.read(id, { order: "backward" })) backward.push(record);
      same(backward.reverse(), expected);
      same(loadState(homeAt(this.#home), id, quickFiles), fromZero(this.model, this.#end(id)));
    }
  }
}

function fromZero(logs: ReadonlyMap<string, readonly LogRecord[]>, position: Position): State {
  const [first, ...rest] = live(logs, position);
  let state = born(first!, null);
  for (const record of rest) state = reduce(state, record);
  state.history = historyFrom([first!, ...rest].map(asKnown).filter((record) => record !== null), state.talk.history);
  return { ...state, head: position.before, stale: false };
}

function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

it(`the store agrees with the model in ${RUNS} runs`, async () => {
  const home = newHome();
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 12 }), async (commands) => {
      rmSync(home, { recursive: true, force: true });
      await new Machine(home).run(commands);
    }),
    { numRuns: RUNS },
  );
}, 600_000);
