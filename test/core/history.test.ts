import { describe, expect, test } from "vitest";
import { userText, type Item } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { UNANSWERED, visible } from "../../src/core/history.ts";
import { carryOf } from "../../src/core/state.ts";
import { added, append, called, created, ended, given, output, queued, ROOT, rootWith, said, stateAt, stateOf, threadId, type Logs } from "./given.ts";

const start: Draft[] = [queued("a", "do it"), { type: "turn.started", turn: "t1", inputs: [1] }, { type: "sample.started", turn: "t1" }];
const sampleEnded = (sample: number): Draft => ({ type: "sample.ended", sample, status: "done", turn: "t1" });
const items = (...drafts: Draft[]) => visible(given(...start, ...drafts).history).map(({ item }) => item);
const shell: Item = { type: "local_shell_call", call_id: "s", action: { type: "exec", command: ["ls"] } };
const patch: Item = { type: "custom_tool_call", call_id: "p", name: "apply_patch", input: "***" };
const asked = userText("do it");

describe("visible", () => {
  test("outputs follow their batch in the order of the calls, not of their ends", () => {
    expect(items(added("1", called("x")), added("2", called("y")), sampleEnded(3), ended("y"), ended("x"))).toEqual([
      asked,
      called("x"),
      called("y"),
      output("x"),
      output("y"),
    ]);
  });

  test("text between the calls of a batch stays between them", () => {
    expect(items(added("1", called("x")), added("2", said("hm")), added("3", called("y")), ended("x"), ended("y"))).toEqual([
      asked,
      called("x"),
      said("hm"),
      called("y"),
      output("x"),
      output("y"),
    ]);
  });

  test("a call without an output is answered with one that says so, of the call's own kind", () => {
    expect(items(added("1", called("x")), added("2", patch), added("3", shell))).toEqual([
      asked,
      called("x"),
      patch,
      shell,
      { type: "function_call_output", call_id: "x", output: UNANSWERED },
      { type: "custom_tool_call_output", call_id: "p", output: UNANSWERED },
      { type: "function_call_output", call_id: "s", output: UNANSWERED },
    ]);
  });

  test("an output of the wrong kind answers nothing", () => {
    const wrong: Draft = { type: "call.ended", call: "p", tool: "apply_patch", status: "done", output: output("p") as never };
    expect(items(added("1", patch), wrong)).toEqual([asked, patch, { type: "custom_tool_call_output", call_id: "p", output: UNANSWERED }]);
  });

  test("the first of two outputs counts", () => {
    expect(items(added("1", called("x")), ended("x", "first"), ended("x", "second"))).toEqual([asked, called("x"), output("x", "first")]);
  });

  test("an output without a call is dropped", () => {
    expect(items(ended("ghost"), added("1", said("hi")))).toEqual([asked, said("hi")]);
  });

  test("an id used again in a later batch is another call", () => {
    const second: Draft[] = [{ type: "sample.started", turn: "t1" }, added("2", called("x")), ended("x", "two")];
    expect(items(added("1", called("x")), sampleEnded(3), ended("x", "one"), ...second)).toEqual([
      asked,
      called("x"),
      output("x", "one"),
      called("x"),
      output("x", "two"),
    ]);
  });

  test("an id used twice in one batch is one call", () => {
    expect(items(added("1", called("x", "f")), added("2", called("x", "g")), ended("x"))).toEqual([asked, called("x", "f"), output("x")]);
  });

  test("system messages, unknown kinds and empty messages stay in the log and go to nobody", () => {
    const hidden: Item[] = [
      { type: "message", role: "system", content: [{ type: "input_text", text: "be good" }] },
      { type: "image_generation_call", id: "ig" },
      { type: "message", role: "assistant", content: [] },
      { type: "message", role: "tool", content: [{ type: "input_text", text: "?" }] },
      null as never,
    ];
    expect(items(...hidden.map((item, index) => added(`${index}`, item)))).toEqual([asked]);
  });

  test("developer messages, reasoning and web searches stand alone, unknown fields included", () => {
    const kept: Item[] = [
      { type: "message", role: "developer", content: [{ type: "input_text", text: "mind the gap" }], later: 1 },
      { type: "reasoning", summary: [], encrypted_content: "abc", later: [1] },
      { type: "web_search_call", id: "ws", action: { type: "search", query: "x" } },
    ];
    expect(items(...kept.map((item, index) => added(`${index}`, item)))).toEqual([asked, ...kept]);
  });

  test("an item that was dropped is gone, and its output with it", () => {
    const drop: Draft = { type: "item.dropped", items: ["1"], why: "too large" };
    expect(items(added("1", called("x")), added("2", said("hi")), ended("x"), drop)).toEqual([asked, said("hi")]);
  });

  test("input and outputs can be dropped by their place and by their call", () => {
    const drop: Draft = { type: "item.dropped", items: ["2.0", "x:out"], why: "too large" };
    expect(items(added("1", called("x")), ended("x"), drop)).toEqual([called("x"), output("x", UNANSWERED)]);
  });

  test("of an item whose images were dropped, a note stands in place of each", () => {
    const image = { type: "input_image", image_url: "blob:abc" };
    const note = { type: "input_text", text: "[an image that could not be sent]" };
    const picture = { type: "message", role: "user", content: [{ type: "input_text", text: "see" }, image] };
    const shot: Draft = { type: "call.ended", call: "x", tool: "view_image", status: "done", output: { type: "function_call_output", call_id: "x", output: [image, image] } };
    const state = given(queued("a", [picture]), { type: "turn.started", inputs: [1] }, added("1", called("x")), shot, { type: "item.dropped", items: ["2.0", "x:out", "1"], part: "images", why: "refused" });
    expect(visible(state.history).map(({ item }) => item)).toEqual([
      { type: "message", role: "user", content: [{ type: "input_text", text: "see" }, note] },
      called("x"),
      { type: "function_call_output", call_id: "x", output: [note, note] },
    ]);
  });

  test("each item of several inputs has an id of its own", () => {
    const state = given(queued("a", [userText("1"), userText("2")]), queued("b", [userText("3"), userText("4")]), { type: "turn.started", inputs: [1, 2] }, { type: "item.dropped", items: ["3.0", "3.2"], why: "test" });
    expect(state.history.entries.map(({ id, item }) => [id, item])).toEqual([
      ["3.1", userText("2")],
      ["3.3", userText("4")],
    ]);
  });

  test("calls whose request is not in the log form one batch", () => {
    const state = given(...start.slice(0, 2), added("1", called("x")), added("2", called("y")), ended("y"), ended("x"));
    expect(visible(state.history).map(({ item }) => item)).toEqual([asked, called("x"), called("y"), output("x"), output("y")]);
  });

  test("an item says where it was made; input and outputs were made nowhere", () => {
    const origin = { wire: "responses", provider: "openai", model: "m" } as const;
    const state = given(...start.slice(0, 2), { type: "sample.started", origin }, added("1", called("x")), sampleEnded(3), ended("x"), { type: "sample.started" }, added("2", said("ok")));
    expect(visible(state.history)).toEqual([
      { item: asked, origin: null },
      { item: called("x"), origin },
      { item: output("x"), origin: null },
      { item: said("ok"), origin },
    ]);
  });

  test("an origin is not taken over into the next turn", () => {
    const origin = { wire: "responses", provider: "openai", model: "m" } as const;
    const second: Draft[] = [{ type: "turn.ended", status: "completed" }, { type: "turn.started", inputs: [] }, { type: "sample.started" }, added("2", said("ok"))];
    expect(visible(given(...start.slice(0, 2), { type: "sample.started", origin }, ...second).history).at(-1)).toEqual({ item: said("ok"), origin: null });
  });

  test("a summary obeys the same rules as what it stands for", () => {
    const state = given(...start, { type: "turn.ended", status: "completed" });
    const system: Item = { type: "message", role: "system", content: [{ type: "input_text", text: "no" }] };
    expect(visible({ summary: [userText("before"), system, called("x"), output("ghost")], entries: state.history.entries })).toEqual([
      { item: userText("before"), origin: null },
      { item: called("x"), origin: null },
      { item: output("x", UNANSWERED), origin: null },
      { item: asked, origin: null },
    ]);
  });
});

describe("input", () => {
  const texts = (...drafts: Draft[]) => visible(given(...drafts).history).map(({ item }) => item);

  test("enters history when it is taken, as it was last changed", () => {
    expect(texts(queued("a", "old"), { type: "input.changed", op: "b", input: "a", items: [userText("new")] })).toEqual([]);
    expect(texts(queued("a", "old"), { type: "input.changed", op: "b", input: "a", items: [userText("new")] }, { type: "turn.started", inputs: [2] })).toEqual([userText("new")]);
  });

  test("steers after the outputs that it waited for", () => {
    const taken: Draft = { type: "input.taken", op: "b", from: 4 };
    const steered = items(queued("b", "stop", "steer"), added("1", called("x")), ended("x"), taken, added("2", said("stopped")));
    expect(steered).toEqual([asked, called("x"), output("x"), userText("stop"), said("stopped")]);
  });

  test("may lie before the place where kept history starts", () => {
    const logs = compacted(4, queued("old"), { type: "turn.started", turn: "t1", inputs: [1] }, queued("b", "kept"), { type: "turn.started", inputs: [3], turn: "t2" });
    expect(visible(stateOf(logs).history).map(({ item }) => item)).toEqual([userText("summary"), userText("kept")]);
    const steered = compacted(2, queued("b", "steering", "steer"), { type: "turn.started", turn: "t1", inputs: [] }, { type: "input.taken", op: "b", from: 1, turn: "t1" });
    expect(visible(stateOf(steered).history).map(({ item }) => item)).toEqual([userText("summary"), userText("steering")]);
  });
});

/** A root with these records and a compaction that keeps what is at `keepFrom` and after. */
function compacted(keepFrom: number, ...drafts: Draft[]): Logs {
  const logs = rootWith(...drafts);
  compact(logs, keepFrom, "summary");
  return logs;
}
function compact(logs: Logs, keepFrom: number, text: string): void {
  const state = stateOf(logs);
  append(logs, ROOT, {
    type: "history.compacted",
    summary: [userText(text)],
    keepFrom,
    previous: state.talk.history,
    tokens: { before: 900, after: 100 },
    carry: carryOf(state),
  });
}

describe("compaction", () => {
  const turn = (n: number): Draft[] => [
    queued(`q${n}`, `question ${n}`),
    { type: "turn.started", turn: `t${n}`, inputs: [4 * n - 3] },
    { type: "item.added", id: `i${n}`, item: said(`answer ${n}`), turn: `t${n}` },
    { type: "turn.ended", status: "completed", turn: `t${n}` },
  ];
  const threeTurns = () => rootWith(...turn(1), ...turn(2), ...turn(3));
  const texts = (logs: Logs, thread = ROOT) => visible(stateOf(logs, thread).history).map(({ item }) => (item["content"] as { text: string }[])[0]!.text);

  test("keeps turns from its cut on, after the summary", () => {
    const logs = threeTurns();
    compact(logs, 10, "one and two");
    expect(texts(logs)).toEqual(["one and two", "question 3", "answer 3"]);
    expect(stateOf(logs).talk).toMatchObject({ history: { compaction: 13, from: 10 }, tokens: 100 });
  });

  test("may keep nothing", () => {
    const logs = threeTurns();
    compact(logs, 13, "all");
    expect(texts(logs)).toEqual(["all"]);
  });

  test("a second one replaces the first, also when it keeps more turns after an older cut", () => {
    const logs = threeTurns();
    compact(logs, 6, "one");
    expect(texts(logs)).toEqual(["one", "question 2", "answer 2", "question 3", "answer 3"]);
    compact(logs, 10, "one and two");
    expect(texts(logs)).toEqual(["one and two", "question 3", "answer 3"]);
  });

  test("restored, it is as if it had not been; twice restored, as if neither had", () => {
    const logs = threeTurns();
    compact(logs, 6, "one");
    compact(logs, 10, "one and two");
    append(logs, ROOT, { type: "history.restored", op: "r1", compaction: 14, base: { compaction: 13, from: 6 } });
    expect(texts(logs)).toEqual(["one", "question 2", "answer 2", "question 3", "answer 3"]);
    append(logs, ROOT, { type: "history.restored", op: "r2", compaction: 13, base: { compaction: null, from: 0 } });
    expect(texts(logs)).toEqual(["question 1", "answer 1", "question 2", "answer 2", "question 3", "answer 3"]);
  });

  test("a fork out of a compacted range has the turns themselves", () => {
    const logs = threeTurns();
    compact(logs, 10, "one and two");
    const fork = threadId(1);
    append(logs, fork, created(fork, { thread: ROOT, before: 5 }));
    expect(texts(logs, fork)).toEqual(["question 1", "answer 1"]);
  });

  test("a fork from after a compaction has the summary and the kept turns", () => {
    const logs = threeTurns();
    compact(logs, 10, "one and two");
    const fork = threadId(1);
    append(logs, fork, created(fork, { thread: ROOT, before: 14 }), queued("q", "in the fork"), { type: "turn.started", inputs: [15], turn: "f" });
    expect(texts(logs, fork)).toEqual(["one and two", "question 3", "answer 3", "in the fork"]);
    expect(stateAt(logs, { thread: fork, before: 17 })!.talk.history).toEqual({ compaction: 13, from: 10 });
  });

  test("within a turn, what follows a cut at the compaction itself still knows where it was made", () => {
    const origin = { wire: "responses", provider: "openai", model: "m" } as const;
    const logs = rootWith(queued("a"), { type: "turn.started", inputs: [1], turn: "t1" }, { type: "sample.started", origin, turn: "t1" }, sampleEnded(3));
    compact(logs, 5, "so far");
    expect(stateOf(logs).talk.origin).toBe(null);
    append(logs, ROOT, { type: "sample.started", origin, turn: "t1" }, added("1", said("on")));
    expect(visible(stateOf(logs).history)).toEqual([
      { item: userText("so far"), origin: null },
      { item: said("on"), origin },
    ]);
  });
});
