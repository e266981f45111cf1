/** Events → lines, for what no tool of today's binary makes happen: patches, MCP, plans, searches, compaction. Each line follows the schema. */
import { describe, expect, it } from "vitest";
import type { Event, EventBody } from "../../src/protocol/event.ts";
import type { Item } from "../../src/protocol/item.ts";
import { createLines } from "../../src/cli/exec-lines.ts";
import { faultsOf } from "../e2e/lines.ts";

const usage = { input_tokens: 5, cached_tokens: 1, output_tokens: 2, total_tokens: 7 };
const done = { type: "turn/completed", status: "completed", duration_ms: 3, token_usage: usage } as const satisfies EventBody;
const event = (body: EventBody, cursor?: string): Event => ({ ...body, thread_id: "t", turn_id: "turn", ...(cursor === undefined ? {} : { cursor }) });

function linesOf(...bodies: EventBody[]): object[] {
  const lines = createLines({ cwd: "/p" });
  const made = [lines.started("t"), ...bodies.flatMap((body, index) => lines.next(event(body, `1.${index}.0`)))];
  expect(made.flatMap(faultsOf)).toEqual([]);
  return made.slice(1);
}

function call(tool: string, args: string, given: { kind: Extract<EventBody, { type: "item/started" }>["item_kind"]; id?: string; status?: "done" | "failed" | "unknown" | "denied"; output?: string }): EventBody[] {
  const { kind, id = "c", status = "done", output = "told" } = given;
  const item: Item = { type: "function_call", call_id: id, name: tool, arguments: args };
  return [
    { type: "item/started", item_id: id, item_kind: kind, item },
    { type: "item/toolCall/started", item_id: id, tool_name: tool, args_json: args },
    { type: "item/completed", item_id: id, item_kind: kind, item, result: { status, output, exit_code: null, duration_ms: 1 } },
  ];
}

describe("a patch", () => {
  const patch = "*** Begin Patch\n*** Add File: new.txt\n+hi\n*** Update File: src/old.txt\n@@\n-a\n+b\n*** Delete File: /abs/gone.txt\n*** End Patch";
  const changes = [
    { path: "/p/new.txt", kind: "add" },
    { path: "/p/src/old.txt", kind: "update" },
    { path: "/abs/gone.txt", kind: "delete" },
  ];

  it.each([
    ["a free-form call", JSON.stringify(patch)],
    ["a function's field", JSON.stringify({ input: patch })],
  ])("in %s shows what it changes, with whole paths", (_name, args) => {
    expect(linesOf(...call("apply_patch", args, { kind: "fileChange" }))).toEqual([
      { type: "item.started", item: { id: "item_0", type: "file_change", changes, status: "in_progress" } },
      { type: "item.completed", item: { id: "item_0", type: "file_change", changes, status: "completed", output: "told" } },
    ]);
  });

  it("that failed shows why", () => {
    expect(linesOf(...call("apply_patch", JSON.stringify(patch), { kind: "fileChange", status: "failed", output: "no such context" })).at(-1)).toEqual({
      type: "item.completed",
      item: { id: "item_0", type: "file_change", changes, status: "failed", output: "no such context" },
    });
  });

  it("that cannot be read has no changes, and is there all the same", () => {
    expect(linesOf(...call("apply_patch", "{broken", { kind: "fileChange", status: "failed" })).at(-1)).toMatchObject({ item: { type: "file_change", changes: [], status: "failed" } });
  });
});

describe("an MCP call", () => {
  it("names server and tool, and gives arguments, result and error as JSON", () => {
    expect(linesOf(...call("mcp__docs__search__all", '{"q":1}', { kind: "mcpToolCall" }))).toEqual([
      { type: "item.started", item: { id: "item_0", type: "mcp_tool_call", server: "docs", tool: "search__all", arguments: { q: 1 }, result: null, error: null, status: "in_progress" } },
      {
        type: "item.completed",
        item: { id: "item_0", type: "mcp_tool_call", server: "docs", tool: "search__all", arguments: { q: 1 }, result: { content: [{ type: "text", text: "told" }], structured_content: null }, error: null, status: "completed" },
      },
    ]);
    expect(linesOf(...call("mcp__docs__search", "not json", { kind: "mcpToolCall", status: "unknown", output: "outcome unknown" })).at(-1)).toMatchObject({
      item: { arguments: "not json", result: null, error: { message: "outcome unknown" }, status: "failed" },
    });
  });
});

describe("a plan", () => {
  const plan = (first: "pending" | "completed"): EventBody => ({ type: "turn/plan/updated", plan: [{ step: "a", status: first }, { step: "b", status: "in_progress" }] });
  const list = (completed: boolean) => ({ id: "item_0", type: "todo_list", items: [{ text: "a", completed }, { text: "b", completed: false }] });

  it("is one item that is started, updated, and completed with the turn; its calls are not shown beside it", () => {
    const lines = linesOf(...call("update_plan", "{}", { kind: "planUpdate", id: "c1" }), plan("pending"), ...call("update_plan", "{}", { kind: "planUpdate", id: "c2" }), plan("completed"), done);
    expect(lines.slice(0, 3)).toEqual([
      { type: "item.started", item: list(false) },
      { type: "item.updated", item: list(true) },
      { type: "item.completed", item: list(true) },
    ]);
    expect(lines).toHaveLength(4);
  });

  it("that could not be read is shown as the call that failed", () => {
    expect(linesOf(...call("update_plan", "{}", { kind: "planUpdate", status: "failed", output: "no steps" }))).toEqual([
      { type: "item.completed", item: { id: "item_0", type: "tool_call", tool: "update_plan", arguments: "{}", output: "no steps", status: "failed" } },
    ]);
  });
});

describe("the rest", () => {
  it("says how long it waits before another try, when that is long", () => {
    const retry = (retry_at: string | null) => createLines().next({ type: "turn/retrying", attempt: 1, max_attempts: 4, message: "busy", code: "overloaded", retry_at, thread_id: "t", turn_id: "u", timestamp_ms: Date.parse("2026-01-31T09:00:00Z") });
    const texts = [null, "2026-01-31T09:00:05Z", "2026-01-31T10:00:00Z"].flatMap(retry).map((line) => (line["item"] as { message: string }).message);
    expect(texts).toEqual(["Reconnecting 1/4: busy", "Reconnecting 1/4: busy", "Reconnecting 1/4 in 3600 s: busy"]);
  });

  it("shows searches, compaction, retries, warnings and what is left out as items", () => {
    expect(
      linesOf(
        { type: "item/completed", item_id: "w", item_kind: "webSearch", item: { type: "web_search_call", action: { query: "skein" } } },
        { type: "thread/compacted", old_token_count: 9, new_token_count: 3, strategy: "summary", trigger: "auto" },
        { type: "turn/retrying", attempt: 2, max_attempts: 5, message: "dropped", code: "stream_dropped", retry_at: null },
        { type: "warning", message: "careful" },
        { type: "item/discarded", item_id: "x", message: "too large" },
      ),
    ).toEqual([
      { type: "item.completed", item: { id: "item_0", type: "web_search", query: "skein" } },
      { type: "item.completed", item: { id: "item_1", type: "compaction", old_token_count: 9, new_token_count: 3, strategy: "summary", trigger: "auto" } },
      { type: "item.completed", item: { id: "item_2", type: "error", message: "Reconnecting 2/5: dropped" } },
      { type: "item.completed", item: { id: "item_3", type: "error", message: "careful" } },
      { type: "item.completed", item: { id: "item_4", type: "error", message: "Left out from now on, because it was refused: too large" } },
    ]);
  });

  it("says nothing of half an answer that is asked for again: the retry does", () => {
    const lines = createLines();
    expect(lines.next(event({ type: "item/discarded", item_id: "1.0", message: "broke off" }))).toEqual([]);
  });

  it("gives a call whose id is used again an item of its own", () => {
    const ids = linesOf(...call("a", "{}", { kind: "toolCall" }), ...call("b", "{}", { kind: "toolCall" })).map((line) => (line as { item: { id: string } }).item.id);
    expect(ids).toEqual(["item_0", "item_0", "item_1", "item_1"]);
  });

  it("adds what the thread used before to the total, and keeps the turn's own apart", () => {
    const lines = createLines({ usedBefore: { input_tokens: 10, output_tokens: 1, total_tokens: 11 } });
    expect(lines.next(event(done))).toEqual([
      {
        type: "turn.completed",
        usage: { input_tokens: 5, cached_input_tokens: 1, cache_write_input_tokens: 0, output_tokens: 2, reasoning_output_tokens: 0 },
        total_usage: { input_tokens: 15, cached_input_tokens: 1, cache_write_input_tokens: 0, output_tokens: 3, reasoning_output_tokens: 0 },
        duration_ms: 3,
      },
    ]);
  });
});
