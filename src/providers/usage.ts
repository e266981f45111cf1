/** Usage as every wire tells it in words of its own: what a server does not say is left out, and the total is worked out. */
import type { Usage } from "../protocol/record.ts";
import { asCount } from "./json.ts";

export function usageFrom(told: { input: unknown; cached: unknown; output: unknown; reasoning: unknown; total: unknown }): Usage {
  const input = asCount(told.input) ?? 0;
  const output = asCount(told.output) ?? 0;
  const cached = asCount(told.cached);
  const reasoning = asCount(told.reasoning);
  return {
    input_tokens: input,
    ...(cached === undefined ? {} : { cached_tokens: cached }),
    output_tokens: output,
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
    total_tokens: asCount(told.total) ?? input + output,
  };
}
