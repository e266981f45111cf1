/** exec for people: what happens goes to stderr as it happens; the last message goes to stdout. A pure function of events. */
import { isReasoning, textOf } from "../protocol/item.ts";
import type { Event } from "../protocol/event.ts";
import type { Settings } from "../protocol/record.ts";

const SHOWN_OUTPUT_LINES = 20;

export function header(thread: string, settings: Settings): string {
  return [`skein · thread ${thread}`, `model ${settings.model} (${settings.model_provider}) · sandbox ${settings.sandbox_mode} · ${settings.cwd}`, ""].join("\n");
}

/** Lines for stderr; null when there is nothing to say. */
export function describe(event: Event): string | null {
  switch (event.type) {
    case "item/commandExecution/started":
      return `$ ${event.command}`;
    case "item/toolCall/started":
      return `→ ${event.tool_name} ${event.args_json}`;
    case "item/completed":
      return describeItem(event);
    case "turn/retrying":
      return `… reconnecting (attempt ${event.attempt} failed: ${event.message})`;
    case "item/discarded":
      return `… a half answer was discarded: ${event.message}`;
    case "turn/failed":
      return `✗ ${event.message}`;
    case "turn/cancelled":
      return `✗ ${event.message}`;
    case "warning":
      return `! ${event.message}`;
    case "error":
      return `! ${event.message}`;
    case "turn/completed": {
      const { input_tokens: input, output_tokens: output, cached_tokens: cached } = event.token_usage;
      return `— ${(event.duration_ms / 1000).toFixed(1)} s, ${input} tokens in (${cached ?? 0} cached), ${output} out`;
    }
    default:
      return null;
  }
}

function describeItem(event: Extract<Event, { type: "item/completed" }>): string | null {
  const { item, item_kind: kind, result } = event;
  if (kind === "agentMessage") return `${textOf(item)}${event.partial ? "\n… (interrupted)" : ""}`;
  if (kind === "reasoning") return isReasoning(item) ? item.summary.map((part) => `· ${part.text}`).join("\n") || null : null;
  if (!result) return null;
  const lines = result.output.trimEnd().split("\n");
  const shown = lines.slice(-SHOWN_OUTPUT_LINES).map((line) => `  ${line}`);
  if (lines.length > shown.length) shown.unshift(`  … ${lines.length - shown.length} lines above`);
  return shown.join("\n");
}
