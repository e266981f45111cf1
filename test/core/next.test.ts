/** Given records, these are the effects that should be running. */
import { digestOf } from "../../src/core/loop.ts";
import { describe, expect, test } from "vitest";
import type { Draft, Failure } from "../../src/protocol/record.ts";
import { next, type Limits, type Step } from "../../src/core/next.ts";
import { carryOf } from "../../src/core/state.ts";
import { reduce } from "../../src/core/reduce.ts";
import { added, called, ended, given, queued, sealed } from "./given.ts";

const LIMITS: Limits = { retries: 2, awake: true, lasts: true, effectOf: (tool) => (tool === "read" ? "read" : tool === "patch" ? "write" : "exec") };
const steps = (...drafts: Draft[]): Step[] => next(given(...drafts), LIMITS);

/** Seqs 1 and 2. */
const open: Draft[] = [queued("a"), { type: "turn.started", turn: "t1", inputs: [1] }];
const sampled = (sample: number, ...items: Draft[]): Draft[] => [{ type: "sample.started", turn: "t1" }, ...items, { type: "sample.ended", sample, status: "done", turn: "t1" }];
const started = (call: string): Draft => ({ type: "call.started", call, tool: "exec", envelope: { cwd: "/", sandbox: "read-only" }, turn: "t1" });
const interrupted: Draft = { type: "turn.interrupted", op: "i", turn: "t1" };
const opened: Draft = { type: "writer.opened", epoch: 2, pid: 1, host: "h" };
const failed = (sample: number, failure: Failure, retryAt?: string): Draft[] => [{ type: "sample.started" }, { type: "sample.ended", sample, status: "failed", failure, ...(retryAt ? { retryAt } : {}) }];
const DOWN: Failure = { code: "overloaded", message: "try later", retryable: true };
const WRONG: Failure = { code: "invalid_key", message: "no", retryable: false };

describe("between turns", () => {
  test("nothing is to do when nothing waits", () => {
    expect(steps()).toEqual([]);
  });

  test("waiting input begins a turn, the oldest alone", () => {
    expect(steps(queued("a"), queued("b"))).toEqual([{ key: "begin:0", do: "begin", inputs: [1], cancelled: false }]);
  });

  test("a changed input is taken from where it was changed", () => {
    expect(steps(queued("a"), { type: "input.changed", op: "b", input: "a", items: [] })).toEqual([{ key: "begin:0", do: "begin", inputs: [2], cancelled: false }]);
  });

  test("what waited during a turn begins the next, steering or not", () => {
    expect(steps(...open, queued("b", "b", "steer"), { type: "turn.ended", status: "cancelled" })).toEqual([{ key: "begin:1", do: "begin", inputs: [3], cancelled: false }]);
  });
});

describe("input that a new writer finds waiting", () => {
  const found: Draft[] = [queued("a"), opened];

  test("begins nothing by itself", () => {
    expect(steps(...found)).toEqual([]);
  });

  test("begins a turn when somebody says so, or sends more", () => {
    const begin: Step[] = [{ key: "begin:0", do: "begin", inputs: [1], cancelled: false }];
    expect([steps(...found, { type: "turn.continued", op: "c" }), steps(...found, queued("b"))]).toEqual([begin, begin]);
  });

  test("waits no longer when it was withdrawn: what is sent then begins at once", () => {
    const withdrawn = given(...found, { type: "input.withdrawn", op: "w", input: "a" });
    expect([withdrawn.talk.held, steps(...found, { type: "input.withdrawn", op: "w", input: "a" }, queued("b"))]).toEqual([undefined, [{ key: "begin:0", do: "begin", inputs: [4], cancelled: false }]]);
  });

  test("beside an open turn goes on waiting when that turn is only cancelled, and not when it is continued", () => {
    const parked = [...open, queued("b"), opened];
    expect([steps(...parked, interrupted, { type: "turn.ended", status: "cancelled" }), steps(...parked, { type: "turn.continued", op: "c" }, { type: "turn.ended", status: "completed" })]).toEqual([
      [],
      [{ key: "begin:1", do: "begin", inputs: [3], cancelled: false }],
    ]);
  });
});

describe("a turn", () => {
  test("first asks the model", () => {
    expect(steps(...open)).toEqual([{ key: "sample:0", do: "sample", attempt: 1, notBefore: null }]);
  });

  test("goes on with the request under way, by the same key", () => {
    expect(steps(...open, { type: "sample.started" })).toEqual([{ key: "sample:0", do: "sample", attempt: 1, notBefore: null }]);
  });

  test("runs no call while the model still speaks", () => {
    expect(steps(...open, { type: "sample.started" }, added("1", called("x", "read")))).toEqual([{ key: "sample:0", do: "sample", attempt: 1, notBefore: null }]);
  });

  test("ends when the model has answered and asked for nothing", () => {
    expect(steps(...open, ...sampled(3))).toEqual([{ key: "end:t1", do: "end", status: "completed", failure: null, unstarted: [] }]);
  });

  test("asks the model again when calls have ended", () => {
    expect(steps(...open, ...sampled(3, added("1", called("x"))), ended("x"))).toEqual([{ key: "sample:1", do: "sample", attempt: 1, notBefore: null }]);
  });

  test("asks the model still after a compaction", () => {
    expect(steps(...open, { type: "sample.started", purpose: "compact" }, { type: "sample.ended", sample: 3, status: "done" })).toEqual([
      { key: "sample:1", do: "sample", attempt: 1, notBefore: null },
    ]);
  });

  test("asks the model again when a request was lost", () => {
    expect(steps(...open, { type: "sample.started" }, { type: "sample.ended", sample: 3, status: "lost" })).toEqual([{ key: "sample:1", do: "sample", attempt: 1, notBefore: null }]);
  });
});

describe("calls", () => {
  const call = (id: string): Step => ({ key: `call:${id}`, do: "call", call: id });
  const asked = (...calls: [string, string][]) => sampled(3, ...calls.map(([id, tool]) => added(id, called(id, tool))));

  test("that only read run together", () => {
    expect(steps(...open, ...asked(["a", "read"], ["b", "read"], ["c", "read"]))).toEqual([call("a"), call("b"), call("c")]);
  });

  test("that write or execute run alone, in the order in which they were asked for", () => {
    const calls = asked(["a", "patch"], ["b", "exec"], ["c", "read"]);
    expect([steps(...open, ...calls), steps(...open, ...calls, ended("a")), steps(...open, ...calls, ended("a"), ended("b"))]).toEqual([[call("a")], [call("b")], [call("c")]]);
  });

  test("that read wait for a write before them, and run before a write after them", () => {
    const calls = asked(["a", "read"], ["b", "read"], ["c", "patch"], ["d", "read"]);
    expect([
      steps(...open, ...calls),
      steps(...open, ...calls, ended("a")),
      steps(...open, ...calls, ended("b"), ended("a")),
      steps(...open, ...calls, ended("b"), ended("a"), ended("c")),
    ]).toEqual([[call("a"), call("b")], [call("b")], [call("c")], [call("d")]]);
  });

  test("that run go on being listed", () => {
    expect(steps(...open, ...asked(["a", "exec"], ["b", "exec"]), started("a"))).toEqual([call("a")]);
  });

  test("with one id are listed once", () => {
    expect(steps(...open, ...asked(["a", "read"], ["a", "read"]))).toEqual([call("a")]);
  });
});

describe("steering input", () => {
  test("is taken when the calls have ended, before the model is asked again", () => {
    const running = [...open, ...sampled(3, added("1", called("x"))), queued("b", "b", "steer"), queued("c", "c", "steer")];
    expect([steps(...running), steps(...running, ended("x"))]).toEqual([[{ key: "call:x", do: "call", call: "x" }], [{ key: "take:b", do: "take", op: "b", from: 6 }]]);
  });

  test("is taken before a turn would end, which then goes on", () => {
    const steered = [...open, ...sampled(3), queued("b", "b", "steer")];
    expect([steps(...steered), steps(...steered, { type: "input.taken", op: "b", from: 5 })]).toEqual([
      [{ key: "take:b", do: "take", op: "b", from: 5 }],
      [{ key: "sample:1", do: "sample", attempt: 1, notBefore: null }],
    ]);
  });

  test("for the next turn is left waiting", () => {
    expect(steps(...open, ...sampled(3), queued("b"))).toEqual([{ key: "end:t1", do: "end", status: "completed", failure: null, unstarted: [] }]);
  });
});

describe("a failed request", () => {
  test("is tried again, not before the time that was set for it", () => {
    expect(steps(...open, ...failed(3, DOWN, "2026-01-31T10:00:00.000Z"))).toEqual([{ key: "sample:1", do: "sample", attempt: 2, notBefore: "2026-01-31T10:00:00.000Z" }]);
  });

  test("goes on under its attempt once it has started", () => {
    expect(steps(...open, ...failed(3, DOWN, "2026-01-31T10:00:00.000Z"), { type: "sample.started", attempt: 2 })).toEqual([{ key: "sample:1", do: "sample", attempt: 2, notBefore: null }]);
  });

  test("is tried as often as the limit says, and then the turn fails", () => {
    expect([steps(...open, ...failed(3, DOWN), ...failed(5, DOWN)), steps(...open, ...failed(3, DOWN), ...failed(5, DOWN), ...failed(7, DOWN))]).toEqual([
      [{ key: "sample:2", do: "sample", attempt: 3, notBefore: null }],
      [{ key: "end:t1", do: "end", status: "failed", failure: DOWN, unstarted: [] }],
    ]);
  });

  test("that is not worth trying again fails the turn at once", () => {
    expect([steps(...open, ...failed(3, WRONG)), steps(...open, { type: "sample.started" }, { type: "sample.ended", sample: 3, status: "failed" })]).toEqual([
      [{ key: "end:t1", do: "end", status: "failed", failure: WRONG, unstarted: [] }],
      [{ key: "end:t1", do: "end", status: "failed", failure: { code: "unknown", message: "The model request failed." }, unstarted: [] }],
    ]);
  });

  test("is forgotten when one succeeds", () => {
    expect(steps(...open, ...failed(3, DOWN), ...failed(5, DOWN), ...sampled(7, added("1", called("x"))), ended("x"), ...failed(11, DOWN))).toEqual([
      { key: "sample:4", do: "sample", attempt: 2, notBefore: null },
    ]);
  });

  test("that left calls behind has them run first", () => {
    const half: Draft[] = [{ type: "sample.started" }, added("1", called("x")), { type: "sample.ended", sample: 3, status: "failed", failure: DOWN }];
    expect([steps(...open, ...half), steps(...open, ...half, ended("x"))]).toEqual([[{ key: "call:x", do: "call", call: "x" }], [{ key: "sample:1", do: "sample", attempt: 2, notBefore: null }]]);
  });
});

describe("an interrupted turn", () => {
  const two = sampled(3, added("1", called("x")), added("2", called("y")));

  test("lists nothing while a call or a request runs, so that they are aborted", () => {
    expect([steps(...open, ...two, started("x"), interrupted), steps(...open, { type: "sample.started" }, interrupted)]).toEqual([[], []]);
  });

  test("ends as cancelled when nothing runs any more, naming the calls that were never started", () => {
    expect(steps(...open, ...two, started("x"), interrupted, ended("x"))).toEqual([
      { key: "end:t1", do: "end", status: "cancelled", failure: null, unstarted: [{ call: "y", tool: "exec_command", seq: 5, started: false, digest: digestOf("exec_command {}") }] },
    ]);
  });

  test("takes no input", () => {
    expect(steps(...open, interrupted, queued("b", "b", "steer"))).toEqual([{ key: "end:t1", do: "end", status: "cancelled", failure: null, unstarted: [] }]);
  });

  test("ends also while it is parked", () => {
    expect(steps(...open, opened, interrupted)).toEqual([{ key: "end:t1", do: "end", status: "cancelled", failure: null, unstarted: [] }]);
  });
});

describe("nothing is listed", () => {
  test("for input that a new writer finds waiting, until it is continued, withdrawn or more is sent: opening runs nothing", () => {
    const begin = { key: "begin:0", do: "begin", inputs: [1], cancelled: false };
    const waiting = [queued("a"), opened];
    expect([
      steps(...waiting),
      steps(...waiting, { type: "turn.continued", op: "c" }),
      steps(...waiting, queued("b")),
      steps(...waiting, { type: "input.withdrawn", op: "w", input: "a" }),
      steps(...waiting, { type: "input.withdrawn", op: "w", input: "a" }, queued("b")),
      steps(...open, queued("b"), opened, interrupted, { type: "turn.ended", status: "cancelled", turn: "t1" }),
    ]).toEqual([[], [begin], [begin], [], [{ ...begin, inputs: [4] }], []]);
  });

  test("for a parked turn, until it is continued", () => {
    expect([steps(...open, opened), steps(...open, opened, { type: "turn.continued", op: "c" })]).toEqual([[], [{ key: "sample:0", do: "sample", attempt: 1, notBefore: null }]]);
  });

  test("behind a record that this build must understand and does not", () => {
    expect(steps(queued("a"), { type: "future.rule", critical: true })).toEqual([]);
  });

  test("while history must be loaded again", () => {
    const state = given(queued("a"));
    expect(next(reduce(state, sealed({ type: "thread.rewound", op: "r", before: 2, carry: carryOf(state) }, { seq: 2 })), LIMITS)).toEqual([]);
  });
});

test("an interrupt before its turn is open opens the turn without context and ends it", () => {
  const cancelled = [queued("a"), interrupted];
  expect(steps(...cancelled)).toEqual([{ key: "begin:0:cancelled", do: "begin", inputs: [1], cancelled: true }]);
  const begun = steps(...cancelled, { type: "turn.started", turn: "t1", inputs: [1] });
  expect(begun).toEqual([{ key: "end:t1", do: "end", status: "cancelled", failure: null, unstarted: [] }]);
});

test("a request that was mended by leaving out what was refused uses up no retry", () => {
  const refused: Draft[] = [{ type: "sample.started" }, { type: "sample.ended", sample: 3, status: "failed", failure: { code: "bad_image", message: "no", retryable: true }, retries: 0 }];
  expect(steps(...open, ...refused)).toEqual([{ key: "sample:1", do: "sample", attempt: 1, notBefore: null }]);
});
