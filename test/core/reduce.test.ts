/** What single records mean, where it is not plain. */
import { digestOf } from "../../src/core/loop.ts";
import { describe, expect, test } from "vitest";
import { userText } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { REMEMBERED_OPS } from "../../src/core/reduce.ts";
import { carryOf, settledTalk } from "../../src/core/state.ts";
import { added, append, called, ended, given, queued, ROOT, rootWith, SETTINGS, stateAt, stateOf } from "./given.ts";

const open: Draft[] = [queued("a"), { type: "turn.started", turn: "t1", inputs: [1] }];
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const turnAfter = (...drafts: Draft[]) => given(...open, ...drafts).talk.turn;

describe("a turn", () => {
  test("opens with the settings of the moment, owing an answer", () => {
    expect(turnAfter()).toEqual({
      id: "t1",
      seq: 2,
      startedAt: "2026-01-31T09:00:02.000Z",
      settings: SETTINGS,
      parked: false,
      interrupted: false,
      sample: null,
      failures: 0,
      failure: null,
      retryAt: null,
      due: true,
      calls: [],
      samples: 0,
      usage: { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, total_tokens: 0 },
    });
  });

  test("keeps its settings when the thread's are changed", () => {
    const state = given(...open, { type: "settings.changed", op: "s", settings: { model: "other" } });
    expect([state.talk.turn?.settings.model, state.thread.settings.model]).toEqual(["gpt-test", "other"]);
  });

  test("owes nothing once a sample is done, and again once a call has ended or input was taken", () => {
    const done: Draft[] = [{ type: "sample.started" }, added("1", called("x")), { type: "sample.ended", sample: 3, status: "done" }];
    expect([turnAfter(...done), turnAfter(...done, ended("x")), turnAfter(...done, queued("b"), { type: "input.taken", op: "b", from: 6 })].map((turn) => turn?.due)).toEqual([false, true, true]);
  });

  test("still owes an answer after a sample that only compacted", () => {
    expect(turnAfter({ type: "sample.started", purpose: "compact" }, { type: "sample.ended", sample: 3, status: "done" })?.due).toBe(true);
  });

  test("counts failures until a sample is done; a lost one is no failure", () => {
    const failed = (sample: number): Draft[] => [{ type: "sample.started" }, { type: "sample.ended", sample, status: "failed", failure: { code: "x", message: "m", retryable: true }, retryAt: "2026-02-01T00:00:00.000Z" }];
    const lost: Draft[] = [{ type: "sample.started" }, { type: "sample.ended", sample: 7, status: "lost" }];
    expect(turnAfter(...failed(3), ...failed(5), ...lost)).toMatchObject({ failures: 2, failure: { code: "x", message: "m", retryable: true }, retryAt: "2026-02-01T00:00:00.000Z", samples: 3, due: true });
    expect(turnAfter(...failed(3), { type: "sample.started" }, { type: "sample.ended", sample: 5, status: "done" })).toMatchObject({ failures: 0, failure: null, retryAt: null, due: false });
  });

  test("lists a call from its item to its end; the first of two with one id counts", () => {
    expect(turnAfter(added("1", called("x", "f")), added("2", called("y")), added("3", called("x", "g")), { type: "call.started", call: "y", tool: "f", envelope: { cwd: "/", sandbox: "read-only" } })?.calls).toEqual([
      { call: "x", tool: "f", seq: 3, started: false, digest: digestOf("f {}") },
      { call: "y", tool: "exec_command", seq: 4, started: true, digest: digestOf("exec_command {}") },
    ]);
    expect(turnAfter(added("1", called("x")), ended("x"))?.calls).toEqual([]);
  });

  test("does not list a call of which only a part arrived", () => {
    expect(turnAfter({ type: "item.added", id: "1", item: called("x"), partial: true })?.calls).toEqual([]);
  });

  test("is parked when its writer closes the log or another opens it, until it is continued or an ask is answered", () => {
    const opened: Draft = { type: "writer.opened", epoch: 2, pid: 1, host: "h" };
    const ask: Draft = { type: "ask.opened", ask: "q", kind: "approval", body: null };
    const parked = [
      turnAfter({ type: "writer.closed" }),
      turnAfter(opened),
      turnAfter(opened, { type: "turn.continued", op: "c" }),
      turnAfter(ask, opened, { type: "ask.answered", op: "c", ask: "q", answer: "yes" }),
    ];
    expect(parked.map((turn) => turn?.parked)).toEqual([true, true, false, false]);
  });

  test("ended, it leaves its outcome, no asks, and steering input as the next", () => {
    const { talk } = given(...open, { type: "ask.opened", ask: "q", kind: "loop", body: 1 }, queued("b", "b", "steer"), { type: "turn.ended", status: "failed" });
    expect(talk).toMatchObject({ turn: null, lastTurn: { id: "t1", status: "failed" }, asks: [] });
    expect(talk.queue).toEqual([{ op: "b", seq: 4, items: [userText("b")], deliver: "next" }]);
  });
});

describe("usage", () => {
  test("adds up over the thread and the turn; the last request's total is what the next will hold", () => {
    const sample = (seq: number): Draft[] => [{ type: "sample.started" }, { type: "sample.ended", sample: seq, status: "done", usage: { ...usage, cached_tokens: 4 } }];
    const { thread, talk } = given(...open, ...sample(3), ...sample(5));
    const total = { input_tokens: 20, cached_tokens: 8, output_tokens: 10, reasoning_tokens: 0, total_tokens: 30 };
    expect([thread.usage, talk.turn?.usage, talk.tokens]).toEqual([total, total, 15]);
  });

  test("is not given back by a rewind", () => {
    const logs = rootWith(...open, { type: "sample.ended", sample: 3, status: "done", usage }, { type: "turn.ended", status: "completed" });
    const carry = { thread: carryOf(stateOf(logs)).thread, talk: settledTalk(carryOf(stateAt(logs, { thread: ROOT, before: 1 })!).talk) };
    append(logs, ROOT, { type: "thread.rewound", op: "r", before: 1, carry });
    const { thread, talk } = stateOf(logs);
    expect([thread.usage.total_tokens, talk.turns, talk.tokens, thread.ops]).toEqual([15, 0, 0, ["a", "r"]]);
  });
});

describe("asks", () => {
  const ask: Draft[] = [added("1", called("x")), { type: "ask.opened", ask: "q", call: "x", kind: "approval", body: { command: "rm" } }];

  test("stay open with their answer until their call has ended", () => {
    expect(given(...open, ...ask).talk.asks).toEqual([{ ask: "q", call: "x", kind: "approval", body: { command: "rm" } }]);
    const answered: Draft = { type: "ask.answered", op: "o", ask: "q", answer: "approve" };
    expect(given(...open, ...ask, answered).talk.asks).toEqual([{ ask: "q", call: "x", kind: "approval", body: { command: "rm" }, answer: "approve" }]);
    expect(given(...open, ...ask, answered, ended("x")).talk.asks).toEqual([]);
  });

  test("can be withdrawn", () => {
    expect(given(...open, ...ask, { type: "ask.withdrawn", ask: "q", why: "aborted" }).talk.asks).toEqual([]);
  });
});

describe("thread records", () => {
  test("change what they name and leave the conversation's time alone", () => {
    const { thread, talk } = given(
      queued("a"),
      { type: "thread.described", op: "d1", title: "one", tags: ["x"] },
      { type: "thread.described", op: "d2", tags: [] },
      { type: "settings.changed", op: "s", settings: { sandbox_mode: "read-only", later: 1 } },
      { type: "writer.opened", epoch: 2, pid: 1, host: "h" },
      { type: "grant.added", op: "g1", grant: "first", pattern: "ls" },
      { type: "grant.added", op: "g2", grant: "second", pattern: ["git", "*"] },
      { type: "grant.revoked", op: "g3", grant: "first" },
    );
    expect(thread).toMatchObject({
      title: "one",
      tags: [],
      settings: { ...SETTINGS, sandbox_mode: "read-only", later: 1 },
      epoch: 2,
      grants: [{ grant: "second", pattern: ["git", "*"], epoch: 2 }],
      ops: ["a", "d1", "d2", "s", "g1", "g2", "g3"],
    });
    expect(talk.updatedAt).toBe("2026-01-31T09:00:01.000Z");
  });

  test("grants end with the writer that they were given to", () => {
    expect(given({ type: "grant.added", op: "g", grant: "g", pattern: "ls" }, { type: "writer.opened", epoch: 1, pid: 1, host: "h" }).thread.grants).toEqual([]);
  });

  test("a turn that ended with a diff uses a diff number up, also when it is rewound", () => {
    const logs = rootWith(...open, { type: "turn.ended", status: "completed", diff: { sha256: "d", bytes: 1 } });
    const carry = { thread: carryOf(stateOf(logs)).thread, talk: settledTalk(carryOf(stateAt(logs, { thread: ROOT, before: 1 })!).talk) };
    append(logs, ROOT, { type: "thread.rewound", op: "r", before: 1, carry });
    expect(stateOf(logs).thread.diffs).toBe(1);
  });
});

describe("input", () => {
  test("waits in order; a change keeps its place, a withdrawal takes it out", () => {
    const { talk } = given(queued("a"), queued("b"), queued("c"), { type: "input.changed", op: "d", input: "a", items: [userText("A")] }, { type: "input.withdrawn", op: "e", input: "b" });
    expect(talk.queue).toEqual([
      { op: "a", seq: 4, items: [userText("A")], deliver: "next" },
      { op: "c", seq: 3, items: [userText("c")], deliver: "next" },
    ]);
  });

  test("the preview is the first text that a user sent", () => {
    const picture = { type: "message", role: "user", content: [{ type: "input_image", image_url: "blob:x" }] };
    const { talk } = given(queued("a", [picture]), { type: "turn.started", inputs: [1] }, queued("b", "  see\n this "), { type: "input.taken", op: "b", from: 3 }, queued("c"), { type: "input.taken", op: "c", from: 5 });
    expect([talk.preview, talk.userMessages]).toEqual(["see this", 3]);
  });
});

test("taking an input is no op: its id is remembered once, from when it was queued", () => {
  expect(given(queued("a"), queued("b"), { type: "turn.started", inputs: [1] }, { type: "input.taken", op: "b", from: 2 }, queued("c"), { type: "input.taken", op: "c", from: 5 }).thread.ops).toEqual(["a", "b", "c"]);
  expect(given(queued("a"), queued("b"), { type: "input.taken", op: "a", from: 1 }).thread.ops).toEqual(["a", "b"]);
});

test(`the last ${REMEMBERED_OPS} op ids are remembered, one for an op that made two records`, () => {
  const drafts = Array.from({ length: REMEMBERED_OPS + 5 }, (_, n): Draft => ({ type: "thread.described", op: `op${n}` }));
  const { ops } = given(...drafts, { type: "turn.continued", op: `op${REMEMBERED_OPS + 4}` }).thread;
  expect([ops.length, ops[0], ops.at(-1)]).toEqual([REMEMBERED_OPS, "op5", `op${REMEMBERED_OPS + 4}`]);
});
