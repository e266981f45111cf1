import { afterEach, describe, expect, test } from "vitest";
import { bodies, events, post } from "./fetch-events.ts";
import type { SseEvent } from "./fetch-events.ts";
import { profiles } from "./profiles.ts";
import type { Profile } from "./profiles.ts";
import type { Reply, Script, Wire } from "./script.ts";
import { startModelServer } from "./server.ts";
import type { ModelServer, ModelServerOptions } from "./server.ts";

const open: ModelServer[] = [];

async function serve(script: Script, options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = await startModelServer({ script, ...options });
  open.push(server);
  return server;
}

/** The events of one reply. */
async function played(wire: Wire, reply: Reply, options: ModelServerOptions = {}): Promise<SseEvent[]> {
  return events(await serve([reply], options), wire);
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const look = { name: "read", arguments: { path: "src/a.txt" } };

describe("Responses", () => {
  test("text, reasoning and calls are the API's events in order, numbered without gaps", async () => {
    const found = await played("responses", { reasoning: "Hm.", text: ["He", "llo"], calls: [look, { name: "apply_patch", arguments: "*** Begin", custom: true }] });
    expect(found.map(({ data }) => data.type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.custom_tool_call_input.delta",
      "response.custom_tool_call_input.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(found.map(({ event }) => event)).toEqual(found.map(({ data }) => data.type));
    expect(found.map(({ data }) => data.sequence_number)).toEqual(found.map((_, i) => i));
    const { response } = found.at(-1)!.data;
    const done = found.filter(({ data }) => data.type === "response.output_item.done").map(({ data }) => data.item);
    expect(response.output).toEqual(done);
    expect(done).toEqual([
      { id: "rs_0_0", type: "reasoning", encrypted_content: "opaque-reasoning-0", summary: [{ type: "summary_text", text: "Hm." }] },
      { id: "msg_0_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", annotations: [], logprobs: [], text: "Hello" }] },
      { id: "fc_0_2", type: "function_call", call_id: "call_1", name: "read", status: "completed", arguments: '{"path":"src/a.txt"}' },
      { id: "ctc_0_3", type: "custom_tool_call", call_id: "call_2", name: "apply_patch", status: "completed", input: "*** Begin" },
    ]);
    expect(found.filter(({ data }) => data.output_index !== undefined).map(({ data }) => data.output_index)).toEqual([
      ...Array<number>(6).fill(0), ...Array<number>(7).fill(1), ...Array<number>(5).fill(2), ...Array<number>(4).fill(3),
    ]);
  });

  test("usage", async () => {
    const found = await played("responses", { text: "x", usage: { input: 50, cached: 40, output: 9, reasoning: 3 } });
    expect(found.at(-1)!.data.response).toMatchObject({
      status: "completed",
      usage: { input_tokens: 50, input_tokens_details: { cached_tokens: 40 }, output_tokens: 9, output_tokens_details: { reasoning_tokens: 3 }, total_tokens: 59 },
    });
    expect((await played("responses", { text: "x", noUsage: true })).at(-1)!.data.response.usage).toBeNull();
  });

  test("encrypted reasoning is left out unless it was asked for, and can be given or withheld", async () => {
    const server = await serve([{ reasoning: "a" }, { reasoning: { summary: ["a", "b"], encrypted: "ENC" } }, { reasoning: { summary: "a", encrypted: null } }]);
    const item = async (body: object): Promise<unknown> => (await events(server, "responses", body)).find(({ data }) => data.type === "response.output_item.done")?.data.item;
    expect(await item({ ...bodies.responses, include: [] })).not.toHaveProperty("encrypted_content");
    expect(await item(bodies.responses)).toMatchObject({ encrypted_content: "ENC", summary: [{ text: "a" }, { text: "b" }] });
    expect(await item(bodies.responses)).not.toHaveProperty("encrypted_content");
  });

  test("a reply that runs out of tokens ends with response.incomplete", async () => {
    const found = await played("responses", { text: "half", incomplete: "max_output_tokens" });
    expect(found.at(-2)!.data.item.status).toBe("incomplete");
    expect(found.at(-1)!.data).toMatchObject({ type: "response.incomplete", response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } } });
  });

  test("a failure inside the stream", async () => {
    const found = await played("responses", { text: "half", responseFailed: { code: "rate_limit_exceeded", message: "slow down" } });
    expect(found.at(-1)!.data).toMatchObject({ type: "response.failed", response: { status: "failed", error: { code: "rate_limit_exceeded", message: "slow down" } } });
    const early = await played("responses", { text: ["a", "b"], responseFailed: { code: "server_error", afterEvents: 5 } });
    expect(early.map(({ data }) => data.type).slice(4)).toEqual(["response.output_text.delta", "response.failed"]);
  });
});

describe("Chat Completions", () => {
  const deltas = (found: SseEvent[]): unknown[] => found.flatMap(({ data }) => data.choices?.map((choice: { delta: unknown }) => choice.delta) ?? []);
  const finishes = (found: SseEvent[]): unknown[] => found.flatMap(({ data }) => data.choices?.map((choice: { finish_reason: unknown }) => choice.finish_reason) ?? []);

  test("text, then parallel calls by index, the finish reason, usage and [DONE]", async () => {
    const found = await played("chat", { text: ["He", "llo"], calls: [look, { ...look, id: "call_mine" }] });
    expect(deltas(found)).toEqual([
      { role: "assistant", content: "", refusal: null },
      { content: "He" },
      { content: "llo" },
      { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "read", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"path":"src/a.t' } }] },
      { tool_calls: [{ index: 0, function: { arguments: 'xt"}' } }] },
      { tool_calls: [{ index: 1, id: "call_mine", type: "function", function: { name: "read", arguments: "" } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{"path":"src/a.t' } }] },
      { tool_calls: [{ index: 1, function: { arguments: 'xt"}' } }] },
      {},
    ]);
    expect(finishes(found)).toEqual([...Array<null>(9).fill(null), "tool_calls"]);
    expect(found.at(-2)!.data).toMatchObject({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: 0 } } });
    expect(found.at(-1)).toEqual({ event: null, data: "[DONE]" });
    expect(new Set(found.slice(0, -1).map(({ data }) => data.object))).toEqual(new Set(["chat.completion.chunk"]));
  });

  test("no usage unless it was asked for", async () => {
    const server = await serve([{ text: "x" }, { text: "x", noUsage: true, noDone: true }]);
    const found = await events(server, "chat", { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] });
    expect(found.some(({ data }) => "usage" in Object(data))).toBe(false);
    const bare = await events(server, "chat");
    expect(bare.at(-1)!.data.choices[0].finish_reason).toBe("stop");
  });

  test("a custom call is a function with one input; a call can lack its id", async () => {
    const found = await played("chat", { calls: [{ name: "apply_patch", arguments: "*** x", custom: true }], noCallIds: true });
    const calls = deltas(found).flatMap((delta) => (delta as { tool_calls?: { function: { arguments: string } }[] }).tool_calls ?? []);
    expect(calls[0]).toEqual({ index: 0, type: "function", function: { name: "apply_patch", arguments: "" } });
    expect(JSON.parse(calls.map((call) => call.function.arguments).join(""))).toEqual({ input: "*** x" });
  });

  test("reasoning_content, a full window, a failure inside the stream", async () => {
    expect(deltas(await played("chat", { reasoningContent: ["a", "b"], text: "c" })).slice(1, 4)).toEqual([{ reasoning_content: "a" }, { reasoning_content: "b" }, { content: "c" }]);
    expect(finishes(await played("chat", { text: "x", incomplete: "max_output_tokens" })).at(-1)).toBe("length");
    const failed = await played("chat", { text: "x", responseFailed: { code: "oops", message: "no" } });
    expect(finishes(failed)).toEqual([null, null]);
    expect(failed.at(-1)!.data).toEqual({ error: { message: "no", type: "server_error", param: null, code: "oops" } });
  });

  const reply: Reply = { reasoning: "hm", calls: [look, look] };
  const calls = (found: SseEvent[]): unknown[] => deltas(found).flatMap((delta) => (delta as { tool_calls?: unknown[] }).tool_calls ?? []);

  test("profile ollama: whole calls, all with index 0, no usage", async () => {
    const found = await played("chat", reply, { profile: "ollama" });
    expect(calls(found)).toEqual(["call_1", "call_2"].map((id) => ({ index: 0, id, type: "function", function: { name: "read", arguments: '{"path":"src/a.txt"}' } })));
    expect(deltas(found)[0]).toEqual({ role: "assistant", reasoning: "hm" });
    expect(finishes(found).at(-1)).toBe("stop");
    expect(found.some(({ data }) => Object(data).usage)).toBe(false);
  });

  test("profile lmstudio: numeric ids, later pieces with an empty name, errors as events", async () => {
    const found = await played("chat", reply, { profile: "lmstudio" });
    expect(calls(found).slice(0, 3)).toEqual([
      { index: 0, id: "1931", type: "function", function: { name: "read", arguments: "" } },
      { index: 0, function: { name: "", arguments: '{"path":"src/a.t' } },
      { index: 0, function: { name: "", arguments: 'xt"}' } },
    ]);
    expect((await played("chat", { responseFailed: {} }, { profile: "lmstudio" })).at(-1)!.event).toBe("error");
  });

  test("profile llamacpp: no ids, usage in the last chunk without being asked, no [DONE], an error field", async () => {
    const found = await played("chat", reply, { profile: "llamacpp" });
    expect(calls(found)).toEqual([0, 1].map((index) => ({ index, type: "function", function: { name: "read", arguments: '{"path":"src/a.txt"}' } })));
    expect(found.at(-1)!.data).toMatchObject({ choices: [{ finish_reason: "tool_calls" }], usage: { prompt_tokens: 100 } });
    const server = await serve([{ text: "x", responseFailed: { message: "no" } }], { profile: "llamacpp" });
    expect(await (await post(server, "chat")).text()).toContain('\n\nerror: {"code":500,"message":"no","type":"server_error"}\n\n');
  });

  test("profile vllm: the finish reason comes with the last piece, an error is followed by [DONE]", async () => {
    const found = await played("chat", { reasoning: "hm", text: ["a", "b"] }, { profile: "vllm" });
    expect(deltas(found)).toEqual([{ role: "assistant", content: "", refusal: null }, { reasoning_content: "hm" }, { content: "a" }, { content: "b" }]);
    expect(finishes(found).at(-1)).toBe("stop");
    expect((await played("chat", { responseFailed: {} }, { profile: "vllm" })).at(-1)!.data).toBe("[DONE]");
  });

  test("a profile can be made in the test", async () => {
    const own: Profile = { ...profiles.openai, done: false };
    expect((await played("chat", { text: "x" }, { profile: own })).at(-1)!.data.usage).toBeTruthy();
  });
});

describe("Messages", () => {
  test("thinking, text and calls are blocks in order", async () => {
    const found = await played("messages", { reasoning: { summary: "Hm.", encrypted: "SIG" }, text: ["He", "llo"], calls: [look] });
    expect(found.map(({ event }) => event)).toEqual(found.map(({ data }) => data.type));
    expect(found.slice(1).map(({ data }) => data)).toEqual([
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "ping" },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "SIG" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "He" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "llo" } },
      { type: "content_block_stop", index: 1 },
      { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "toolu_1", name: "read", input: {} } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "" } },
      ...['{"path":"src/a.t', 'xt"}'].map((partial_json) => ({ type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json } })),
      { type: "content_block_stop", index: 2 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: expect.objectContaining({ output_tokens: 20 }) },
      { type: "message_stop" },
    ]);
    expect(found[0]!.data).toMatchObject({ type: "message_start", message: { role: "assistant", content: [], stop_reason: null, usage: { input_tokens: 100, output_tokens: 1 } } });
  });

  test("cached tokens are counted beside the input", async () => {
    const found = await played("messages", { text: "x", usage: { input: 100, cached: 70, cacheWrite: 20, output: 5 } });
    expect(found[0]!.data.message.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 70, cache_creation_input_tokens: 20 });
    expect((await played("messages", { text: "x", noUsage: true })).some(({ data }) => data.usage ?? data.message?.usage)).toBe(false);
  });

  test("redacted thinking, a full window, an error event", async () => {
    expect((await played("messages", { reasoning: { redacted: "R" }, text: "x" }))[1]!.data.content_block).toEqual({ type: "redacted_thinking", data: "R" });
    expect((await played("messages", { text: "x", incomplete: "max_output_tokens" })).at(-2)!.data.delta.stop_reason).toBe("max_tokens");
    expect((await played("messages", { text: "x", responseFailed: { code: "overloaded_error", message: "Overloaded" } })).at(-1)).toEqual({
      event: "error",
      data: { type: "error", error: { type: "overloaded_error", message: "Overloaded" }, request_id: "req_0" },
    });
  });
});
