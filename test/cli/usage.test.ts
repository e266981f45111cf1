import { expect, test } from "vitest";
import { groupsOf, usageText } from "../../src/cli/usage-text.ts";
import type { UsageRow } from "../../src/protocol/usage.ts";

const row = (more: Partial<UsageRow>): UsageRow => ({ day: "2026-03-01", model: "gpt-5", provider: "openai", cwd: "/repo", requests: 1, unknown_requests: 0, input_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cost: 0, ...more });

const ROWS = [
  row({ requests: 12, input_tokens: 1_234_567, cached_tokens: 999_949, output_tokens: 45_000, cost: 3.214 }),
  row({ day: "2026-03-02", model: "claude-sonnet-4-5", provider: "anthropic", cwd: "/other", requests: 3, input_tokens: 12_000, output_tokens: 999, cost: 0.0049 }),
];

test("a table with bars by cost", () => {
  expect(usageText(ROWS, "day")).toBe(`day         requests  input  cached  output    cost  by cost
2026-03-01        12   1.2M  999.9k   45.0k   $3.21  ████████████████████
2026-03-02         3  12.0k       0     999  <$0.01  ▏
total             15   1.2M  999.9k   46.0k   $3.22
`);
  expect(usageText(ROWS, "model")).toBe(`model                          requests  input  cached  output    cost  by cost
gpt-5 (openai)                       12   1.2M  999.9k   45.0k   $3.21  ████████████████████
claude-sonnet-4-5 (anthropic)         3  12.0k       0     999  <$0.01  ▏
total                                15   1.2M  999.9k   46.0k   $3.22
`);
});

test("what is not known is kept apart, and bars are then by tokens", () => {
  const rows = [...ROWS, row({ cwd: "/repo", model: "mystery", provider: "box", requests: 2, unknown_requests: 1, input_tokens: 600_000, cost: null }), row({ cwd: "/only", model: "mystery", provider: "box", cost: null })];
  expect(usageText(rows, "project")).toBe(`project  requests  input  cached  output             cost  by tokens
/repo          14   1.8M  999.9k   45.0k  $3.21 + unknown  ████████████████████
/other          3  12.0k       0     999           <$0.01  ▏
/only           1      0       0       0          unknown
total          18   1.8M  999.9k   46.0k  $3.22 + unknown

1 request was lost or broke off and never told what it used: it is in no sum.

Prices are not known for mystery. Set them in config.toml: [models."mystery"] price_input, price_output.
`);
});

test("as data, each group has what is known and how much is not", () => {
  expect(groupsOf([row({ requests: 2, cost: 1, input_tokens: 5 }), row({ model: "m", requests: 3, unknown_requests: 1, cost: null, cache_write_tokens: 7 })], "day")).toEqual([
    { day: "2026-03-01", requests: 5, unknown_requests: 1, input_tokens: 5, cached_tokens: 0, cache_write_tokens: 7, output_tokens: 0, reasoning_tokens: 0, cost: 1, unpriced_requests: 3 },
  ]);
});

test("one group has no total, none says so, and names do nothing to a terminal", () => {
  expect(usageText([], "day")).toBe("Nothing was used.\n");
  expect(usageText([row({ cwd: `/${"x".repeat(60)}\u001b[2J`, unknown_requests: 1 })], "project")).toBe(`project                                           requests  input  cached  output   cost  by tokens
…${"x".repeat(43)}?[2J         1      0       0       0  $0.00

1 request was lost or broke off and never told what it used: it is in no sum.
`);
});
