import { expect, test } from "vitest";
import { costOf, modelInfo, pricesAt } from "../../src/core/models.ts";

const UNKNOWN = { contextWindow: null, maxOutput: null, prices: null, autoCompactTokenLimit: null, compactStrategy: null };

test("a known model", () => {
  expect(modelInfo("gpt-5-codex")).toEqual({ ...UNKNOWN, contextWindow: 272_000, maxOutput: 128_000, prices: { input: 1.25, cachedInput: 0.125, output: 10 } });
  expect(modelInfo("o4-mini")).toEqual({ ...UNKNOWN, contextWindow: 200_000, maxOutput: 100_000, prices: { input: 1.1, cachedInput: 0.275, output: 4.4 }, compactStrategy: "user-messages" });
});

test.each([
  ["openai/gpt-5", "gpt-5"],
  ["gpt-5-2025-08-07", "gpt-5"],
  ["GPT-5", "gpt-5"],
  ["gpt-5-chat-latest", "gpt-5-chat"],
  ["codex-mini-latest", "codex-mini"],
  ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
  ["anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
  ["claude-3.5-haiku", "claude-3-5-haiku"],
  ["openrouter/anthropic/claude-3-5-sonnet-latest", "claude-3-5-sonnet"],
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"],
  ["anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"],
  ["claude-opus-4-5@20251101", "claude-opus-4-5"],
  ["gpt-4o-2024-08-06", "gpt-4o"],
])("%s is %s", (name, same) => {
  expect(modelInfo(name).prices).not.toBeNull();
  expect(modelInfo(name)).toEqual(modelInfo(same));
});

test("a dated model with prices of its own has them", () => {
  expect(modelInfo("gpt-4o-2024-05-13").prices).toEqual({ input: 5, output: 15 });
});

test("a relative is as large as the known one, and its price is unknown", () => {
  for (const name of ["gpt-5-something", "gpt-oss:20b", "openai/gpt-oss-120b", "qwen/qwen3-coder-30b", "llama3.1:8b-instruct", "claude-sonnet-4-5-fast"]) {
    expect([name, modelInfo(name).contextWindow !== null, modelInfo(name).prices]).toEqual([name, true, null]);
  }
  expect(modelInfo("gpt-5.1-codex-something").contextWindow).toBe(272_000);
});

test("what is not known is unknown", () => {
  for (const name of ["", "/", "-", "gpt", "gpt-5.9", "gpt-50", "gpt-9-sol", "my-model", "o33", "constructor", "__proto__"]) expect([name, modelInfo(name)]).toEqual([name, UNKNOWN]);
});

test("the models that are chosen by default are known", async () => {
  const { DEFAULT_MODELS } = await import("../../src/config/defaults.ts");
  const known = Object.entries(DEFAULT_MODELS).filter(([provider]) => provider !== "replay").map(([, model]) => modelInfo(model));
  expect(known.map(({ contextWindow, prices }) => [contextWindow, prices?.input])).toEqual([[922_000, 2], [1_000_000, 2]]);
});

test("every price is complete: cached input costs no more than input, and output no less", async () => {
  for (const name of ["gpt-6.1-sol", "gpt-5.4", "gpt-4.1-mini", "claude-opus-5-5", "claude-haiku-5-5", "claude-3-haiku"]) {
    const { input, output, cachedInput = input, cacheWrite = input } = modelInfo(name).prices!;
    expect([name, cachedInput <= input, cacheWrite >= input, output > input]).toEqual([name, true, true, true]);
  }
});

test("the config counts first, by the full name or by the plain one", () => {
  const overrides = { "gpt-5": { context_window: 1 }, "openai/gpt-5": { context_window: 2 }, "box/local": { price_input: 0, price_output: 0 }, half: { price_input: 3 } };
  expect([modelInfo("gpt-5", overrides).contextWindow, modelInfo("openai/gpt-5", overrides).contextWindow, modelInfo("azure/gpt-5-2025-08-07", overrides).contextWindow]).toEqual([1, 2, 1]);
  expect(modelInfo("box/local", overrides).prices).toEqual({ input: 0, output: 0 });
  // Half a price is none.
  expect(modelInfo("half", overrides).prices).toBeNull();
  expect(modelInfo("gpt-5", { "gpt-5": { price_output: 20 } }).prices).toEqual({ input: 1.25, cachedInput: 0.125, output: 20 });
  expect(modelInfo("claude-opus-4-5", { "claude-opus-4-5": { price_input: 4, price_cache_write: 6 } }).prices).toEqual({ input: 4, cacheWrite: 6, output: 25 });
  expect(modelInfo("constructor", {})).toEqual(UNKNOWN);
});

const usage = (input_tokens: number, output_tokens: number, more: { cached_tokens?: number; cache_write_tokens?: number } = {}) => ({ input_tokens, output_tokens, total_tokens: input_tokens + output_tokens, ...more });

test("cost: cached and written tokens are part of the input", () => {
  const prices = { input: 4, cachedInput: 1, cacheWrite: 5, output: 10 };
  expect(costOf(usage(1_000_000, 0), prices)).toBe(4);
  expect(costOf(usage(1_000_000, 500_000, { cached_tokens: 500_000 }), prices)).toBe(7.5);
  expect(costOf(usage(1_000_000, 0, { cached_tokens: 500_000, cache_write_tokens: 250_000 }), prices)).toBe(2.75);
  expect(costOf(usage(1_000_000, 0, { cached_tokens: 500_000 }), { input: 4, output: 10 })).toBe(4);
  // A server that counts cached tokens beside the input makes no request free.
  expect(costOf(usage(10, 0, { cached_tokens: 1_000_000 }), prices)).toBe(1);
  expect(costOf(usage(1, 1), null)).toBeNull();
});

test("cost: a long request costs more, all of it", () => {
  const prices = { input: 2, cachedInput: 0.2, output: 10, long: { above: 272_000, input: 2, output: 1.5 } };
  expect(pricesAt(prices, 272_000)).toEqual({ input: 2, cachedInput: 0.2, output: 10 });
  expect(pricesAt(prices, 272_001)).toEqual({ input: 4, cachedInput: 0.4, output: 15 });
  expect(costOf(usage(500_000, 100_000), prices)).toBe(3.5);
});
