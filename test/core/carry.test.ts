/** The carry is what opening starts from: whatever it held in proportion to the past would be paid for again and again. */
import { expect, test } from "vitest";
import type { Draft } from "../../src/protocol/record.ts";
import { reduce } from "../../src/core/reduce.ts";
import { carryOf, type State } from "../../src/core/state.ts";
import { called, given, output, queued, said, sealed } from "./given.ts";

/** A turn with a call, an approval, a plan and a steer, by ids as long as real ones. */
function turn(n: number, seq: number): Draft[] {
  const id = (kind: string) => `${kind}-0190c0de-0000-7000-8000-${String(n).padStart(12, "0")}`.slice(-36);
  const turnId = id("turn");
  const call = `call_${n}`;
  return [
    queued(id("a"), `question ${n}`),
    { type: "turn.started", turn: turnId, inputs: [seq] },
    { type: "sample.started", turn: turnId, origin: { wire: "responses", provider: "openai", model: "gpt-test" } },
    { type: "item.added", id: `i${n}`, item: called(call), turn: turnId },
    { type: "sample.ended", sample: seq + 2, status: "done", usage: { input_tokens: 1000 + n, output_tokens: 10, total_tokens: 1010 + n }, turn: turnId },
    { type: "ask.opened", ask: `ask${n}`, call, kind: "approval", body: { command: ["ls", "-la"] }, turn: turnId },
    { type: "ask.answered", op: `answer-${id("o")}`.slice(-36), ask: `ask${n}`, answer: "approve", turn: turnId },
    { type: "call.ended", call, tool: "exec_command", status: "done", output: output(call) as never, turn: turnId },
    { type: "plan.changed", plan: [{ step: `step ${n % 7}`, status: "pending" }], turn: turnId },
    { type: "item.added", id: `m${n}`, item: said("done"), turn: turnId },
    { type: "turn.ended", status: "completed", turn: turnId },
    ...(n % 50 === 0 ? ([{ type: "writer.opened", epoch: n, pid: n, host: "box" }, { type: "grant.added", op: id("g"), grant: `g${n}`, pattern: "ls" }, { type: "thread.described", op: id("d"), title: `title ${n % 9}` }] satisfies Draft[]) : []),
  ];
}

test("a carry stays as it was when the state goes on", () => {
  const state = given(queued("a"), { type: "turn.started", turn: "t", inputs: [1] }, queued("b"));
  const carry = carryOf(state);
  const before = JSON.stringify(carry);
  for (const draft of turn(1, 4)) reduce(state, sealed(draft, { seq: state.head }));
  expect(JSON.stringify(carry)).toBe(before);
});

test("after 5,000 turns the carry is small, and no larger than after 2,000", () => {
  let state: State = given();
  const size = () => JSON.stringify(carryOf(state)).length;
  let at2000 = 0;
  for (let n = 0; n < 5000; n++) {
    for (const draft of turn(n, state.head)) state = reduce(state, sealed(draft, { seq: state.head }));
    if (n % 100 === 0) state.history.entries = [];
    if (n === 1999) at2000 = size();
  }
  expect(size()).toBeLessThan(64_000);
  // Numbers have gained digits; nothing has been added.
  expect(size() - at2000).toBeLessThan(50);
});
