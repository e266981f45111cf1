/**
 * Random families of logs, realistic and hostile. Also for the tests of stores and for the bench:
 *
 *   fc.property(worlds("orderly"), ({ logs }) => …)        what the runtime may write, at any depth of forks and rewinds
 *   fc.property(worlds("hostile"), ({ logs }) => …)        that, plus garbage, duplicates and lost records
 *   simulate(fc.sample(commands("orderly"), { numRuns: 1, seed })[0]!)     one of them, again and again
 */
import * as fc from "fast-check";
import type { LogRecord, Position } from "../../src/protocol/record.ts";
import type { Logs } from "./given.ts";
import { Simulator, type Command } from "./simulator.ts";

export type Level = "orderly" | "hostile";

const WEIGHTS: Record<Level, Partial<Record<Command["do"], number>>> = {
  orderly: {
    item: 14,
    endSample: 7,
    endCall: 8,
    input: 4,
    endTurn: 4,
    begin: 3,
    sample: 3,
    startCall: 3,
    steer: 2,
    change: 2,
    withdraw: 1,
    ask: 2,
    answer: 2,
    withdrawAsk: 1,
    plan: 1,
    settings: 1,
    describe: 1,
    grant: 1,
    file: 1,
    shell: 1,
    interrupt: 2,
    crash: 2,
    continue: 1,
    drop: 1,
    unknown: 2,
    save: 2,
    compact: 3,
    restore: 2,
    rewind: 3,
    fork: 3,
  },
  hostile: {
    item: 14,
    endSample: 5,
    endCall: 8,
    input: 3,
    begin: 3,
    endTurn: 3,
    steer: 1,
    interrupt: 1,
    crash: 1,
    drop: 1,
    unknown: 1,
    save: 1,
    compact: 2,
    restore: 1,
    rewind: 2,
    fork: 2,
    garbage: 5,
    stray: 8,
    again: 4,
    badCompact: 1,
    damage: 5,
  },
};

export function commands(level: Level, size: { max?: number; min?: number } = {}): fc.Arbitrary<Command[]> {
  const verbs = Object.entries(WEIGHTS[level]).map(([verb, weight]) => ({ weight, arbitrary: fc.constant(verb as Command["do"]) }));
  const command = fc.record({ do: fc.oneof(...verbs), on: fc.nat(7), a: fc.nat(0xffff), b: fc.nat(0xffff) });
  return fc.array(command, { minLength: size.min ?? 0, maxLength: size.max ?? 100, size: "max" });
}

export interface World {
  logs: Logs;
}

export function simulate(list: readonly Command[]): World {
  const logs = new Simulator().run(list).damaged();
  return Object.assign({ logs }, { [fc.toStringMethod]: () => `\n${print(logs)}\n` });
}

export function worlds(level: Level, size: { max?: number; min?: number } = {}): fc.Arbitrary<World> {
  return commands(level, size).map(simulate);
}

/** Every place in every thread: before each own record, and after the last. */
export function* positions(logs: Logs): Iterable<Position> {
  for (const [thread, log] of logs) {
    for (const record of log) yield { thread, before: record.seq };
    yield { thread, before: (log.at(-1)?.seq ?? -1) + 1 };
  }
}

function print(logs: Logs): string {
  return [...logs].map(([thread, log]) => `${thread}\n${log.map(line).join("\n")}`).join("\n");
}
function line(record: LogRecord): string {
  const shown = "carry" in record ? { ...record, carry: "…" } : record;
  return `  ${JSON.stringify(shown)}`;
}
