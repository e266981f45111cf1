/** Whatever a log holds and however small the window: a compaction gives a request that is valid, within its budget, and the same when it is read again. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compacted, plan, summaryMessage } from "../../src/core/compact.ts";
import { roomOf, tokensUsed } from "../../src/core/room.ts";
import { visible } from "../../src/core/history.ts";
import { reduce } from "../../src/core/reduce.ts";
import type { State } from "../../src/core/state.ts";
import { positions, worlds } from "./arbitrary.ts";
import { runs, sealed, stateAt, type Logs } from "./given.ts";
import { faultsOf } from "./pairing.ts";

/** The log up to the position, and the compaction after it. */
function afterCompaction(logs: Logs, state: State, position: { thread: string; before: number }) {
  const planned = plan(state);
  const draft = compacted(state, planned, { items: [summaryMessage("what was", planned.summaryTokens)], strategy: "summary", trigger: "auto" });
  const record = sealed(draft, { seq: position.before });
  const log = logs.get(position.thread)!.filter(({ seq }) => seq < position.before);
  const longer: Logs = new Map([...logs, [position.thread, [...log, record]]]);
  return { planned, draft, incremental: reduce(state, record), loaded: stateAt(longer, { thread: position.thread, before: position.before + 1 })! };
}

/** Tokens at four bytes each of every text in these items, weighed here and not by what is tested. */
function weightOf(items: readonly unknown[]): number {
  let bytes = 0;
  JSON.stringify(items, (key, value: unknown) => {
    if (typeof value === "string" && !/^(?:type|role|status|id|call_id|context|sha256)$/u.test(key)) bytes += Buffer.byteLength(value);
    if (key === "bytes" && typeof value === "number") bytes += value;
    return value;
  });
  return Math.floor(bytes / 4);
}

function weightBefore({ talk }: State): number {
  return talk.context ? Math.floor((talk.context.instructions.bytes + talk.context.tools.bytes) / 4) : 0;
}

const windows = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 2000, max: 400_000 }));

describe.each(["orderly", "hostile"] as const)("at every position of %s logs", (level) => {
  test("what stays is paired, fits, and reads the same from disk", () => {
    let checked = 0;
    fc.assert(
      fc.property(worlds(level), windows, fc.nat(6), ({ logs }, window, keep) => {
        for (const position of positions(logs)) {
          const state = stateAt(logs, position);
          // A compaction is only made when nothing is open.
          if (!state || state.talk.turn?.sample || (state.talk.turn?.calls.length ?? 0) > 0) continue;
          if (!logs.get(position.thread)!.some(({ seq }) => seq === position.before - 1)) continue;
          const settings = { ...state.thread.settings, model_context_window: window, compact: { keep_turns: keep } };
          state.thread.settings = settings;
          if (state.talk.turn) state.talk.turn.settings = settings;
          const { budget } = roomOf(state);
          const { planned, draft, incremental, loaded } = afterCompaction(logs, state, position);
          const items = visible(loaded.history).map(({ item }) => item);
          const faults = faultsOf(items);
          if (faults.length > 0) expect({ position, faults, items, draft }).toEqual({});
          expect(JSON.stringify(visible(incremental.history))).toBe(JSON.stringify(visible(loaded.history)));
          // What the open turn was told and nobody answered stays, however long it is.
          const open = state.talk.turn?.id ?? null;
          const answered = planned.stays.findLastIndex(({ turn, sample, item }) => turn !== open || open === null || sample !== null || item?.type !== "message") + 1;
          if (planned.tooLarge) expect(answered).toBe(0);
          else if (planned.stays.length === answered) {
            checked += 1;
            expect(tokensUsed(loaded)).toBeLessThanOrEqual(budget);
            expect(weightOf(items) + weightBefore(loaded)).toBeLessThanOrEqual(budget);
          }
        }
      }),
      runs(60),
    );
    expect(checked).toBeGreaterThan(100);
  });
});
