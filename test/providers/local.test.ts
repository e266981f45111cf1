/** Servers that people run themselves, with the deviations that each is known for. */
import { describe, expect, test } from "vitest";
import { isCall, outputFor, userText, type CallItem } from "../../src/protocol/item.ts";
import type { ProfileName } from "../model-server/profiles.ts";
import { answerOf, collect, madeBy, plain, providerAt, requestFor, shown, withServer } from "./given.ts";

const PROFILES: ProfileName[] = ["openai", "ollama", "lmstudio", "llamacpp", "vllm"];
const ls = { name: "exec_command", arguments: { cmd: "ls -la /some/where/deep" } };
const pwd = { name: "exec_command", arguments: { cmd: "pwd" } };

describe.each(PROFILES)("%s", (profile) => {
  const options = { envKey: null, key: () => null };

  test("a conversation with parallel calls goes on with its outputs", async () => {
    await withServer({ profile, wire: "chat", script: [{ reasoning: "Let me look.", text: "I look.", calls: [ls, pwd, pwd] }, { text: "Done." }] }, async (server) => {
      const provider = providerAt("chat", server.url, options);
      const first = answerOf(await collect(provider, requestFor("chat")));
      const thought = profile === "openai" ? [] : [{ thinks: "Let me look." }];
      expect(first.items.map(plain)).toEqual([...thought, { says: "I look." }, ...[ls, pwd, pwd].map((call) => ({ calls: call.name, with: call.arguments }))]);
      const calls = first.items.filter((item): item is CallItem => isCall(item));
      expect(new Set(calls.map((call) => call.call_id)).size).toBe(3);
      expect(first.last).toEqual({ type: "done", usage: profile === "ollama" ? null : { input_tokens: 100, cached_tokens: 0, output_tokens: 20, reasoning_tokens: 0, total_tokens: 120 } });

      const input = [...shown(userText("hi")), ...madeBy(provider.origin("local"), ...first.items), ...shown(...calls.map((call, n) => outputFor(call, `output ${n}`)))];
      const second = answerOf(await collect(provider, requestFor("chat", { input })));
      expect(second.items.map(plain)).toEqual([{ says: "Done." }]);
      expect(server.problems).toEqual([]);
      expect(server.requests[0]!.headers["authorization"]).toBeUndefined();
    });
  });

  test("an error in the stream", async () => {
    await withServer({ profile, script: [{ text: "Hel", responseFailed: { message: "the model crashed" } }] }, async (server) => {
      const { last } = answerOf(await collect(providerAt("chat", server.url, options), requestFor("chat")));
      expect(last).toMatchObject({ type: "failed", failure: { code: "server_error", retryable: true } });
      expect(last?.type === "failed" && last.failure.message).toContain("the model crashed");
    });
  });
});

test("pieces of calls that come interleaved find their call", async () => {
  const piece = (call: object) => `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`;
  const raw = [
    piece({ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }),
    piece({ index: 1, id: "b", function: { name: "g", arguments: '{"y":' } }),
    piece({ index: 0, function: { arguments: "1}" } }),
    piece({ index: 1, function: { arguments: "2}" } }),
    'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n',
  ];
  await withServer({ script: [{ raw }] }, async (server) => {
    const { items } = answerOf(await collect(providerAt("chat", server.url), requestFor("chat")));
    expect(items).toEqual([
      { type: "function_call", call_id: "a", name: "f", arguments: '{"x":1}' },
      { type: "function_call", call_id: "b", name: "g", arguments: '{"y":2}' },
    ]);
  });
});

test("a server that repeats id and name in every piece", async () => {
  const piece = (args: string) => `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: args } }] } }] })}\n\n`;
  await withServer({ script: [{ raw: [piece("{"), piece('"x":1'), piece("}"), "data: [DONE]\n\n"] }] }, async (server) => {
    const { items } = answerOf(await collect(providerAt("chat", server.url), requestFor("chat")));
    expect(items).toEqual([{ type: "function_call", call_id: "a", name: "f", arguments: '{"x":1}' }]);
  });
});

test("a call that was cut short is not run", async () => {
  const raw = ['data: {"choices":[{"delta":{"content":"Hm","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\\"x\\":"}}]},"finish_reason":"length"}]}\n\n'];
  await withServer({ script: [{ raw }] }, async (server) => {
    const { items, last } = answerOf(await collect(providerAt("chat", server.url), requestFor("chat")));
    expect(items.map(plain)).toEqual([{ says: "Hm" }]);
    expect(last).toMatchObject({ type: "failed", failure: { code: "max_output_tokens", retryable: false } });
  });
});

test("the connection dies after the finish reason: the answer is complete", async () => {
  await withServer({ profile: "openai", script: [{ text: "Hello", drop: { afterEvents: 3 } }] }, async (server) => {
    const { items, last } = answerOf(await collect(providerAt("chat", server.url), requestFor("chat")));
    expect(items.map(plain)).toEqual([{ says: "Hello" }]);
    expect(last).toEqual({ type: "done", usage: null });
  });
});
