import { describe, expect, test } from "vitest";
import { userText } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { visible } from "../../src/core/history.ts";
import { load, runReads } from "../../src/core/load.ts";
import { carryOf } from "../../src/core/state.ts";
import { append, created, given, headOf, queued, reader, ROOT, rootWith, said, SETTINGS, stateAt, stateOf, threadId, type Logs } from "./given.ts";

function turns(logs: Logs, count: number): void {
  for (let n = 0; n < count; n++) {
    const { before } = headOf(logs);
    const turn = `t${before}`;
    append(logs, ROOT, queued(`op${before}`), { type: "turn.started", turn, inputs: [before] }, { type: "sample.started", turn });
    append(logs, ROOT, { type: "item.added", id: `i${before}`, item: said("ok"), turn }, { type: "sample.ended", sample: before + 2, status: "done", turn }, { type: "turn.ended", status: "completed", turn });
  }
}
function compact(logs: Logs, keep: number): void {
  const state = stateOf(logs);
  append(logs, ROOT, {
    type: "history.compacted",
    summary: [userText("summary")],
    keepFrom: headOf(logs).before - 6 * keep + 1,
    previous: state.talk.history,
    tokens: { before: 0, after: 0 },
    carry: carryOf(state),
  });
}
/** How many records opening looks at. */
function looked(logs: Logs, thread = ROOT): number {
  let count = 0;
  const read = reader(logs, 1);
  runReads(load(headOf(logs, thread)), (need) => {
    const records = read(need);
    count += records.length;
    return records;
  });
  return count;
}

describe("opening costs the tail, not the past", () => {
  test.each([1, 10])("after %i times ten compacted turns it looks at the same number of records", (times) => {
    const logs = rootWith();
    for (let n = 0; n < times; n++) {
      turns(logs, 10);
      compact(logs, 2);
    }
    turns(logs, 3);
    // 3 turns of 6 records, the compaction, the 2 turns it keeps, the input of the first, and the record that says stop
    expect(looked(logs)).toBe(18 + 1 + 12 + 1);
  });

  test.each([1, 10])("so does a fork of it (%i times)", (times) => {
    const logs = rootWith();
    for (let n = 0; n < times; n++) {
      turns(logs, 10);
      compact(logs, 2);
    }
    const fork = threadId(1);
    append(logs, fork, created(fork, headOf(logs)));
    expect(looked(logs, fork)).toBe(1 + 1 + 12 + 1);
  });

  test("an input whose record was lost is not looked for beyond its place", () => {
    const logs = rootWith();
    turns(logs, 50);
    compact(logs, 2);
    const log = logs.get(ROOT)!;
    const keepFrom = stateOf(logs).talk.history.from;
    logs.set(ROOT, log.filter((record) => record.seq !== keepFrom - 1));
    expect(looked(logs)).toBe(1 + 11 + 1);
  });

  test("inputs that were taken before the kept turns are not looked for", () => {
    const logs = rootWith(queued("long ago"));
    for (let n = 0; n < 50; n++) {
      const { before } = headOf(logs);
      append(logs, ROOT, queued(`q${before}`), { type: "turn.started", turn: `t${before}`, inputs: [n === 0 ? 1 : before - 3] }, { type: "turn.ended", status: "completed" });
    }
    const keepFrom = headOf(logs).before - 2;
    const state = stateOf(logs);
    append(logs, ROOT, { type: "history.compacted", summary: [], keepFrom, previous: state.talk.history, tokens: { before: 0, after: 0 }, carry: carryOf(state) });
    expect(looked(logs)).toBe(1 + 2 + 4 + 1);
  });
});

describe("where to start", () => {
  test("a record of an unknown type or version that holds something called carry is not started from", () => {
    const strange: Draft[] = [{ type: "future.saved", carry: { talk: 1 } }, { v: 2, type: "state.saved", carry: null }];
    const { thread, talk, history } = given(queued("a"), { type: "turn.started", turn: "t", inputs: [1] });
    const loaded = given(queued("a"), { type: "turn.started", turn: "t", inputs: [1] }, ...strange);
    expect({ thread: loaded.thread, talk: loaded.talk, history: loaded.history }).toEqual({ thread, talk, history });
  });

  test("there is nothing before a root's first record, in an empty log and in none", () => {
    const logs = rootWith(queued("a"));
    logs.set(threadId(1), []);
    expect([stateAt(logs, { thread: ROOT, before: 0 }), stateAt(logs, { thread: threadId(1), before: 4 }), stateAt(logs, { thread: threadId(2), before: 4 })]).toEqual([null, null, null]);
  });
});

describe("a log without its first record", () => {
  const damaged = (): Logs => {
    const logs = rootWith(queued("a", "hello"), queued("b"), { type: "turn.started", turn: "t1", inputs: [1] });
    logs.get(ROOT)!.shift();
    return logs;
  };

  test("still opens, and its oldest record means what it says", () => {
    const state = stateOf(damaged());
    expect(visible(state.history)).toEqual([{ item: userText("hello"), origin: null }]);
    expect(state.talk).toMatchObject({ preview: "hello", userMessages: 1, turns: 1 });
    expect(state.talk.queue.map((input) => input.op)).toEqual(["b"]);
  });

  test("has the most careful settings", () => {
    expect(stateOf(damaged()).thread.settings).toEqual({ model: "", model_provider: "", cwd: "/", approval_policy: "untrusted", sandbox_mode: "read-only" });
  });
});

describe("a critical record that this build does not know", () => {
  const critical: Draft = { type: "future.rule", critical: true };
  const barrier = { seq: 2, type: "future.rule", v: 1 };

  test("bars the thread, and a fork from after it", () => {
    const logs = rootWith(queued("a"), critical, queued("b"));
    const fork = threadId(1);
    append(logs, fork, created(fork, { thread: ROOT, before: 4 }));
    expect([stateOf(logs).barrier, stateOf(logs, fork).barrier]).toEqual([barrier, barrier]);
  });

  test("bars no fork from before it", () => {
    const logs = rootWith(queued("a"), critical);
    const fork = threadId(1);
    append(logs, fork, created(fork, { thread: ROOT, before: 2 }));
    expect(stateOf(logs, fork).barrier).toBe(null);
  });

  test("bars no thread that was rewound to before it", () => {
    const logs = rootWith(queued("a"), critical);
    const carry = carryOf(stateAt(logs, { thread: ROOT, before: 2 })!);
    append(logs, ROOT, { type: "thread.rewound", op: "r", before: 2, carry });
    expect(stateOf(logs).barrier).toBe(null);
  });

  test("of a known type and a newer version bars too; one that is not critical does not", () => {
    expect(given({ v: 3, type: "turn.ended", critical: true }).barrier).toEqual({ seq: 1, type: "turn.ended", v: 3 });
    expect(given({ v: 3, type: "turn.ended" }, { type: "future.note" }).barrier).toBe(null);
  });

  test("of a known type and version bars nothing", () => {
    expect(given({ ...queued("a"), critical: true }).barrier).toBe(null);
  });
});

describe("a fork", () => {
  const logs = rootWith(
    { type: "thread.described", op: "d", title: "parent", tags: ["x"] },
    { type: "settings.changed", op: "s", settings: { model: "other" } },
    { type: "writer.opened", epoch: 3, pid: 1, host: "h" },
    { type: "grant.added", op: "g", grant: "g1", pattern: "ls" },
    queued("a", "first question"),
    { type: "turn.started", turn: "t1", inputs: [5] },
    { type: "plan.changed", plan: [{ step: "look", status: "pending" }], turn: "t1" },
    { type: "ask.opened", ask: "q", kind: "approval", body: null, turn: "t1" },
    queued("b", "waiting"),
  );
  const fork = threadId(1);
  append(logs, fork, created(fork, { thread: ROOT, before: 10 }));

  test("starts a thread of its own: settings from its first record, no title, grants, ops or usage", () => {
    expect(stateOf(logs, fork).thread).toEqual({
      id: fork,
      base: { thread: ROOT, before: 10 },
      source: "exec",
      createdAt: "2026-01-31T09:00:10.000Z",
      title: null,
      tags: [],
      settings: SETTINGS,
      epoch: 0,
      grants: [],
      ops: [],
      usage: { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, total_tokens: 0 },
      diffs: 0,
    });
  });

  test("goes on with the talk as it was there: what was open is closed, nothing is waiting", () => {
    expect(stateOf(logs, fork).talk).toEqual({
      history: { compaction: null, from: 0 },
      preview: "first question",
      updatedAt: "2026-01-31T09:00:10.000Z",
      turns: 1,
      userMessages: 1,
      turn: null,
      lastTurn: { id: "t1", status: "cancelled" },
      queue: [],
      asks: [],
      plan: [{ step: "look", status: "pending" }],
      context: null,
      origin: null,
      tokens: 0,
    });
  });
});
