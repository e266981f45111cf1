/** For any log whatever, at any place in it, the items that go to a model are such that every provider accepts them. */
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LogRecord } from "../../src/protocol/record.ts";
import { visible } from "../../src/core/history.ts";
import { next } from "../../src/core/next.ts";
import type { State } from "../../src/core/state.ts";
import { positions, worlds } from "./arbitrary.ts";
import { runs, stateAt, type Logs } from "./given.ts";
import { faultsOf } from "./pairing.ts";

const shown = (state: State) => visible(state.history).map(({ item }) => item);

function copyOf(logs: Logs): Logs {
  return new Map([...logs].map(([thread, log]) => [thread, JSON.parse(JSON.stringify(log)) as LogRecord[]]));
}

describe.each(["orderly", "hostile"] as const)("at every position of %s logs", (level) => {
  test("each call has exactly one output after it, in call order, and nothing else is shown", () => {
    fc.assert(
      fc.property(worlds(level), ({ logs }) => {
        for (const position of positions(logs)) {
          const state = stateAt(logs, position);
          if (!state) continue;
          const faults = faultsOf(shown(state));
          if (faults.length > 0) expect({ position, faults, items: shown(state) }).toEqual({ position, faults: [], items: [] });
        }
      }),
      runs(80),
    );
  });

  test("the same log gives the same bytes, however it is read", () => {
    fc.assert(
      fc.property(worlds(level), fc.integer({ min: 1, max: 7 }), ({ logs }, batch) => {
        const copy = copyOf(logs);
        for (const position of positions(logs)) {
          const first = stateAt(logs, position);
          const second = stateAt(copy, position, batch);
          expect(JSON.stringify(second)).toBe(JSON.stringify(first));
          if (first && second) expect(JSON.stringify(visible(second.history))).toBe(JSON.stringify(visible(first.history)));
        }
      }),
      runs(40),
    );
  });

  test("next lists steps with unique keys and never throws", () => {
    fc.assert(
      fc.property(worlds(level), fc.boolean(), ({ logs }, reads) => {
        for (const position of positions(logs)) {
          const state = stateAt(logs, position);
          if (!state) continue;
          const keys = next(state, { retries: 2, awake: true, lasts: true, effectOf: (tool) => (reads || tool === "read_file" ? "read" : "exec") }).map((step) => step.key);
          if (!isDeepStrictEqual(keys, [...new Set(keys)])) expect(keys).toEqual([...new Set(keys)]);
        }
      }),
      runs(40),
    );
  });
});
