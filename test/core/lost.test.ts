import { describe, expect, test } from "vitest";
import type { Draft } from "../../src/protocol/record.ts";
import { callItem, lost } from "../../src/core/lost.ts";
import { added, called, ended, given, output, queued, said } from "./given.ts";

const open: Draft[] = [queued("a"), { type: "turn.started", turn: "t1", inputs: [1] }];
const started = (call: string): Draft => ({ type: "call.started", call, tool: "exec_command", envelope: { cwd: "/", sandbox: "read-only" }, turn: "t1" });
const UNKNOWN = "The process that ran this call ended before the call did: outcome unknown. It was not run again. Check its effects before you repeat it.";
const unknown = (call: string, text = UNKNOWN): Draft => ({ type: "call.ended", turn: "t1", call, tool: "exec_command", status: "unknown", output: output(call, text) as never });

describe("what a dead writer left", () => {
  test("is nothing when no turn was open, or nothing ran in it", () => {
    expect([lost(given(), []), lost(given(...open), []), lost(given(...open, { type: "turn.ended", status: "completed" }), [{ id: "x", kind: "message", text: "late" }])]).toEqual([[], [], []]);
  });

  test("a request: lost, and what was read of its answer is kept as parts", () => {
    const live = [
      { id: "m", kind: "message", text: "half a sen" },
      { id: "r", kind: "reasoning", text: "hm" },
      { id: "e", kind: "message", text: "" },
      { id: "done", kind: "message", text: "committed before" },
    ] as const;
    expect(lost(given(...open, { type: "sample.started" }, added("done", said("committed before"))), live)).toEqual([
      { type: "item.added", turn: "t1", id: "m", item: said("half a sen"), partial: true },
      { type: "item.added", turn: "t1", id: "r", item: { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] }, partial: true },
      { type: "sample.ended", turn: "t1", sample: 3, status: "lost" },
    ]);
  });

  test("a started call: its outcome is unknown, with what it had printed; one that was not started stays open", () => {
    const calls = [...open, added("1", called("x")), added("2", called("y")), added("3", called("z")), started("x"), started("z")];
    expect(lost(given(...calls), [{ id: "z", kind: "output", text: "compiling…" }])).toEqual([unknown("x"), unknown("z", `${UNKNOWN}\nOutput until then:\ncompiling…`)]);
  });

  test("a started call whose item is no longer in history is ended too, so that it never runs again", () => {
    expect(lost(given(...open, added("1", called("x")), started("x"), { type: "item.dropped", items: ["1"], why: "too large" }), [])).toEqual([unknown("x")]);
  });
});

describe("the item of a call", () => {
  test("is that of the open call when its id was used before, or twice", () => {
    const state = given(...open, { type: "sample.started" }, added("1", called("x", "first")), ended("x"), added("2", called("x", "second")), added("3", called("x", "third")));
    expect(callItem(state, "x")).toEqual(called("x", "second"));
  });

  test("is the newest when none is open, and null when there is none", () => {
    const state = given(...open, added("1", called("x", "first")), ended("x"), added("2", called("x", "second")), ended("x"));
    expect([callItem(state, "x"), callItem(state, "y")]).toEqual([called("x", "second"), null]);
  });
});
