/** Whatever a log holds, at whatever place in it: each wire's request is one that the API accepts, and the same log gives the same bytes. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Item, Origin } from "../../src/protocol/item.ts";
import { visible, type Entry, type VisibleItem } from "../../src/core/history.ts";
import type { ModelRequest } from "../../src/core/provider.ts";
import { toRequest as toChat } from "../../src/providers/chat-request.ts";
import { toJson } from "../../src/providers/json.ts";
import { toRequest as toMessages } from "../../src/providers/messages-request.ts";
import { toRequest as toResponses } from "../../src/providers/responses-request.ts";
import { positions, worlds } from "../core/arbitrary.ts";
import { runs, stateAt } from "../core/given.ts";
import { validate as validateChat } from "../model-server/validate/chat.ts";
import { validate as validateMessages } from "../model-server/validate/messages.ts";
import { validate as validateResponses } from "../model-server/validate/responses.ts";
import { MODEL, NO_IMAGES, PATCH_TOOL, requestFor, TOOL, WIRES } from "./given.ts";

const BUILD = { responses: toResponses, chat: toChat, messages: toMessages };
const VALIDATE = { responses: validateResponses, chat: validateChat, messages: validateMessages };
type Wire = keyof typeof BUILD;

const here = (wire: Wire, model: string = MODEL[wire]): Origin => ({ wire, provider: "scripted", model, account: "abc" });

function bytesOf(wire: Wire, request: ModelRequest): string {
  return toJson(BUILD[wire](request, { images: NO_IMAGES, origin: here(wire, request.model) }));
}

function problemsOf(wire: Wire, request: ModelRequest): string[] {
  return VALIDATE[wire](JSON.parse(bytesOf(wire, request)) as unknown);
}

/** As if this provider had made everything that a model made. */
function ours(input: readonly VisibleItem[], origin: Origin): VisibleItem[] {
  return input.map(({ item, origin: made }) => ({ item, origin: made === null ? null : origin }));
}

describe.each(["orderly", "hostile"] as const)("%s logs", (level) => {
  test.each(WIRES)("%s: valid at every position, whoever made the items", (wire) => {
    fc.assert(
      fc.property(worlds(level, { max: 60 }), fc.constantFrom(null, "low", "high"), fc.constantFrom(MODEL[wire], "claude-sonnet-4-5"), ({ logs }, effort, model) => {
        for (const position of positions(logs)) {
          const state = stateAt(logs, position);
          if (!state) continue;
          const input = visible(state.history);
          for (const each of [input, ours(input, here(wire, model))]) {
            const request = requestFor(wire, { input: each, effort, model });
            const problems = problemsOf(wire, request);
            if (problems.length > 0) expect({ problems, body: bytesOf(wire, request), input: each }).toEqual({ problems: [] });
          }
        }
      }),
      runs(30),
    );
  });
});

/** Ids, names, arguments and contents that no well-behaved server sends. */
const awkward = fc.oneof(fc.constantFrom("", " ", "call_1", "same", "a.b:c/d", "x".repeat(200), "\ud83d", "日本", "__proto__", "{", "[1]", '{"a":1}', "null", "[".repeat(20_000)), fc.string({ unit: "binary" }));
const part = fc.oneof(
  awkward.map((text) => ({ type: "input_text", text })),
  awkward.map((text) => ({ type: "output_text", text })),
  awkward.map((image_url) => ({ type: "input_image", image_url })),
  fc.constantFrom({ type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "high" }, { type: "input_image", image_url: "https://example.com/a.png", detail: "sharp" }, { type: "input_file" }, { type: "refusal", refusal: "no" }, null, 7),
);
const searchId = fc.oneof(fc.constantFrom("srvtoolu_1", "srvtoolu_2"), awkward);
const use = fc.record({ type: fc.constant("server_tool_use"), id: searchId, name: fc.constant("web_search"), input: fc.oneof(fc.constant({ query: "x" }), awkward) });
const found = fc.oneof(fc.constant({ type: "web_search_result", url: "https://a", encrypted_content: "x" }), fc.record({ type: fc.constant("web_search_result"), url: awkward, encrypted_content: awkward }));
const result = fc.record({ type: fc.constant("web_search_tool_result"), tool_use_id: searchId, content: fc.oneof(fc.array(found, { maxLength: 2 }), fc.constant({ type: "web_search_tool_result_error" }), awkward) });
const item: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ type: fc.constant("message"), role: fc.constantFrom("user", "assistant", "developer", "system", "tool"), content: fc.array(part, { maxLength: 3 }) }),
  fc.record({ type: fc.constant("function_call"), call_id: awkward, name: awkward, arguments: awkward }),
  fc.record({ type: fc.constant("custom_tool_call"), call_id: awkward, name: awkward, input: awkward }),
  fc.record({ type: fc.constant("local_shell_call"), call_id: awkward, action: fc.oneof(awkward, fc.constantFrom(null, { type: "exec", command: ["ls"] }, { type: "exec", command: 3 })) }),
  fc.record({ type: fc.constantFrom("function_call_output", "custom_tool_call_output"), call_id: awkward, output: fc.oneof(awkward, fc.array(part, { maxLength: 3 })) }),
  fc.record({ type: fc.constant("reasoning"), summary: fc.array(awkward.map((text) => ({ type: "summary_text", text })), { maxLength: 2 }), encrypted_content: fc.oneof(awkward, fc.constant(null)), content: fc.option(fc.array(awkward.map((text) => ({ type: "reasoning_text", text })), { maxLength: 2 }), { nil: undefined }) }),
  fc.record({ type: fc.constant("web_search_call"), action: fc.oneof(awkward, fc.record({ query: awkward })) }),
  fc.record({ type: fc.constant("web_search_call"), action: fc.record({ type: fc.constantFrom("search", "dance"), query: awkward }), blocks: fc.array(fc.oneof(use, result, awkward), { maxLength: 3 }) }, { requiredKeys: ["type", "action"] }),
  fc.record({ type: fc.constant("message"), role: fc.constant("assistant"), content: fc.array(fc.record({ type: fc.constant("output_text"), text: awkward, citations: fc.oneof(awkward, fc.array(fc.oneof(awkward, fc.constant({ type: "web_search_result_location" })), { maxLength: 2 })) }), { maxLength: 1 }) }),
  fc.record({ type: fc.constant("compaction"), encrypted_content: fc.oneof(awkward, fc.constant(null)) }),
);
const settings = fc.record({ webSearch: fc.constantFrom(null, "cached" as const, "live" as const), toolChoice: fc.constantFrom("auto" as const, "none" as const), tools: fc.constantFrom([], [TOOL, PATCH_TOOL]) });
const entries = fc.array(fc.record({ item, sample: fc.option(fc.nat(3), { nil: null }), own: fc.boolean() }), { maxLength: 25 });

/** Only Messages makes items with its blocks and citations. */
function isOfMessages(made: unknown): boolean {
  return /"(?:blocks|citations)":/u.test(JSON.stringify(made));
}

/** With what later versions of history may show. */
function shownOf(history: readonly Entry[]): VisibleItem[] {
  const compactions = history.filter(({ item: one }) => (one as unknown as { type?: unknown } | null)?.type === "compaction");
  return [...compactions, ...visible({ summary: [], entries: [...history] })];
}

test.each(WIRES)("%s: valid for any items at all", (wire) => {
  fc.assert(
    fc.property(entries, settings, fc.constantFrom(MODEL[wire], "gpt-4.1"), (list, more, model) => {
      const history = list.map(({ item: made, sample, own }, seq): Entry => ({ seq, id: `${seq}`, turn: null, sample, origin: own && (wire === "messages" || !isOfMessages(made)) ? here(wire, model) : { ...here(wire), provider: "other" }, item: made as Item }));
      const request = requestFor(wire, { input: shownOf(history), model, ...more });
      const problems = problemsOf(wire, request);
      if (problems.length > 0) expect({ problems, body: bytesOf(wire, request) }).toEqual({ problems: [] });
    }),
    runs(1000),
  );
});

test.each(WIRES)("%s: a longer history begins with the bytes of the shorter", (wire) => {
  fc.assert(
    fc.property(entries, (list) => {
      const made = list.map(({ item: one }, seq): Entry => ({ seq, id: `${seq}`, turn: null, sample: seq, origin: here(wire), item: one as Item }));
      const whole = visible({ summary: [], entries: made });
      const bodies = whole.map((_, index) => JSON.parse(bytesOf(wire, requestFor(wire, { input: whole.slice(0, index + 1) }))) as Record<string, unknown>);
      // A call and its output come and go together, and messages of one role grow: the last two may differ.
      const lists = bodies.map((body) => JSON.stringify((body["input"] ?? body["messages"]) as unknown[], (key, value: unknown) => (key === "cache_control" ? undefined : value)));
      for (const [index, shorter] of lists.entries()) {
        const settled = (JSON.parse(shorter) as unknown[]).slice(0, -2);
        const longest = JSON.parse(lists.at(-1)!) as unknown[];
        if (index < lists.length - 1 && isSettled(whole, index)) expect(longest.slice(0, settled.length)).toEqual(settled);
      }
    }),
    runs(150),
  );
});

/** Between batches: no call waits for its output. */
function isSettled(input: readonly VisibleItem[], index: number): boolean {
  const type = input[index]!.item.type;
  return type === "message" && (index + 1 >= input.length || !input[index + 1]!.item.type.endsWith("_output"));
}
