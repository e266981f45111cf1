/** The generator is worth something only if it reaches the places where logs go wrong. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LogRecord, Position } from "../../src/protocol/record.ts";
import { live } from "../../src/core/lineage.ts";
import { commands, simulate, worlds } from "./arbitrary.ts";
import { headOf, stateAt, type Logs } from "./given.ts";

const sample = fc.sample(worlds("orderly"), { numRuns: 200, seed: 1 }).map(({ logs }) => logs);
const count = (matches: (logs: Logs) => boolean) => sample.filter(matches).length;
const records = (logs: Logs): LogRecord[] => [...logs.values()].flat();
const baseOf = (log: LogRecord[]) => log[0]!["base" as never] as Position | null;

describe("of 200 orderly families", () => {
  test("together they hold every known type of record and an unknown one", () => {
    const types = new Set(sample.flatMap(records).map((record) => record.type));
    expect([...types].filter((type) => !type.startsWith("future.")).toSorted()).toEqual([
      "ask.answered",
      "ask.opened",
      "ask.withdrawn",
      "call.ended",
      "call.requested",
      "call.started",
      "context.changed",
      "file.changed",
      "grant.added",
      "grant.revoked",
      "history.compacted",
      "history.restored",
      "input.changed",
      "input.queued",
      "input.taken",
      "input.withdrawn",
      "item.added",
      "item.dropped",
      "plan.changed",
      "sample.ended",
      "sample.started",
      "settings.changed",
      "state.saved",
      "thread.created",
      "thread.described",
      "thread.rewound",
      "turn.continued",
      "turn.ended",
      "turn.interrupted",
      "turn.started",
      "writer.closed",
      "writer.opened",
    ]);
    expect(types).toContain("future.thing");
  });

  test("many have forks of forks, forks out of dead ranges and forks out of compacted ones", () => {
    expect(count((logs) => [...logs.values()].some((log) => baseOf(logs.get(baseOf(log)?.thread ?? "") ?? log) !== null))).toBeGreaterThan(40);
    expect(count((logs) => forks(logs).some((base) => !isLive(logs, base)))).toBeGreaterThan(20);
    expect(count((logs) => forks(logs).some((base) => (stateAt(logs, headOf(logs, base.thread))?.talk.history.from ?? 0) > base.before))).toBeGreaterThan(5);
  });

  test("many have rewinds of rewinds, rewinds into dead ranges and rewinds into a fork's base", () => {
    const rewound = (logs: Logs) => [...logs].flatMap(([thread, log]) => log.filter((record) => record.type === "thread.rewound").map((record) => ({ thread, log, record, before: record["before" as never] as number })));
    expect(count((logs) => rewound(logs).length > 1)).toBeGreaterThan(60);
    expect(count((logs) => rewound(logs).some(({ thread, record, before }) => !live(logs, { thread, before: record.seq }).some((alive) => alive.seq === before - 1)))).toBeGreaterThan(25);
    expect(count((logs) => rewound(logs).some(({ log, before }) => before <= log[0]!.seq))).toBeGreaterThan(5);
  });
});

test("the same seed gives the same logs", () => {
  const [first, second] = [1, 2].map(() => fc.sample(commands("hostile"), { numRuns: 20, seed: 7 }).map((list) => [...simulate(list).logs]));
  expect(second).toEqual(first);
});

function forks(logs: Logs): Position[] {
  return [...logs.values()].map(baseOf).filter((base) => base !== null);
}
function isLive(logs: Logs, base: Position): boolean {
  return live(logs, headOf(logs, base.thread)).some((record) => record.seq === base.before - 1);
}
