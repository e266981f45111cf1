/**
 * A runtime without clock, model and tools: it does what `next` lists, in an order and with outcomes chosen by numbers. It follows the
 * same rules as the real one (src/runtime/turn.ts): start what is listed, abort what is no longer listed, commit outcomes.
 */
import { outputFor, type Item } from "../../src/protocol/item.ts";
import type { Op } from "../../src/protocol/op.ts";
import type { Draft, LogRecord } from "../../src/protocol/record.ts";
import { decide, type Decision } from "../../src/core/decide.ts";
import { callItem, lost } from "../../src/core/lost.ts";
import { next, type Limits, type Step } from "../../src/core/next.ts";
import { ownCommandMessage } from "../../src/core/command-output.ts";
import { compacted, plan, summaryMessage, TOO_LARGE } from "../../src/core/compact.ts";
import { asKnown } from "../../src/core/known.ts";
import { reduce } from "../../src/core/reduce.ts";
import type { State } from "../../src/core/state.ts";
import { append, headOf, ROOT, rootWith, stateAt, stateOf, type Logs } from "./given.ts";
import { modelItem, textBy } from "./items.ts";

export interface Choice {
  a: number;
  b: number;
}

export const LIMITS: Limits = { retries: 2, awake: true, lasts: true, effectOf: (tool) => (tool === "read_file" ? "read" : "exec") };

export class Runtime {
  readonly logs: Logs = rootWith();
  state: State = stateOf(this.logs);
  /** Calls that the model will still ask for: a model that never stops is not our concern. */
  appetite: number;
  readonly #running = new Map<string, Step>();
  #count = 0;

  constructor(appetite: number) {
    this.appetite = appetite;
    this.commit({ type: "writer.opened", epoch: 1, pid: 1, host: "box" });
  }

  commit(...drafts: Draft[]): LogRecord[] {
    const records = append(this.logs, ROOT, ...drafts);
    for (const record of records) this.state = reduce(this.state, record);
    if (this.state.stale) this.reload();
    return records;
  }

  reload(): void {
    this.state = stateOf(this.logs);
  }

  submit(op: Op): Decision {
    const inForce = this.state.talk.history.compaction;
    const compaction = op.type === "restore_history" && inForce !== null ? asKnown(this.logs.get(ROOT)!.find((record) => record.seq === inForce)!) : null;
    const target = op.type === "rewind" ? stateAt(this.logs, { thread: ROOT, before: Math.min(op.before, headOf(this.logs).before) }) : null;
    const decision = decide(this.state, op, { ...(target ? { target } : {}), ...(compaction?.type === "history.compacted" ? { compaction } : {}) });
    if (decision.ok) this.commit(...decision.records);
    return decision;
  }

  /** The process dies and another one opens the log. */
  crash(): void {
    this.#running.clear();
    this.reload();
    this.commit({ type: "writer.opened", epoch: this.state.thread.epoch + 1, pid: 2, host: "box" });
    this.commit(...lost(this.state, [{ id: `live${this.#count++}`, kind: "message", text: "half a sen" }]));
  }

  /** One outcome of one effect; false when there is nothing to do but to wait for the user. */
  advance({ a, b }: Choice): boolean {
    const steps = next(this.state, LIMITS);
    const wanted = new Set(steps.map((step) => step.key));
    const aborted = [...this.#running.values()].filter((step) => !wanted.has(step.key));
    for (const step of aborted) {
      this.#running.delete(step.key);
      if (this.#abort(step, b)) return true;
    }
    for (const step of steps) this.#running.set(step.key, step);
    const able = steps.filter((step) => !this.#waits(step));
    const step = able[a % able.length];
    if (step) this.#perform(step, a, b);
    return step !== undefined;
  }

  #waits(step: Step): boolean {
    return step.do === "call" && this.state.talk.asks.some((ask) => ask.call === step.call && ask.answer === undefined);
  }

  /** True when the effect had something to say about its end. */
  #abort(step: Step, b: number): boolean {
    const { turn, asks, requested } = this.state.talk;
    const own = step.do === "call" ? requested?.find((each) => each.call === step.call && each.started) : undefined;
    if (own) {
      this.#ownCommand(own.call, b);
      return true;
    }
    if (!turn) return false;
    if ((step.do === "sample" || step.do === "compact") && turn.sample) this.#say({ type: "sample.ended", sample: turn.sample.seq, status: "lost" });
    else if (step.do === "call" && turn.calls.some((open) => open.call === step.call && open.started)) this.#endCall(step.call, b % 2 ? "failed" : "unknown");
    else if (step.do === "call" && asks.some((ask) => ask.call === step.call)) this.#say({ type: "ask.withdrawn", ask: asks.find((ask) => ask.call === step.call)!.ask, why: "aborted" });
    else return false;
    return true;
  }

  #perform(step: Step, a: number, b: number): void {
    switch (step.do) {
      case "begin":
        this.commit({ type: "turn.started", turn: `turn${this.#count++}`, inputs: step.inputs });
        return;
      case "take":
        this.#say({ type: "input.taken", op: step.op, from: step.from });
        return;
      case "sample":
        this.#sample(step, a, b);
        return;
      case "call":
        if (this.state.talk.requested?.some((own) => own.call === step.call)) this.#ownCommand(step.call, a);
        else this.#call(step.call, a, b);
        return;
      case "compact":
        this.#compact(step, a, b);
        return;
      case "prepare": {
        const before = plan(this.state).keepFrom;
        this.commit({ type: "summary.prepared", before, ...(a % 3 ? { summary: { sha256: "5".repeat(64), bytes: 10 } } : { failure: { code: "down", message: "down" } }) });
        return;
      }
      case "ask":
        this.#say({ type: "ask.opened", ask: `ask${this.#count++}`, kind: "loop", body: {} });
        return;
      case "end": {
        const turn = this.state.talk.turn!.id;
        const denied = step.unstarted.map(({ call, tool }): Draft => ({ type: "call.ended", turn, call, tool, status: "denied", output: outputFor(callItem(this.state, call)!, "not run") }));
        this.commit(...denied, { type: "turn.ended", turn, status: step.status, ...(step.failure ? { failure: step.failure } : {}) });
      }
    }
  }

  #sample(step: Extract<Step, { do: "sample" }>, a: number, b: number): void {
    const { sample } = this.state.talk.turn!;
    const origin = { wire: "responses", provider: "openai", model: "gpt-test" };
    if (!sample) return this.#say({ type: "sample.started", ...(step.attempt > 1 ? { attempt: step.attempt } : {}), ...(this.state.talk.origin ? {} : { origin }) });
    if (a % 3 > 0) return this.#say({ type: "item.added", id: `item${this.#count++}`, item: this.#item(a, b) });
    if (b % 4 > 0) return this.#say({ type: "sample.ended", sample: sample.seq, status: "done" });
    this.#say({ type: "sample.ended", sample: sample.seq, status: "failed", failure: { code: "down", message: "down", retryable: b % 8 > 0 } });
  }

  /** As the real one does it: with a sample of its own, or at once; a sample may be reviewed first. */
  #compact(step: Extract<Step, { do: "compact" }>, a: number, b: number): void {
    const { turn, asks, compaction, prepared } = this.state.talk;
    if (!turn!.sample && a % 2 && !asks.some((ask) => ask.kind === "summary")) return this.#say({ type: "sample.started", purpose: "compact" });
    const planned = plan(this.state, prepared?.before);
    if (planned.tooLarge) {
      if (!turn!.sample) return this.#say({ type: "sample.started", purpose: "compact" });
      return this.#say({ type: "sample.ended", sample: turn!.sample.seq, status: "failed", failure: { code: TOO_LARGE, message: "too large", retryable: false } });
    }
    const ended: Draft[] = turn!.sample ? [{ type: "sample.ended", sample: turn!.sample.seq, status: b % 2 ? "done" : "failed", turn: turn!.id }] : [];
    if (turn!.sample && compaction?.review) return void this.commit(...ended, { type: "ask.opened", turn: turn!.id, ask: `ask${this.#count++}`, kind: "summary", body: { text: "s" } });
    const items = [summaryMessage(`summary ${this.#count++}`, planned.summaryTokens)];
    this.commit({ ...compacted(this.state, planned, { items, strategy: "summary", trigger: step.trigger }) }, ...ended);
  }

  #ownCommand(call: string, a: number): void {
    const own = this.state.talk.requested!.find((each) => each.call === call)!;
    if (!own.started) return void this.commit({ type: "call.started", call, tool: "user_shell", envelope: { cwd: "/repo", sandbox: "danger-full-access" } });
    this.commit({ type: "call.ended", call, tool: "user_shell", status: a % 2 ? "done" : "failed", output: ownCommandMessage(own.command, "out") });
  }

  #item(a: number, b: number): Item {
    const item = modelItem([0, 4, 6, 17, 7][(a >>> 2) % 5]!, b);
    if (item["call_id"] === undefined) return item;
    this.appetite -= 1;
    return this.appetite >= 0 ? item : { type: "message", role: "assistant", content: [{ type: "output_text", text: "done" }] };
  }

  #call(call: string, a: number, b: number): void {
    const open = this.state.talk.turn!.calls.find((candidate) => candidate.call === call)!;
    if (open.started) return this.#endCall(call, a % 2 ? "done" : "failed");
    const asked = this.state.talk.asks.some((ask) => ask.call === call);
    if (!asked && b % 4 === 0) return this.#say({ type: "ask.opened", ask: `ask${this.#count++}`, call, kind: "approval", body: textBy(b) });
    this.#say({ type: "call.started", call, tool: open.tool, envelope: { cwd: "/repo", sandbox: "read-only" } });
  }

  #endCall(call: string, status: string): void {
    const item = callItem(this.state, call)!;
    this.#say({ type: "call.ended", call, tool: "tool", status, output: outputFor(item, `${status} ${this.#count++}`) });
  }

  #say(draft: Draft): void {
    this.commit({ ...draft, turn: this.state.talk.turn!.id });
  }
}
