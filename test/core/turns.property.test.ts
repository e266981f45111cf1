/** Whoever does what `next` lists, in any order and with any outcome, gets through every turn and leaves a good log. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { userText } from "../../src/protocol/item.ts";
import type { Op, OpBody } from "../../src/protocol/op.ts";
import { UNANSWERED, visible } from "../../src/core/history.ts";
import { next } from "../../src/core/next.ts";
import { carryOf, type State } from "../../src/core/state.ts";
import { headOf, ROOT, runs, stateAt, stateOf } from "./given.ts";
import { LIMITS, Runtime, type Choice } from "./runtime.ts";

const choice = fc.record({ a: fc.nat(0xffff), b: fc.nat(0xffff) });
type Event = { kind: "advance" | "op" | "crash" | "reload" | "save" } & Choice;
const event: fc.Arbitrary<Event> = fc.record({
  kind: fc.oneof({ weight: 12, arbitrary: fc.constant("advance" as const) }, { weight: 5, arbitrary: fc.constant("op" as const) }, { weight: 1, arbitrary: fc.constantFrom("crash" as const, "reload" as const, "save" as const) }),
  a: fc.nat(0xffff),
  b: fc.nat(0xffff),
});
const story = fc.array(event, { maxLength: 120, size: "max" });

function opBy({ a, b }: Choice, state: State): OpBody {
  const { queue, asks } = state.talk;
  const input = queue[b % Math.max(1, queue.length)]?.op ?? "nothing";
  const open = asks.find((ask) => ask.answer === undefined);
  switch (a % 16) {
    case 12:
      return { type: "compact", ...(b % 2 ? { review: true as const } : {}) };
    case 13:
      return { type: "restore_history" };
    case 14:
      return { type: "run_user_shell_command", call: `own${b}`, command: "ls" };
    case 15:
      return { type: "override_settings", settings: { model_auto_compact_token_limit: 100 + (b % 400) } };
    case 0:
      return { type: "change_input", input, items: [userText(`changed ${b}`)] };
    case 1:
      return { type: "withdraw_input", input };
    case 2:
      return { type: "interrupt" };
    case 3:
      return { type: "continue" };
    case 4:
    case 5:
      return { type: "answer", ask: open?.ask ?? "nothing", answer: b };
    case 6:
      return { type: "rewind", before: b % (state.head + 2) };
    case 7:
      return { type: "override_settings", settings: { model: `m${b}` } };
    case 8:
      return { type: "describe", title: `t${b}` };
    default:
      return { type: "user_input", items: [userText(`input ${b}`)], ...(b % 2 ? {} : { deliver: b % 4 ? "steer" : "next" }) };
  }
}

/** Runs the story; `after` is told of every op and its decision. */
function play(runtime: Runtime, events: readonly Event[], after: (op: Op, acted: boolean) => void = () => {}): void {
  runtime.submit({ id: "first", type: "user_input", items: [userText("go")] });
  events.forEach((what, index) => {
    if (what.kind === "advance") runtime.advance(what);
    else if (what.kind === "crash") runtime.crash();
    else if (what.kind === "reload") runtime.reload();
    else if (what.kind === "save") runtime.commit({ type: "state.saved", carry: carryOf(runtime.state) });
    else {
      const op: Op = { id: `op${index}`, ...opBy(what, runtime.state) };
      const decision = runtime.submit(op);
      after(op, decision.ok && decision.records.length > 0);
    }
  });
}

/** What a patient user does: answers, and continues what is parked or held. */
function attend(runtime: Runtime, n: number): boolean {
  const open = runtime.state.talk.asks.find((ask) => ask.answer === undefined);
  if (open) return runtime.submit({ id: `attend${n}`, type: "answer", ask: open.ask, answer: "yes" }).ok;
  const { turn, held } = runtime.state.talk;
  return (turn?.parked ?? held) === true && runtime.submit({ id: `attend${n}`, type: "continue" }).ok;
}

describe("turns", () => {
  test("end within a bounded number of steps, whatever happens in them, and then everything was taken", () => {
    fc.assert(
      fc.property(story, fc.array(choice, { minLength: 20, maxLength: 20 }), fc.nat(12), (events, choices, appetite) => {
        const runtime = new Runtime(appetite);
        play(runtime, events);
        // per input: begin, samples with their retries, items, calls (ask, answer, start, end), end
        const bound = (runtime.state.talk.queue.length + 2) * 80 + appetite * 12;
        let steps = 0;
        while (runtime.advance(turning(choices, steps)) || attend(runtime, steps)) expect(steps++).toBeLessThan(bound);
        const { turn, queue, asks } = runtime.state.talk;
        expect({ turn, queue, asks, steps: next(runtime.state, LIMITS) }).toEqual({ turn: null, queue: [], asks: [], steps: [] });
      }),
      runs(300),
    );
  });

  test("ask the model only when every call is answered for real, append to what they sent before, and know where each item was made", () => {
    fc.assert(
      fc.property(story, fc.nat(12), (events, appetite) => {
        const runtime = new Runtime(appetite);
        play(runtime, events);
        let sent: { turn: string | undefined; items: string[] } = { turn: undefined, items: [] };
        for (const record of runtime.logs.get(ROOT)!) {
          if (record.type === "thread.rewound" || record.type === "history.compacted" || record.type === "history.restored") sent = { turn: undefined, items: [] };
          if (record.type !== "sample.started" || record["purpose" as never] === "compact") continue;
          const { entries, summary, shown } = stateAt(runtime.logs, { thread: ROOT, before: record.seq })!.history;
          const items = visible({ entries, summary, shown }).map(({ item }) => JSON.stringify(item));
          // A rewind into the middle of an earlier turn may leave calls of that turn without an output.
          const ofTurn = visible({ entries: entries.filter((entry) => entry.turn === record.turn), summary: [] });
          expect(ofTurn.filter(({ item }) => item["output"] === UNANSWERED)).toEqual([]);
          expect(entries.filter((entry) => entry.sample !== null && entry.origin === null)).toEqual([]);
          if (sent.turn === record.turn) expect(items.slice(0, sent.items.length)).toEqual(sent.items);
          sent = { turn: record.turn, items };
        }
      }),
      runs(150),
    );
  });

  test("start a call at most once, and none that was interrupted before", () => {
    fc.assert(
      fc.property(story, fc.nat(12), (events, appetite) => {
        const runtime = new Runtime(appetite);
        play(runtime, events);
        const started = new Set<string>();
        let interrupted = false;
        for (const record of runtime.logs.get(ROOT)!) {
          if (record.type === "turn.started") interrupted = false;
          if (record.type === "turn.interrupted") interrupted = true;
          if (record.type === "call.ended") started.delete(record["call" as never]);
          if (record.type !== "call.started" || record["tool" as never] === "user_shell") continue;
          expect({ seq: record.seq, twice: started.has(record["call" as never]), interrupted }).toEqual({ seq: record.seq, twice: false, interrupted: false });
          started.add(record["call" as never]);
        }
      }),
      runs(150),
    );
  });
});

/** Goes round and round, never the same way twice, so that no list of choices can repeat a step for ever. */
function turning(choices: readonly Choice[], step: number): Choice {
  const { a, b } = choices[step % choices.length]!;
  return { a: a + step, b: b + 5 * step };
}

describe("a retried op acts once", () => {
  test("at once, later, after reopening and after a crash", () => {
    fc.assert(
      fc.property(story, fc.nat(0xffff), (events, pick) => {
        const runtime = new Runtime(6);
        const acted: Op[] = [];
        play(runtime, events, (op, did) => {
          if (did) acted.push(op);
          const retried = acted[pick % Math.max(1, acted.length)];
          if (did) expect(runtime.submit(op)).toEqual({ ok: true, records: [] });
          if (retried) expect(runtime.submit(retried)).toEqual({ ok: true, records: [] });
        });
        runtime.reload();
        for (const op of acted) expect(runtime.submit(op)).toEqual({ ok: true, records: [] });
        runtime.commit({ type: "state.saved", carry: carryOf(runtime.state) });
        runtime.crash();
        for (const op of acted) expect(runtime.submit(op)).toEqual({ ok: true, records: [] });
        expect(stateOf(runtime.logs).head).toBe(headOf(runtime.logs).before);
      }),
      runs(200),
    );
  });

  test("as long as it is among the last thousand", () => {
    const runtime = new Runtime(0);
    const titled = (n: number): Op => ({ id: `op${n}`, type: "describe", title: `title ${n}` });
    for (let n = 0; n < 1001; n++) runtime.submit(titled(n));
    expect(runtime.submit(titled(1))).toEqual({ ok: true, records: [] });
    expect(runtime.submit(titled(0))).toEqual({ ok: true, records: [{ type: "thread.described", op: "op0", title: "title 0" }] });
  });
});
