/** Opening near the end, replaying from the start and following record by record are three ways to one state. */
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { LogRecord, Position } from "../../src/protocol/record.ts";
import { historyFrom } from "../../src/core/history.ts";
import { live } from "../../src/core/lineage.ts";
import { reduce } from "../../src/core/reduce.ts";
import { born, type State } from "../../src/core/state.ts";
import { commands, positions, worlds } from "./arbitrary.ts";
import { headOf, known, runs, sealed, stateAt, type Logs } from "./given.ts";
import { Simulator } from "./simulator.ts";

function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toStrictEqual(expected);
}

/** The plain meaning of a log: everything live, from the first record on, no carry trusted. */
function fromZero(logs: Logs, position: Position): State | null {
  const [first, ...rest] = live(logs, position);
  if (!first) return null;
  let state = born(first, null);
  for (const record of rest) state = reduce(state, record);
  state.history = historyFrom(known([first, ...rest]), state.talk.history);
  return { ...state, head: position.before, stale: false };
}

test("replay from the first record equals opening from the nearest carry, everywhere", () => {
  fc.assert(
    fc.property(worlds("orderly"), ({ logs }) => {
      for (const position of positions(logs)) same(stateAt(logs, position), fromZero(logs, position));
    }),
    runs(80),
  );
});

test("following a thread record by record equals opening it afresh, after every record", () => {
  fc.assert(
    fc.property(worlds("orderly"), ({ logs }) => {
      for (const [thread, log] of logs) {
        let state: State | null = null;
        for (const record of log) {
          const opened = stateAt(logs, { thread, before: record.seq + 1 });
          state = state ? reduce(state, record) : stateAt(logs, { thread, before: record.seq + 1 });
          if (state?.stale) state = stateAt(logs, { thread, before: record.seq + 1 });
          else same(state, opened);
        }
      }
    }),
    runs(60),
  );
});

test("a saved state changes nothing: a log with it and one with an unknown record in its place mean the same", () => {
  fc.assert(
    fc.property(worlds("orderly"), ({ logs }) => {
      const without: Logs = new Map([...logs].map(([thread, log]) => [thread, log.map(withoutSave)]));
      for (const position of positions(logs)) same(stateAt(without, position), stateAt(logs, position));
    }),
    runs(60),
  );
});

function withoutSave(record: LogRecord): LogRecord {
  return record.type === "state.saved" ? sealed({ type: "future.nothing" }, record) : record;
}

test("a saved state appended anywhere gives the state before it, but for the head", () => {
  fc.assert(
    fc.property(worlds("orderly"), ({ logs }) => {
      for (const [thread, log] of logs) {
        const position = { thread, before: log.at(-1)!.seq + 1 };
        const { thread: threadPart, talk } = stateAt(logs, position)!;
        const saved: LogRecord = sealed({ type: "state.saved", carry: { thread: threadPart, talk } }, { seq: position.before });
        const longer: Logs = new Map([...logs, [thread, [...log, saved]]]);
        same(stateAt(longer, { thread, before: position.before + 1 }), { ...stateAt(logs, position), head: position.before + 1 });
      }
    }),
    runs(60),
  );
});

test("what is appended to a parent never changes a fork", () => {
  fc.assert(
    fc.property(commands("orderly", { min: 5 }), commands("orderly", { max: 30 }), fc.nat(5), (before, after, which) => {
      const simulator = new Simulator().run(before);
      const { logs, threads } = simulator;
      const thread = threads[which % threads.length]!;
      const others = threads.filter((other) => other !== thread).map((other) => headOf(logs, other));
      const states = others.map((position) => stateAt(logs, position));
      simulator.run(after, thread);
      same(others.map((position) => stateAt(logs, position)), states);
    }),
    runs(60),
  );
});

test("after the middle of a log is lost, what is left still opens at every position", () => {
  fc.assert(
    fc.property(worlds("hostile"), ({ logs }) => {
      for (const position of positions(logs)) {
        const expected = live(logs, position).length > 0;
        same(stateAt(logs, position) !== null, expected);
      }
    }),
    runs(60),
  );
});
