import { expect, test } from "vitest";
import { userText } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { prompt } from "../../src/core/prompt.ts";
import { given, queued, ROOT } from "./given.ts";

const context = { instructions: "be brief", tools: [{ name: "t", description: "d", parameters: {} }] };
const settings: Draft = { type: "settings.changed", op: "s", settings: { model: "other", model_reasoning_effort: "high" } };

test("a request holds what the log says, with the settings that the turn began with", () => {
  const state = given(queued("a", "hello"), { type: "turn.started", turn: "t1", inputs: [1] }, settings);
  expect(prompt(state, context)).toEqual({
    thread: ROOT,
    model: "gpt-test",
    instructions: "be brief",
    tools: context.tools,
    input: [{ item: userText("hello"), origin: null }],
    effort: null,
    webSearch: null,
    toolChoice: "auto",
  });
});

test("it follows the schema of the input that began the turn", () => {
  const schema = { type: "object", properties: {} };
  const state = given(settings, { ...queued("a", "hello"), schema }, { type: "input.changed", op: "c", input: "a", items: [userText("hi")] }, { type: "turn.started", turn: "t1", inputs: [3] });
  expect(prompt(state, context)).toEqual({
    thread: ROOT,
    model: "other",
    instructions: "be brief",
    tools: context.tools,
    input: [{ item: userText("hi"), origin: null }],
    effort: "high",
    webSearch: null,
    toolChoice: "auto",
    schema,
  });
});
