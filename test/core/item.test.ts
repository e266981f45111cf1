import { describe, expect, test } from "vitest";
import { isCall, isMessage, isOutput, isReasoning, isWebSearch, outputFor, textOf, toolName, type Item } from "../../src/protocol/item.ts";
import { garbageItem } from "./items.ts";

const message = { type: "message", role: "user", content: [{ type: "input_text", text: "a" }] };
const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
const custom = { type: "custom_tool_call", call_id: "c", name: "f", input: "" };
const shell = { type: "local_shell_call", call_id: "c", action: { type: "exec" } };
const output = { type: "function_call_output", call_id: "c", output: "" };
const reasoning = { type: "reasoning", summary: [] };
const search = { type: "web_search_call" };

function kinds(item: unknown): string[] {
  const tests = { isMessage, isCall, isOutput, isReasoning, isWebSearch };
  return Object.entries(tests).flatMap(([name, is]) => (is(item as Item) ? [name] : []));
}

describe("an item is what it says", () => {
  test.each([
    ["isMessage", message],
    ["isMessage", { ...message, role: "system", content: [], later: 1 }],
    ["isCall", call],
    ["isCall", custom],
    ["isCall", shell],
    ["isOutput", output],
    ["isOutput", { ...output, output: [{ type: "input_image", image_url: "x" }] }],
    ["isOutput", { ...output, type: "custom_tool_call_output" }],
    ["isReasoning", reasoning],
    ["isWebSearch", search],
  ])("%s: %j", (kind, item) => {
    expect(kinds(item)).toEqual([kind]);
  });
});

describe("an item that a request could not hold is nothing", () => {
  test.each([
    [{ ...message, role: "tool" }],
    [{ ...message, content: "text" }],
    [{ ...message, content: [null] }],
    [{ ...call, call_id: 1 }],
    [{ ...call, name: undefined }],
    [{ ...call, arguments: {} }],
    [{ ...custom, name: 1 }],
    [{ ...custom, input: {} }],
    [{ ...shell, action: null }],
    [{ ...output, call_id: undefined }],
    [{ ...output, output: 3 }],
    [{ ...output, output: [null] }],
    [{ ...reasoning, summary: "text" }],
    [{ type: "image_generation_call" }],
    [null],
    ["message"],
    [undefined],
    [[]],
  ])("%j", (item) => {
    expect(kinds(item)).toEqual([]);
  });

  test("and its text is empty", () => {
    for (let n = 0; n < 24; n++) expect(kinds(garbageItem(n)).length > 0 || textOf(garbageItem(n)) === "").toBe(true);
  });
});

test("the text of a message or an output is that of its parts, images left out", () => {
  const parts = [{ type: "input_text", text: "a" }, { type: "input_image", image_url: "x" }, { type: "output_text", text: "b" }];
  expect([textOf({ ...message, content: parts }), textOf({ ...output, output: parts }), textOf({ ...output, output: "c" }), textOf(reasoning)]).toEqual(["ab", "ab", "c", ""]);
});

test("the kind of an output follows the kind of its call", () => {
  expect([call, custom, shell].map((item) => outputFor(item as never, "done"))).toEqual([
    { type: "function_call_output", call_id: "c", output: "done" },
    { type: "custom_tool_call_output", call_id: "c", output: "done" },
    { type: "function_call_output", call_id: "c", output: "done" },
  ]);
});

test("a local shell call names the shell tool, other calls name their own", () => {
  expect([call, custom, shell].map((item) => toolName(item as never))).toEqual(["f", "f", "local_shell"]);
});
