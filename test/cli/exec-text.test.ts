import { expect, it } from "vitest";
import type { Event, EventBody } from "../../src/protocol/event.ts";
import { createText } from "../../src/cli/exec-text.ts";

const told = (...events: EventBody[]): (string | null)[] => {
  const text = createText();
  return events.map((event) => text({ ...event, thread_id: "t", turn_id: "u" } as Event));
};
const completed = (item_id: string, output: string, exit_code: number | null): EventBody => ({
  type: "item/completed",
  item_id,
  item_kind: "commandExecution",
  item: { type: "function_call_output", call_id: item_id, output },
  result: { status: "done", output, exit_code, duration_ms: 1 },
});

it("says of a command that only looks what it looked at, and shows what any other wrote", () => {
  expect(
    told(
      { type: "item/commandExecution/started", item_id: "a", command: "cat x && rg y src", cwd: "" },
      { type: "item/commandExecution/explored", item_id: "a", actions: [{ type: "read", path: "x" }, { type: "search", query: "y", path: "src" }] },
      completed("a", "a whole file\n", 0),
      { type: "item/commandExecution/started", item_id: "b", command: "make", cwd: "" },
      completed("b", "built\n", 2),
    ),
  ).toEqual(["$ cat x && rg y src", null, '  read x · searched "y" in src', "$ make", "  built\n  exit code 2"]);
});

it("shows what a look that failed said", () => {
  expect(told({ type: "item/commandExecution/explored", item_id: "a", actions: [{ type: "read", path: "x" }] }, completed("a", "no such file\n", 1))).toEqual([null, "  no such file\n  exit code 1"]);
});

it("names the files of a patch, the steps of a plan, and what a tool looked at", () => {
  const patch = "*** Begin Patch\n*** Add File: a.ts\n+x\n*** Delete File: b.ts\n*** End Patch";
  expect(
    told(
      { type: "item/toolCall/started", item_id: "p", tool_name: "apply_patch", args_json: JSON.stringify(patch) },
      { type: "item/toolCall/started", item_id: "q", tool_name: "update_plan", args_json: "{}" },
      { type: "turn/plan/updated", plan: [{ step: "look", status: "completed" }, { step: "mend", status: "in_progress" }, { step: "test", status: "pending" }] },
      { type: "item/toolCall/started", item_id: "r", tool_name: "read_file", args_json: '{"path":"a.ts"}' },
      { ...completed("r", "1: x", null), item_kind: "toolCall" } as EventBody,
    ),
  ).toEqual(["→ apply_patch\n  A a.ts\n  D b.ts", null, "  [x] look\n  [>] mend\n  [ ] test", "→ read_file", "  read a.ts"]);
});

it("ends with what the turn took, and how full the window is where that is known", () => {
  const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };
  expect(told({ type: "context/updated", tokens: 12, window: 100, percent: 12 }, { type: "turn/completed", status: "completed", duration_ms: 1500, token_usage: usage })).toEqual([null, "— 1.5 s, 10 tokens in (0 cached), 2 out, context 12% full"]);
  expect(told({ type: "turn/completed", status: "completed", duration_ms: 1500, token_usage: usage })).toEqual(["— 1.5 s, 10 tokens in (0 cached), 2 out"]);
});
