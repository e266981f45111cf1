/**
 * Models: how much the well-known ones hold and what they cost. Data and lookup.
 *
 * - `contextWindow` is how many tokens a request may hold: where the maker gives input a limit of its own, that one, else the window.
 * - Prices are US dollars per million tokens, as published by the makers for standard requests, last compared in November 2026. They
 *   change: `[models."NAME"]` in the config overrides every value here.
 * - A name that is not known is unknown. A name that goes on after a known one (`gpt-5-something`) is taken for its relative in size,
 *   never in price.
 */
import type { CompactStrategy, Usage } from "../protocol/record.ts";

/** Without `cachedInput` or `cacheWrite`, such tokens cost what input costs. */
export interface Prices {
  readonly input: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly output: number;
  /** A request whose input is larger costs so many times as much, all of it. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number };
}

export interface ModelInfo {
  /** Null: unknown. */
  readonly contextWindow: number | null;
  readonly maxOutput: number | null;
  readonly prices: Prices | null;
  /** Null: as the window says. */
  readonly autoCompactTokenLimit: number | null;
  /** Null: the usual one. */
  readonly compactStrategy: CompactStrategy | null;
}

/** `[models."NAME"]` of the config. */
export interface ModelOverride {
  context_window?: number;
  max_output_tokens?: number;
  price_input?: number;
  price_cached_input?: number;
  price_cache_write?: number;
  price_output?: number;
  auto_compact_token_limit?: number;
  compact_strategy?: CompactStrategy;
}

/** Sizes of input above which some maker charges more; sums that keep them apart can be priced. */
export const PRICE_STEPS: readonly number[] = [100_000, 200_000, 272_000];

interface Known {
  window: number;
  output?: number;
  usd?: Prices;
  compact?: CompactStrategy;
}

const LONG = { above: 272_000, input: 2, output: 1.5 };

const GPT_5 = { window: 272_000, output: 128_000 };
const GPT_LARGE = { window: 922_000, output: 128_000 };
const GPT_4_1 = { window: 1_047_576, output: 32_768 };
const GPT_4O = { window: 128_000, output: 16_384 };
const O_SERIES = { window: 200_000, output: 100_000, compact: "user-messages" } as const;
const CLAUDE_3 = { window: 200_000, output: 4096 };
const CLAUDE_3_5 = { window: 200_000, output: 8192 };
const CLAUDE_4 = { window: 200_000, output: 64_000 };
const CLAUDE_LARGE = { window: 1_000_000, output: 128_000 };

const OPUS_4: Prices = { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 };
const OPUS_4_5: Prices = { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 };
const SONNET_4: Prices = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };

const TABLE: ReadonlyMap<string, Known> = new Map(
  Object.entries<Known>({
    "gpt-6.1-sol": { ...GPT_LARGE, usd: { input: 2, cachedInput: 0.1, output: 10, long: LONG } },
    "gpt-6-sol": { ...GPT_LARGE, usd: { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10, long: LONG } },
    "gpt-6-luna": { ...GPT_LARGE, usd: { input: 0.1, cachedInput: 0.01, cacheWrite: 0.125, output: 0.5, long: LONG } },
    "gpt-6-astra": { ...GPT_LARGE, usd: { input: 10, cachedInput: 1, cacheWrite: 12.5, output: 50, long: LONG } },
    "gpt-5.6-sol": { ...GPT_LARGE, usd: { input: 4, cachedInput: 0.4, output: 20, long: LONG } },
    "gpt-5.6-terra": { ...GPT_LARGE, usd: { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 12, long: LONG } },
    "gpt-5.6-luna": { ...GPT_5, usd: { input: 0.2, cachedInput: 0.02, cacheWrite: 0.25, output: 1.2, long: LONG } },
    "gpt-5.5": { ...GPT_LARGE, usd: { input: 5, cachedInput: 0.5, output: 30, long: LONG } },
    "gpt-5.4": { ...GPT_LARGE, usd: { input: 2.5, cachedInput: 0.25, output: 15, long: LONG } },
    "gpt-5.4-mini": { ...GPT_5, usd: { input: 0.75, cachedInput: 0.075, output: 4.5 } },
    "gpt-5.4-nano": { ...GPT_5, usd: { input: 0.2, cachedInput: 0.02, output: 1.25 } },
    "gpt-5.3-codex": { ...GPT_5, usd: { input: 1.75, cachedInput: 0.175, output: 14 } },
    "gpt-5.2": { ...GPT_5, usd: { input: 1.75, cachedInput: 0.175, output: 14 } },
    "gpt-5.2-codex": { ...GPT_5, usd: { input: 1.75, cachedInput: 0.175, output: 14 } },
    "gpt-5.2-pro": { ...GPT_5, usd: { input: 21, output: 168 } },
    "gpt-5.1": { ...GPT_5, usd: { input: 1.25, cachedInput: 0.125, output: 10 } },
    "gpt-5.1-codex": { ...GPT_5, usd: { input: 1.25, cachedInput: 0.125, output: 10 } },
    "gpt-5.1-codex-max": { ...GPT_5, usd: { input: 1.25, cachedInput: 0.125, output: 10 } },
    "gpt-5.1-codex-mini": { ...GPT_5, usd: { input: 0.25, cachedInput: 0.025, output: 2 } },
    "gpt-5": { ...GPT_5, usd: { input: 1.25, cachedInput: 0.125, output: 10 } },
    "gpt-5-codex": { ...GPT_5, usd: { input: 1.25, cachedInput: 0.125, output: 10 } },
    "gpt-5-mini": { ...GPT_5, usd: { input: 0.25, cachedInput: 0.025, output: 2 } },
    "gpt-5-nano": { ...GPT_5, usd: { input: 0.05, cachedInput: 0.005, output: 0.4 } },
    "gpt-5-pro": { ...GPT_5, usd: { input: 15, output: 120 } },
    "gpt-5-chat": { ...GPT_4O, usd: { input: 1.25, cachedInput: 0.125, output: 10 } },
    "gpt-4.1": { ...GPT_4_1, usd: { input: 2, cachedInput: 0.5, output: 8 } },
    "gpt-4.1-mini": { ...GPT_4_1, usd: { input: 0.4, cachedInput: 0.1, output: 1.6 } },
    "gpt-4.1-nano": { ...GPT_4_1, usd: { input: 0.1, cachedInput: 0.025, output: 0.4 } },
    "gpt-4o": { ...GPT_4O, usd: { input: 2.5, cachedInput: 1.25, output: 10 } },
    "gpt-4o-2024-05-13": { window: 128_000, output: 4096, usd: { input: 5, output: 15 } },
    "gpt-4o-mini": { ...GPT_4O, usd: { input: 0.15, cachedInput: 0.075, output: 0.6 } },
    "o1": { ...O_SERIES, usd: { input: 15, cachedInput: 7.5, output: 60 } },
    "o3": { ...O_SERIES, usd: { input: 2, cachedInput: 0.5, output: 8 } },
    "o3-mini": { ...O_SERIES, usd: { input: 1.1, cachedInput: 0.55, output: 4.4 } },
    "o3-pro": { ...O_SERIES, usd: { input: 20, output: 80 } },
    "o4-mini": { ...O_SERIES, usd: { input: 1.1, cachedInput: 0.275, output: 4.4 } },
    "codex-mini": { window: 200_000, output: 100_000, usd: { input: 1.5, cachedInput: 0.375, output: 6 } },

    "claude-fable-5-1": { ...CLAUDE_LARGE, usd: { input: 10, cachedInput: 0.25, cacheWrite: 12.5, output: 50 } },
    "claude-fable-5": { ...CLAUDE_LARGE, usd: { input: 10, cachedInput: 1, cacheWrite: 12.5, output: 50 } },
    "claude-opus-5-5": { ...CLAUDE_LARGE, usd: { input: 4, cachedInput: 0.2, cacheWrite: 5, output: 20 } },
    "claude-opus-5": { ...CLAUDE_LARGE, usd: OPUS_4_5 },
    "claude-opus-4-8": { ...CLAUDE_LARGE, usd: OPUS_4_5 },
    "claude-opus-4-7": { ...CLAUDE_LARGE, usd: OPUS_4_5 },
    "claude-opus-4-6": { ...CLAUDE_LARGE, usd: OPUS_4_5 },
    "claude-opus-4-5": { ...CLAUDE_4, usd: OPUS_4_5 },
    "claude-opus-4-1": { window: 200_000, output: 32_000, usd: OPUS_4 },
    "claude-opus-4": { window: 200_000, output: 32_000, usd: OPUS_4 },
    "claude-sonnet-5-5": { ...CLAUDE_LARGE, usd: { input: 2, cachedInput: 0.1, cacheWrite: 2.5, output: 10 } },
    "claude-sonnet-5": { ...CLAUDE_LARGE, usd: { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10 } },
    "claude-sonnet-4-6": { window: 1_000_000, output: 64_000, usd: SONNET_4 },
    "claude-sonnet-4-5": { ...CLAUDE_4, usd: SONNET_4 },
    "claude-sonnet-4": { ...CLAUDE_4, usd: SONNET_4 },
    "claude-haiku-5-5": { ...CLAUDE_LARGE, usd: { input: 0.1, cachedInput: 0.01, cacheWrite: 0.125, output: 0.5, long: { above: 100_000, input: 5, output: 5 } } },
    "claude-haiku-4-5": { ...CLAUDE_4, usd: { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 } },
    "claude-3-7-sonnet": { ...CLAUDE_4, usd: SONNET_4 },
    "claude-3-5-sonnet": { ...CLAUDE_3_5, usd: SONNET_4 },
    "claude-3-5-haiku": { ...CLAUDE_3_5, usd: { input: 0.8, cachedInput: 0.08, cacheWrite: 1, output: 4 } },
    "claude-3-opus": { ...CLAUDE_3, usd: OPUS_4 },
    "claude-3-haiku": { ...CLAUDE_3, usd: { input: 0.25, cachedInput: 0.03, cacheWrite: 0.3, output: 1.25 } },

    // Open models: what they can hold; the server that runs them may be set to less. Their price is whoever's who runs them.
    "gpt-oss": { window: 131_072 },
    "llama3.1": { window: 131_072 },
    "llama3.2": { window: 131_072 },
    "llama3.3": { window: 131_072 },
    "qwen2.5-coder": { window: 32_768 },
    "qwen3-coder": { window: 262_144 },
    "deepseek-r1": { window: 131_072 },
    "devstral": { window: 131_072 },
    "gemma3": { window: 131_072 },
  }),
);

/** `overrides` is `[models]` of the config. */
export function modelInfo(name: string, overrides: Readonly<Record<string, ModelOverride>> = {}): ModelInfo {
  const plain = plainName(name);
  const said = [name, plain, undated(plain)].map((each) => (Object.hasOwn(overrides, each) ? overrides[each] : undefined)).find((each) => each !== undefined) ?? {};
  const exact = TABLE.get(plain) ?? TABLE.get(undated(plain));
  const known = exact ?? relative(plain);
  return {
    contextWindow: said.context_window ?? known?.window ?? null,
    maxOutput: said.max_output_tokens ?? known?.output ?? null,
    prices: pricesOf(exact?.usd ?? null, said),
    autoCompactTokenLimit: said.auto_compact_token_limit ?? null,
    compactStrategy: said.compact_strategy ?? known?.compact ?? null,
  };
}

/** What a request of this size costs per million tokens. */
export function pricesAt({ long, ...prices }: Prices, inputTokens: number): Prices {
  if (!long || inputTokens <= long.above) return prices;
  const { input, cachedInput, cacheWrite, output } = prices;
  return {
    input: input * long.input,
    ...(cachedInput === undefined ? {} : { cachedInput: cachedInput * long.input }),
    ...(cacheWrite === undefined ? {} : { cacheWrite: cacheWrite * long.input }),
    output: output * long.output,
  };
}

/** US dollars of one request; null when its prices are not known. Cached and written tokens are part of the input. */
export function costOf(usage: Usage, prices: Prices | null): number | null {
  if (!prices) return null;
  const { input, cachedInput = input, cacheWrite = input, output } = pricesAt(prices, usage.input_tokens);
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = usage;
  const fresh = Math.max(0, usage.input_tokens - cached - written);
  return (fresh * input + cached * cachedInput + written * cacheWrite + usage.output_tokens * output) / 1_000_000;
}

/** Without the name of whoever passes it on (`openai/`, `us.anthropic.`), and with dashes where a model's maker has them. */
function plainName(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const plain = last.replace(/^(?:[a-z]{2,6}\.)?anthropic\./u, "").replace(/-v\d+(?::\d+)?$/u, "");
  return plain.startsWith("claude-") ? plain.replace(/(?<=\d)\.(?=\d)/gu, "-") : plain;
}

function undated(name: string): string {
  return name.replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/u, "");
}

/** The longest known name that this one goes on after. */
function relative(name: string): Known | undefined {
  for (let end = name.length - 1; end > 0; end--) {
    if (!/[-:@]/u.test(name[end]!)) continue;
    const known = TABLE.get(name.slice(0, end));
    if (known) return known;
  }
  return undefined;
}

function pricesOf(known: Prices | null, said: ModelOverride): Prices | null {
  const { price_input: input, price_cached_input: cached, price_cache_write: write, price_output: output } = said;
  if (input === undefined && cached === undefined && write === undefined && output === undefined) return known;
  const whole = { input: input ?? known?.input, output: output ?? known?.output };
  if (whole.input === undefined || whole.output === undefined) return null;
  // A price for input of one's own says nothing of the maker's discounts.
  const rest = input === undefined ? known : null;
  const cachedInput = cached ?? rest?.cachedInput;
  const cacheWrite = write ?? rest?.cacheWrite;
  return { input: whole.input, output: whole.output, ...(cachedInput === undefined ? {} : { cachedInput }), ...(cacheWrite === undefined ? {} : { cacheWrite }) };
}
