import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Draft, LogRecord, Position } from "../../src/protocol/record.ts";
import { live, settle, stepBack } from "../../src/core/lineage.ts";
import { inputPositions, runReads, walkBack } from "../../src/core/load.ts";
import { positions, worlds } from "./arbitrary.ts";
import { append, created, headOf, queued, reader, ROOT, rootWith, runs, sealed, threadId, type Logs } from "./given.ts";

const FORK = threadId(1);
const SECOND = threadId(2);
const note: Draft = { type: "note.made" };
const carry = { thread: { ops: [], grants: [] }, talk: { queue: [], asks: [], history: { compaction: null, from: 0 } } };
const rewound = (before: number): Draft => ({ type: "thread.rewound", op: `op${before}`, before, carry });

/** `0 1 f2`: seqs, with the initial of the thread unless it is the root. */
function liveAt(logs: Logs, thread: string, before?: number): string {
  const names = new Map([...logs].flatMap(([id, log]) => log.map((record) => [record, id === ROOT ? "" : id === FORK ? "f" : "g"] as const)));
  return live(logs, { thread, before: before ?? headOf(logs, thread).before }).map((record) => `${names.get(record)}${record.seq}`).join(" ");
}

/** 0 1 2 3 4, back to before 3 at 5, then 6. */
function rewoundOnce(): Logs {
  return rootWith(note, note, note, note, rewound(3), note);
}

describe("live", () => {
  test("without forks and rewinds, everything before the position is live", () => {
    const logs = rootWith(note, note, note);
    expect([0, 1, 2, 3, 4, 9].map((before) => liveAt(logs, ROOT, before))).toEqual(["", "0", "0 1", "0 1 2", "0 1 2 3", "0 1 2 3"]);
  });

  test("a rewind takes out what lies between its target and itself", () => {
    expect(liveAt(rewoundOnce(), ROOT)).toBe("0 1 2 5 6");
  });

  test("positions before and inside a rewound range are as they were", () => {
    const logs = rewoundOnce();
    expect([3, 4, 5, 6].map((before) => liveAt(logs, ROOT, before))).toEqual(["0 1 2", "0 1 2 3", "0 1 2 3 4", "0 1 2 5"]);
  });

  test("a rewind of a rewind to before it revives what the first one took out", () => {
    const logs = rewoundOnce();
    append(logs, ROOT, rewound(5), note);
    expect(liveAt(logs, ROOT)).toBe("0 1 2 3 4 7 8");
  });

  test("a rewind to after an earlier rewind keeps that one in force", () => {
    const logs = rewoundOnce();
    append(logs, ROOT, rewound(6), note);
    expect(liveAt(logs, ROOT)).toBe("0 1 2 5 7 8");
  });

  test("a third rewind may bring back the branch that the second one left", () => {
    const logs = rewoundOnce();
    append(logs, ROOT, rewound(5), note, rewound(7), note);
    expect(liveAt(logs, ROOT)).toBe("0 1 2 5 6 9 10");
  });

  test("a rewind into the middle of a dead range revives that much of it", () => {
    const logs = rewoundOnce();
    append(logs, ROOT, rewound(4));
    expect(liveAt(logs, ROOT)).toBe("0 1 2 3 7");
  });

  test("a rewind to the place where it stands, or beyond, takes nothing out", () => {
    const logs = rootWith(note, rewound(2), rewound(99), note);
    expect(liveAt(logs, ROOT)).toBe("0 1 2 3 4");
  });

  test("a rewind to before the first record leaves only itself", () => {
    expect(liveAt(rootWith(note, rewound(0), note), ROOT)).toBe("2 3");
  });

  test("a fork goes on with its base, and later records of the parent are not its own", () => {
    const logs = rootWith(note, note, note);
    append(logs, FORK, created(FORK, { thread: ROOT, before: 3 }), note);
    append(logs, ROOT, note, rewound(1), note);
    expect(liveAt(logs, FORK)).toBe("0 1 2 f3 f4");
  });

  test("a fork out of a rewound range has that range", () => {
    const logs = rewoundOnce();
    append(logs, FORK, created(FORK, { thread: ROOT, before: 5 }), note);
    expect(liveAt(logs, FORK)).toBe("0 1 2 3 4 f5 f6");
  });

  test("a fork from after a rewind has what the rewind left", () => {
    const logs = rewoundOnce();
    append(logs, FORK, created(FORK, { thread: ROOT, before: 7 }), note);
    expect(liveAt(logs, FORK)).toBe("0 1 2 5 6 f7 f8");
  });

  test("a fork of a fork goes back through both", () => {
    const logs = rewoundOnce();
    append(logs, FORK, created(FORK, { thread: ROOT, before: 4 }), note, note);
    append(logs, SECOND, created(SECOND, { thread: FORK, before: 6 }), note);
    expect(liveAt(logs, SECOND)).toBe("0 1 2 3 f4 f5 g6 g7");
  });

  test("a fork of a fork from before that fork's first record goes back to the root at once", () => {
    const logs = rewoundOnce();
    append(logs, FORK, created(FORK, { thread: ROOT, before: 5 }), note);
    append(logs, SECOND, created(SECOND, { thread: FORK, before: 4 }), note);
    expect(liveAt(logs, SECOND)).toBe("0 1 2 3 g4 g5");
  });

  test("a fork may rewind into its base, and from there back into itself", () => {
    const logs = rewoundOnce();
    append(logs, FORK, created(FORK, { thread: ROOT, before: 5 }), note, rewound(2), note);
    expect(liveAt(logs, FORK)).toBe("0 1 f7 f8");
    append(logs, FORK, rewound(7));
    expect(liveAt(logs, FORK)).toBe("0 1 2 3 4 f5 f6 f9");
  });

  test("a fork of the very beginning, or of a log that is gone, has only its own records", () => {
    const logs = rootWith(note);
    append(logs, FORK, created(FORK, { thread: ROOT, before: 0 }), note);
    append(logs, SECOND, created(SECOND, { thread: threadId(9), before: 4 }), note);
    expect([liveAt(logs, FORK), liveAt(logs, SECOND)]).toEqual(["f0 f1", "g4 g5"]);
  });

  test("records that were lost are missed and nothing else is", () => {
    const logs = rewoundOnce();
    logs.get(ROOT)!.splice(2, 1);
    expect([liveAt(logs, ROOT), liveAt(logs, ROOT, 5)]).toEqual(["0 1 5 6", "0 1 3 4"]);
  });

  test("a rewind of a version that this build does not know is not followed", () => {
    expect(liveAt(rootWith(note, note, { v: 2, ...rewound(1) }, note), ROOT)).toBe("0 1 2 3 4");
  });

  test("along any lineage seq strictly grows", () => {
    fc.assert(
      fc.property(worlds("hostile"), ({ logs }) => {
        for (const position of positions(logs)) {
          const seqs = live(logs, position).map((record) => record.seq);
          expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
        }
      }),
      runs(40),
    );
  });
});

describe("walkBack", () => {
  test("visits what is live, newest first, whatever the size of the blocks that it is given", () => {
    fc.assert(
      fc.property(worlds("hostile"), fc.integer({ min: 1, max: 9 }), ({ logs }, batch) => {
        for (const position of positions(logs)) {
          const visited: LogRecord[] = [];
          runReads(walkBack(position, (record) => visited.push(record) > 0), reader(logs, batch));
          expect(visited.reverse()).toEqual(live(logs, position));
        }
      }),
      runs(40),
    );
  });

  test("stops where it is told to and names the thread of each record", () => {
    const logs = rootWith(note, note);
    append(logs, FORK, created(FORK, { thread: ROOT, before: 2 }), note);
    const visited: [string, number][] = [];
    const visit = (record: LogRecord, thread: string) => visited.push([thread, record.seq]) < 3;
    runReads(walkBack(headOf(logs, FORK), visit), reader(logs));
    expect(visited).toEqual([[FORK, 3], [FORK, 2], [ROOT, 1]]);
  });
});

describe("stepBack and settle", () => {
  const root = sealed(created(), { seq: 0 });
  const fork = sealed(created(FORK, { thread: ROOT, before: 5 }), { seq: 5 });
  const step = (record: LogRecord) => stepBack(FORK, record);

  test("a step leads to the record before, to a rewind's target, to a fork's base, or nowhere", () => {
    expect([sealed(note, { seq: 7 }), sealed(rewound(2), { seq: 7 }), sealed(rewound(9), { seq: 7 }), fork, root].map(step)).toEqual([
      { thread: FORK, before: 7 },
      { thread: FORK, before: 2 },
      { thread: FORK, before: 7 },
      { thread: ROOT, before: 5 },
      null,
    ]);
  });

  test("a position is settled in the log that holds the record before it", () => {
    const at = (before: number): Position => ({ thread: FORK, before });
    expect([settle(at(6), fork), settle(at(5), fork), settle(at(2), fork), settle(at(1), root), settle(at(0), root)]).toEqual([
      at(6),
      { thread: ROOT, before: 5 },
      { thread: ROOT, before: 2 },
      at(1),
      null,
    ]);
  });
});

describe("inputPositions", () => {
  const taken = (from: number): Draft => ({ type: "input.taken", op: `i${from}`, from });
  const started = (...inputs: number[]): Draft => ({ type: "turn.started", inputs, turn: `t${inputs.join()}` });
  const all = (logs: Logs, thread = ROOT) => runReads(inputPositions(headOf(logs, thread), () => false), reader(logs, 2));

  test("are where inputs were taken, newest first, turns without input left out", () => {
    const logs = rootWith(queued("a"), started(1), queued("b", "b", "steer"), taken(3), { type: "turn.ended", status: "completed" }, started());
    expect(all(logs)).toEqual([4, 2]);
  });

  test("follow the lineage: a rewound input is not among them, a fork's base is", () => {
    const logs = rootWith(queued("a"), started(1), queued("b"), started(3), rewound(3), queued("c"), started(6));
    append(logs, FORK, created(FORK, { thread: ROOT, before: 5 }), queued("d"), started(6));
    expect([all(logs), all(logs, FORK)]).toEqual([[7, 2], [7, 4, 2]]);
  });

  test("are as many as are asked for", () => {
    const logs = rootWith(queued("a"), started(1), queued("b"), started(3));
    expect(runReads(inputPositions(headOf(logs), (found) => found >= 1), reader(logs))).toEqual([4]);
  });
});
