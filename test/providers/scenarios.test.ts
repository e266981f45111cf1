/** One table of what a model may do, on all three wires. `absent` names the wires that do not have it. */
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../../src/core/provider.ts";
import type { Usage } from "../../src/protocol/record.ts";
import type { WireOptions } from "../../src/providers/wire.ts";
import type { Reply, Wire } from "../model-server/script.ts";
import { asked, collect, PATCH_TOOL, plain, providerAt, requestFor, WIRES, withServer } from "./given.ts";

interface Scenario {
  name: string;
  reply: Reply;
  items: object[];
  /** What was streamed, text and reasoning, in order. */
  streamed?: string;
  end?: { done: Usage | null } | { failed: string; retryable: boolean };
  absent?: Wire[];
  request?: Partial<ModelRequest>;
  options?: Partial<WireOptions>;
}

const USAGE = { input_tokens: 100, cached_tokens: 0, output_tokens: 20, total_tokens: 120 };
const ls = { name: "exec_command", arguments: { cmd: "ls" } };
const pwd = { name: "exec_command", arguments: { cmd: "pwd" } };
const LS = { calls: "exec_command", with: { cmd: "ls" } };
const PWD = { calls: "exec_command", with: { cmd: "pwd" } };
const AWKWARD = "Zürich – ﷽ – 👩‍👩‍👧‍👦 – \u{1f600}\u0000\u2028\"\\";

const SEARCH = { query: "weather", results: [{ title: "Weather", url: "https://weather.test/" }] };

const SCENARIOS: Scenario[] = [
  { name: "text", reply: { text: ["Hel", "lo"] }, items: [{ says: "Hello" }], streamed: "Hello" },
  { name: "nothing at all", reply: {}, items: [] },
  { name: "text in 2,000 deltas", reply: { deltas: 2000 }, items: [{ says: numbered(2000) }], streamed: numbered(2000) },
  { name: "reasoning, then text", reply: { reasoning: "Let me think about it.", text: "Yes." }, items: [{ thinks: "Let me think about it." }, { says: "Yes." }], streamed: "Let me think about it.Yes.", absent: ["chat"] },
  { name: "reasoning_content, then text", reply: { reasoningContent: ["Let me", " think."], text: "Yes." }, items: [{ thinks: "Let me think." }, { says: "Yes." }], streamed: "Let me think.Yes.", absent: ["responses", "messages"] },
  { name: "a call", reply: { calls: [ls] }, items: [LS] },
  { name: "text, then a call", reply: { text: "I look.", calls: [ls] }, items: [{ says: "I look." }, LS], streamed: "I look." },
  { name: "parallel calls", reply: { calls: [ls, pwd, ls] }, items: [LS, PWD, LS] },
  { name: "a call without arguments", reply: { calls: [{ name: "update_plan", arguments: {} }] }, items: [{ calls: "update_plan", with: {} }] },
  { name: "a custom call", reply: { calls: [{ name: "apply_patch", arguments: "*** Begin Patch", custom: true }] }, items: [{ calls: "apply_patch", with: { input: "*** Begin Patch" } }] },
  { name: "a search, then text", reply: { search: SEARCH, text: "Sunny." }, items: [{ searches: "weather" }, { says: "Sunny." }], streamed: "Sunny.", request: { webSearch: "live" }, absent: ["chat"] },
  { name: "a search before a call", reply: { search: SEARCH, calls: [ls] }, items: [{ searches: "weather" }, LS], request: { webSearch: "cached" }, absent: ["chat"] },
  { name: "search is on where the wire has none", reply: { text: "No idea." }, items: [{ says: "No idea." }], request: { webSearch: "live" } },
  { name: "tools that must not be called", reply: { text: "A summary." }, items: [{ says: "A summary." }], request: { toolChoice: "none" } },
  { name: "a free-form tool", reply: { calls: [{ name: "apply_patch", arguments: "*** Begin Patch", custom: true }] }, items: [{ calls: "apply_patch", with: { input: "*** Begin Patch" } }], request: { tools: [PATCH_TOOL] } },
  { name: "split UTF-8", reply: { text: AWKWARD, calls: [{ name: "exec_command", arguments: { cmd: AWKWARD } }], splitUtf8: true }, items: [{ says: AWKWARD }, { calls: "exec_command", with: { cmd: AWKWARD } }], streamed: AWKWARD },
  { name: "slow bytes", reply: { text: ["a", "b", "c"], slowMs: 30 }, items: [{ says: "abc" }], streamed: "abc", options: { idleTimeoutMs: 500 } },
  { name: "no usage", reply: { text: "Hello", noUsage: true }, items: [{ says: "Hello" }], end: { done: null } },
  { name: "no [DONE]", reply: { text: "Hello", noDone: true }, items: [{ says: "Hello" }] },
  {
    name: "cached and reasoning tokens",
    reply: { text: "Hello", usage: { input: 1200, cached: 1000, cacheWrite: 100, output: 50, reasoning: 30 } },
    items: [{ says: "Hello" }],
    end: { done: { input_tokens: 1200, cached_tokens: 1000, cache_write_tokens: 100, output_tokens: 50, reasoning_tokens: 30, total_tokens: 1250 } },
  },
  { name: "the socket dies in text", reply: { deltas: 5000, drop: { afterBytes: 20_000 } }, items: [], end: { failed: "stream_dropped", retryable: true } },
  { name: "the socket dies after nothing", reply: { text: "Hello", drop: { afterEvents: 0 } }, items: [], end: { failed: "stream_dropped", retryable: true } },
  { name: "the stream ends too early, properly", reply: { text: "Hello", drop: { afterEvents: 2, clean: true } }, items: [], end: { failed: "stream_dropped", retryable: true } },
  { name: "the socket dies before the headers", reply: { drop: { beforeHeaders: true } }, items: [], end: { failed: "network", retryable: true } },
  { name: "the server hangs before the headers", reply: { hang: true }, items: [], end: { failed: "idle_timeout", retryable: true }, options: { idleTimeoutMs: 100 } },
  { name: "the server hangs in the stream", reply: { text: "Hello", hang: { afterEvents: 2 } }, items: [], end: { failed: "idle_timeout", retryable: true }, options: { idleTimeoutMs: 100 } },
  { name: "an error in the stream", reply: { text: "Hello", responseFailed: { code: "server_error", message: "Boom", afterEvents: 2 } }, items: [], end: { failed: "server_error", retryable: true } },
  { name: "overload in the stream", reply: { responseFailed: { code: "overloaded_error", message: "Overloaded", afterEvents: 1 } }, items: [], end: { failed: "overloaded", retryable: true } },
  { name: "too much context, told in the stream", reply: { responseFailed: { code: "context_length_exceeded", message: "Your input exceeds the context window of this model.", afterEvents: 1 } }, items: [], end: { failed: "context_length_exceeded", retryable: false } },
  { name: "text cut short by its length", reply: { text: "Hello", incomplete: "max_output_tokens" }, items: [{ says: "Hello" }], end: { failed: "max_output_tokens", retryable: false } },
  { name: "text cut short by a filter", reply: { text: "Hello", incomplete: "content_filter" }, items: [{ says: "Hello" }], end: { failed: "content_filter", retryable: false } },
  { name: "whole calls, cut short after them", reply: { calls: [ls], incomplete: "max_output_tokens" }, items: [LS] },
];

function numbered(count: number): string {
  return Array.from({ length: count }, (_, n) => `${String(n).padStart(7, "0")} `).join("");
}

describe.each(WIRES)("%s", (wire) => {
  test.each(SCENARIOS.filter(({ absent }) => !absent?.includes(wire)))("$name", async ({ reply, items, streamed, end, request, options }) => {
    const answer = await asked(wire, [reply], { ...(request ? { request } : {}), ...(options ? { options } : {}) });
    expect(answer.server.problems).toEqual([]);
    expect(answer.items.map(plain)).toEqual(items);
    if (streamed !== undefined) expect([...Object.values(answer.reasoning), ...Object.values(answer.text)].join("")).toBe(streamed);
    if (end && "failed" in end) expect(answer.last).toMatchObject({ type: "failed", failure: { code: end.failed, retryable: end.retryable } });
    else expect(answer.last).toEqual({ type: "done", usage: usageOn(wire, end ? end.done : USAGE, end === undefined) });
    expect(answer.events.filter(({ type }) => type === "done" || type === "failed")).toHaveLength(1);
  });

  test("every item is begun before it is whole, with an index of its own", async () => {
    const { events } = await asked(wire, [{ reasoningContent: "hm", reasoning: "hm", text: "I look.", calls: [ls, pwd] }]);
    const started = events.filter((event) => event.type === "item.started").map(({ index }) => index);
    const finished = events.filter((event) => event.type === "item.done").map(({ index }) => index);
    expect(started).toEqual([...new Set(started)]);
    expect(finished.toSorted((a, b) => a - b)).toEqual(started);
  });

  test("calls without ids get ids that the history does not have", async () => {
    const { items } = await asked(wire, [{ calls: [ls, pwd], noCallIds: true }], {
      request: {
        input: [
          { item: { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }, origin: null },
          { item: { type: "function_call", call_id: "call_1", name: "exec_command", arguments: "{}" }, origin: null },
          { item: { type: "function_call_output", call_id: "call_1", output: "ok" }, origin: null },
        ],
      },
    });
    expect(items.map((item) => item["call_id"])).toEqual(["call_2", "call_3"]);
  });

  test("a call id that the history already has is replaced", async () => {
    const { items } = await asked(wire, [{ calls: [{ ...ls, id: "same" }, { ...pwd, id: "same" }] }], {
      request: {
        input: [
          { item: { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }, origin: null },
          { item: { type: "function_call", call_id: "same", name: "exec_command", arguments: "{}" }, origin: null },
          { item: { type: "function_call_output", call_id: "same", output: "ok" }, origin: null },
        ],
      },
    });
    expect(items.map((item) => item["call_id"])).toEqual(["call_1", "call_2"]);
  });

  test("a stream that drops in the second call leaves the first", async () => {
    const long = { name: "exec_command", arguments: { cmd: "x".repeat(20_000) } };
    const { items, last } = await asked(wire, [{ calls: [ls, long], drop: { afterBytes: 20_000 } }]);
    expect(items.map(plain)).toEqual([LS]);
    expect(last).toMatchObject({ type: "failed", failure: { code: "stream_dropped" } });
  });

  test("aborting ends the stream and the connection at once, without an event", async () => {
    const abort = new AbortController();
    await withServer({ script: [{ text: "Hello", hang: { afterEvents: 2 } }] }, async (server) => {
      const answer = collect(providerAt(wire, server.url), requestFor(wire), { signal: abort.signal });
      const request = await server.waitForRequest(0);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const from = performance.now();
      abort.abort();
      const events = await answer;
      expect(performance.now() - from).toBeLessThan(1000);
      expect(events.some(({ type }) => type === "done" || type === "failed")).toBe(false);
      expect(await request.ended).toBe("aborted");
    });
  });
});

/** Chat counts no cache writes, Messages no reasoning. */
function usageOn(wire: Wire, usage: Usage | null, isDefault: boolean): Usage | null {
  if (usage === null) return null;
  const { reasoning_tokens: reasoning = isDefault ? 0 : undefined, cache_write_tokens: written, ...rest } = usage;
  // Only this wire tells what was written to the cache, and it tells no reasoning.
  return wire === "messages" ? { ...rest, ...(written === undefined ? {} : { cache_write_tokens: written }) } : { ...rest, ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }) };
}
