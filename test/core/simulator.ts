/**
 * Simulator: turns commands into the logs of a family of threads, as a runtime would write them, without being one.
 *
 * A command that makes no sense where it stands first does what must come before it (a turn is opened, a sample started), so
 * that short command lists make interesting logs. What is carried in records comes from the real `load`.
 */
import type { Op } from "../../src/protocol/op.ts";
import { isCall, type CallItem } from "../../src/protocol/item.ts";
import type { Draft, HistoryBase, LogRecord, OpenCall, ThreadId } from "../../src/protocol/record.ts";
import { decide } from "../../src/core/decide.ts";
import { asKnown } from "../../src/core/known.ts";
import { live } from "../../src/core/lineage.ts";
import { reduce } from "../../src/core/reduce.ts";
import { carryOf, type State } from "../../src/core/state.ts";
import { created, headOf, ROOT, sealed, stateAt, threadId, type Logs } from "./given.ts";
import { garbageItem, inputItems, modelItem, outputBy, textBy } from "./items.ts";

/** `on` chooses the thread; `a` and `b` choose whatever else there is to choose. */
export interface Command {
  do: keyof typeof VERBS | keyof typeof NOISE | "damage";
  on: number;
  a: number;
  b: number;
}

export class Simulator {
  readonly logs: Logs = new Map();
  readonly threads: ThreadId[] = [];
  readonly #states = new Map<ThreadId, State>();
  readonly #damage: { thread: ThreadId; at: number }[] = [];
  #thread = ROOT;
  #count = 0;
  #clock = Date.UTC(2026, 0, 31, 9);

  constructor() {
    this.start(ROOT, created());
  }

  /** Runs the commands; `only` keeps them all on one thread. */
  run(commands: readonly Command[], only?: ThreadId): this {
    for (const command of commands) {
      this.#thread = only ?? this.threads[command.on % this.threads.length]!;
      if (command.do === "damage") this.#damage.push({ thread: this.#thread, at: command.a });
      else (VERBS[command.do as keyof typeof VERBS] ?? NOISE[command.do as keyof typeof NOISE])(this, command.a, command.b);
    }
    return this;
  }

  /** The logs as a store reads them after lines were lost. */
  damaged(): Logs {
    const logs: Logs = new Map([...this.logs].map(([thread, log]) => [thread, [...log]]));
    for (const { thread, at } of this.#damage) {
      const log = logs.get(thread)!;
      if (log.length > 1) log.splice(at % 50 === 0 ? 0 : 1 + (at % (log.length - 1)), 1);
    }
    return logs;
  }

  get state(): State {
    return this.#states.get(this.#thread)!;
  }
  get thread(): ThreadId {
    return this.#thread;
  }
  get head(): number {
    return headOf(this.logs, this.#thread).before;
  }
  id(prefix: string): string {
    return `${prefix}${this.#count++}`;
  }
  loaded(): State {
    return stateAt(this.logs, headOf(this.logs, this.#thread))!;
  }

  start(thread: ThreadId, first: Draft & { base?: unknown }): void {
    const base = first.base as { before: number } | null;
    this.logs.set(thread, [sealed(first, { seq: base?.before ?? 0, at: this.now(1) })]);
    this.threads.push(thread);
    this.#states.set(thread, stateAt(this.logs, headOf(this.logs, thread))!);
  }

  push(draft: Draft): void {
    const log = this.logs.get(this.#thread)!;
    const record = sealed(draft, { seq: this.head, at: this.now(1) });
    log.push(record);
    const state = reduce(this.state, record);
    this.#states.set(this.#thread, state.stale ? this.loaded() : state);
  }

  /** Clocks go on, and sometimes back. */
  now(seconds: number): string {
    this.#clock += seconds * 1000;
    return new Date(this.#clock).toISOString();
  }

  /** In the open turn, if there is one. */
  say(draft: Draft): void {
    const { turn } = this.state.talk;
    this.push(turn ? { ...draft, turn: turn.id } : draft);
  }

  liveRecords(): LogRecord[] {
    return live(this.logs, headOf(this.logs, this.#thread));
  }
}

type Verb = (sim: Simulator, a: number, b: number) => void;

const pick = <T>(list: readonly T[], n: number): T | undefined => (list.length > 0 ? list[n % list.length] : undefined);

function begin(sim: Simulator, a: number, b: number): void {
  if (sim.state.talk.turn) return;
  if (sim.state.talk.queue.length === 0) VERBS.input(sim, a, b);
  const turn = sim.id("turn-");
  const blob = { sha256: "0".repeat(63) + (a % 10), bytes: a };
  const context: Draft = { type: "context.changed", instructions: blob, tools: blob, items: b % 2 ? [] : inputItems(2), turn };
  if (b % 5 === 0) sim.push(context);
  const inputs = sim.state.talk.queue.slice(0, b % 3 === 0 ? 2 : 1).map((input) => input.seq);
  sim.push({ type: "turn.started", turn, inputs });
  if (b % 5 === 1) sim.push(context);
}

/** A turn that goes on. */
function ready(sim: Simulator, a: number, b: number): void {
  if (sim.state.talk.turn?.interrupted) VERBS.endTurn(sim, a, b);
  begin(sim, a, b);
  if (sim.state.talk.turn?.parked) VERBS.continue(sim);
}

function sampling(sim: Simulator, a: number, b: number): void {
  ready(sim, a, b);
  if (!sim.state.talk.turn!.sample) VERBS.sample(sim, a, b);
}

function callItemOf(sim: Simulator, open: OpenCall): CallItem {
  const entry = sim.state.history.entries.findLast(({ item }) => isCall(item) && item.call_id === open.call);
  return (entry?.item as CallItem | undefined) ?? { type: "function_call", call_id: open.call, name: open.tool, arguments: "{}" };
}

function endCall(sim: Simulator, open: OpenCall, n: number, status: string): void {
  sim.say({ type: "call.ended", call: open.call, tool: open.tool, status, output: outputBy(callItemOf(sim, open), n), exit: n % 2, ms: n });
}

const usage = (n: number) => ({ input_tokens: n, cached_tokens: n >>> 1, output_tokens: n % 100, total_tokens: n + (n % 100) });

export const VERBS = {
  input(sim, a, b) {
    sim.push({ type: "input.queued", op: sim.id("op-"), items: inputItems(a), deliver: sim.state.talk.turn && b % 3 ? "steer" : "next", ...(b % 5 ? {} : { schema: { type: "object", n: a } }) });
  },
  change(sim, a, b) {
    const input = pick(sim.state.talk.queue, b);
    if (!input) return VERBS.input(sim, a, b);
    sim.push({ type: "input.changed", op: sim.id("op-"), input: input.op, items: inputItems(a) });
  },
  withdraw(sim, a) {
    const input = pick(sim.state.talk.queue, a);
    if (input) sim.push({ type: "input.withdrawn", op: sim.id("op-"), input: input.op });
  },
  begin,
  steer(sim, a, b) {
    ready(sim, a, b);
    const input = sim.state.talk.queue.find((queued) => queued.deliver === "steer");
    if (input) sim.say({ type: "input.taken", op: input.op, from: input.seq });
  },
  sample(sim, a, b) {
    ready(sim, a, b);
    const turn = sim.state.talk.turn!;
    if (turn.sample) return;
    for (const open of [...turn.calls]) if (b % 4) endCall(sim, open, b, "done");
    const origin = { wire: "responses", provider: "openai", model: a % 3 ? "gpt-test" : "gpt-other" };
    const known = JSON.stringify(sim.state.talk.origin) === JSON.stringify(origin);
    sim.say({ type: "sample.started", ...(turn.failures > 0 ? { attempt: turn.failures + 1 } : {}), ...(known ? {} : { origin }) });
  },
  item(sim, a, b) {
    sampling(sim, a, b);
    sim.say({ type: "item.added", id: sim.id("item-"), item: modelItem(a, b), ...(b % 16 === 15 ? { partial: true } : {}) });
  },
  endSample(sim, a, b) {
    sampling(sim, a, b);
    const sample = sim.state.talk.turn!.sample!.seq;
    const status = (["done", "done", "done", "failed", "lost"] as const)[a % 5]!;
    const failure = { code: "overloaded", message: "try later", retryable: b % 2 === 0 };
    const why = status === "failed" && b % 7 ? { failure, ...(b % 3 ? { retryAt: sim.now(0) } : {}) } : {};
    sim.say({ type: "sample.ended", sample, status, ...why, ...(b % 2 ? { usage: usage(b) } : {}) });
  },
  startCall(sim, a) {
    const open = pick(sim.state.talk.turn?.calls.filter((call) => !call.started) ?? [], a);
    if (open) sim.say({ type: "call.started", call: open.call, tool: open.tool, envelope: { cwd: "/repo", sandbox: "workspace-write" } });
  },
  endCall(sim, a, b) {
    const open = pick(sim.state.talk.turn?.calls ?? [], a);
    if (!open) return VERBS.item(sim, a % 7, b);
    if (!open.started && b % 2) sim.say({ type: "call.started", call: open.call, tool: open.tool, envelope: { cwd: "/repo", sandbox: "workspace-write" } });
    endCall(sim, open, b, (["done", "done", "failed", "denied"] as const)[a % 4]!);
  },
  ask(sim, a, b) {
    ready(sim, a, b);
    const open = pick(sim.state.talk.turn!.calls, a);
    sim.say({ type: "ask.opened", ask: sim.id("ask-"), ...(open && b % 4 ? { call: open.call } : {}), kind: b % 2 ? "approval" : "loop", body: { n: b } });
  },
  answer(sim, a) {
    const open = pick(sim.state.talk.asks.filter((ask) => ask.answer === undefined), a);
    if (open) sim.say({ type: "ask.answered", op: sim.id("op-"), ask: open.ask, answer: a % 2 ? "approve" : { deny: a } });
  },
  withdrawAsk(sim, a) {
    const open = pick(sim.state.talk.asks, a);
    if (open) sim.say({ type: "ask.withdrawn", ask: open.ask, why: "the call was aborted" });
  },
  plan(sim, a, b) {
    ready(sim, a, b);
    sim.say({ type: "plan.changed", plan: [{ step: textBy(a), status: b % 2 ? "pending" : "completed" }] });
  },
  settings(sim, a) {
    const settings = a % 2 ? { model: `gpt-${a % 4}` } : { sandbox_mode: "read-only", later: { field: a } };
    sim.push({ type: "settings.changed", op: sim.id("op-"), settings });
  },
  describe(sim, a) {
    sim.push({ type: "thread.described", op: sim.id("op-"), ...(a % 3 ? { title: textBy(a) } : {}), ...(a % 2 ? { tags: [`tag${a % 4}`] } : {}) });
  },
  grant(sim, a, b) {
    const held = pick(sim.state.thread.grants, b);
    if (held && a % 3 === 0) sim.push({ type: "grant.revoked", op: sim.id("op-"), grant: held.grant });
    else sim.push({ type: "grant.added", op: sim.id("op-"), grant: sim.id("grant-"), pattern: ["ls", a] });
  },
  file(sim, a) {
    const call = pick(sim.state.talk.turn?.calls ?? [], a)?.call ?? null;
    const path = a % 2 ? "src/a.ts" : { base64: "/w==" };
    sim.push({ type: "file.changed", call, path, before: { kind: "absent" }, after: { kind: "file", hash: "h", mode: 0o644 } });
  },
  shell(sim, a) {
    sim.push({ type: "call.requested", op: sim.id("op-"), call: sim.id("shell-"), by: "user", command: textBy(a) });
  },
  interrupt(sim) {
    const { turn } = sim.state.talk;
    if (turn && !turn.interrupted) sim.say({ type: "turn.interrupted", op: sim.id("op-") });
  },
  /** The writer died; the next one records what it left behind. */
  crash(sim, a, b) {
    if (a % 4 === 0) sim.push({ type: "writer.closed" });
    sim.push({ type: "writer.opened", epoch: sim.state.thread.epoch + 1, pid: 100 + a, host: "box" });
    const { turn } = sim.state.talk;
    if (!turn) return;
    if (turn.sample && b % 2) sim.say({ type: "item.added", id: sim.id("item-"), item: modelItem(7 + (a % 2) * 10, b), partial: true });
    if (turn.sample) sim.say({ type: "sample.ended", sample: turn.sample.seq, status: "lost" });
    for (const open of turn.calls.filter((call) => call.started)) endCall(sim, open, b, "unknown");
  },
  continue(sim) {
    if (sim.state.talk.turn?.parked) sim.say({ type: "turn.continued", op: sim.id("op-") });
  },
  /** Properly, or leaving calls and a sample without an end. */
  endTurn(sim, a, b) {
    const { turn } = sim.state.talk;
    if (!turn) return;
    if (a % 3) {
      if (turn.sample) sim.say({ type: "sample.ended", sample: turn.sample.seq, status: "done", usage: usage(b) });
      for (const open of [...turn.calls]) endCall(sim, open, b, "denied");
    }
    const status = turn.interrupted ? "cancelled" : (["completed", "completed", "failed"] as const)[a % 3]!;
    sim.say({ type: "turn.ended", status, ...(b % 4 ? {} : { diff: { sha256: "d".repeat(64), bytes: b } }) });
  },
  drop(sim, a, b) {
    const { entries } = sim.state.history;
    const items = [pick(entries, a)?.id, b % 2 ? pick(entries, b)?.id : "no-such-item"].filter((id) => id !== undefined);
    sim.say({ type: "item.dropped", items, why: "too large", ...(b % 3 ? {} : { part: "images" }) });
  },
  compact(sim, a, b) {
    const { talk } = sim.state;
    const starts: number[] = sim.liveRecords().filter((record) => asKnown(record)?.type === "turn.started" && record.seq >= talk.history.from).map((record) => record.seq);
    if (!talk.turn?.sample && b % 3 === 0) starts.push(sim.head);
    const keepFrom = pick(starts, a);
    if (keepFrom === undefined) return;
    const summary = b % 4 ? [{ type: "message", role: "user", content: [{ type: "input_text", text: `summary ${a}` }] }] : [];
    sim.say({ type: "history.compacted", summary, keepFrom, previous: talk.history, tokens: { before: a, after: b }, carry: carryOf(sim.loaded()) });
  },
  restore(sim) {
    const { compaction } = sim.state.talk.history;
    if (compaction === null) return;
    const record = sim.liveRecords().find((candidate) => candidate.seq === compaction) as { previous?: HistoryBase } | undefined;
    sim.push({ type: "history.restored", op: sim.id("op-"), compaction, base: record?.previous ?? { compaction: null, from: 0 } });
  },
  rewind(sim, a, b) {
    VERBS.endTurn(sim, a, b);
    const before = 1 + (a % sim.head);
    const target = stateAt(sim.logs, { thread: sim.thread, before });
    const op: Op = { id: sim.id("op-"), type: "rewind", before };
    const decision = decide(sim.loaded(), op, target ? { target } : {});
    if (decision.ok) for (const draft of decision.records) sim.push(draft);
  },
  fork(sim, a) {
    const id = threadId(sim.threads.length);
    if (sim.threads.length < 6) sim.start(id, created(id, { thread: sim.thread, before: 1 + (a % sim.head) }));
  },
  save(sim) {
    sim.push({ type: "state.saved", carry: carryOf(sim.loaded()) });
  },
  /** What a newer build may write. */
  unknown(sim, a) {
    const later: Draft[] = [
      { type: "future.thing", nested: { deep: [a, null] } },
      { type: "future.saved", carry: { version: 9 } },
      { type: "future.talk", op: `op-${a}`, items: [{ type: "message" }], turn: "elsewhere" },
      { v: 2, type: "state.saved", carry: { compressed: "…" } },
      { v: 2, type: "item.added", content: "another shape" },
    ];
    sim.push(later[a % later.length]!);
  },
} satisfies Record<string, Verb>;

/** What no runtime of ours writes where it stands. */
export const NOISE = {
  garbage(sim, a, b) {
    if (b % 3 === 0) sim.push({ type: "input.queued", op: sim.id("op-"), items: [garbageItem(a), garbageItem(b)], deliver: "next" });
    else sim.push({ type: "item.added", id: sim.id("item-"), item: garbageItem(a) });
  },
  stray(sim, a, b) {
    const call = `call_${b % 5}`;
    const answer = outputBy({ type: a % 2 ? "function_call" : "custom_tool_call", call_id: call, name: "f", arguments: "", input: "" }, b);
    const { head } = sim;
    const strays: Draft[] = [
      { type: "item.added", id: `item-${a % 9}`, item: modelItem(a, b) },
      { type: "call.ended", call, tool: "f", status: "done", output: answer },
      { type: "call.ended", call, tool: "f", status: "done", output: garbageItem(b) },
      { type: "call.started", call, tool: "f", envelope: { cwd: "/", sandbox: "read-only" } },
      { type: "input.taken", op: `op-${a % 20}`, from: b % (head + 3) },
      { type: "turn.started", inputs: [b % (head + 3), a % (head + 3)], turn: sim.id("turn-") },
      { type: "turn.started", inputs: [] },
      { type: "turn.ended", status: "completed" },
      { type: "sample.started" },
      { type: "sample.ended", sample: a, status: "done" },
      { type: "item.dropped", items: [`item-${a % 9}`, `${call}:out`, `${b % (head + 1)}.0`], why: "test", ...(b % 2 ? {} : { part: "images" }) },
      { type: "input.changed", op: sim.id("op-"), input: `op-${a % 20}`, items: inputItems(b) },
      { type: "ask.answered", op: sim.id("op-"), ask: `ask-${a % 20}`, answer: null },
      { type: "future.critical", critical: true },
      { v: 2, type: "turn.ended", status: "paused", critical: true },
      { type: "history.restored", op: sim.id("op-"), compaction: a % head, base: { compaction: b % head, from: a % head } },
    ];
    sim.push(strays[a % strays.length]!);
  },
  /** The same body again, as a retry that nobody refused. */
  again(sim, a) {
    const { seq: _seq, at: _at, ...body } = pick(sim.logs.get(sim.thread)!.slice(1), a) ?? { type: "future.nothing", seq: 0, at: "" };
    sim.push(body);
  },
  /** A summary and a cut as nobody would choose them. */
  badCompact(sim, a, b) {
    const summary = [garbageItem(a), modelItem(a, b), modelItem(b, a)];
    sim.push({ type: "history.compacted", summary, keepFrom: a % (sim.head + 2), previous: sim.state.talk.history, tokens: { before: 0, after: 0 }, carry: carryOf(sim.loaded()) });
  },
} satisfies Record<string, Verb>;
