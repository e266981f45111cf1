/** exec for people: what happens goes to stderr as it happens; the last message goes to stdout. A pure function of events. */
import { isReasoning, textOf } from "../protocol/item.ts";
import type { CompletedCall, Event } from "../protocol/event.ts";
import type { Settings } from "../protocol/record.ts";
import { retryText } from "./exec-lines.ts";

const SHOWN_OUTPUT_LINES = 20;

export function header(thread: string, settings: Settings): string {
  return [`skein · thread ${thread}`, `model ${settings.model} (${settings.model_provider}) · sandbox ${settings.sandbox_mode} · ${settings.cwd}`, "", ""].join("\n");
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
      return `… ${retryText(event)}`;
    case "item/discarded":
      return event.cursor === undefined ? `… a half answer was discarded: ${event.message}` : `… left out from now on, because it was refused: ${event.message}`;
    case "thread/compacted":
      return `… compacted: ${event.old_token_count} → ${event.new_token_count} tokens`;
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
  return result ? describeResult(result) : null;
}

function describeResult({ output, exit_code: exit }: CompletedCall): string | null {
  const lines = output.trimEnd() === "" ? [] : output.trimEnd().split("\n");
  const shown = lines.slice(-SHOWN_OUTPUT_LINES).map((line) => `  ${line}`);
  if (lines.length > shown.length) shown.unshift(`  … ${lines.length - shown.length} lines above`);
  if (exit !== null && exit !== 0) shown.push(`  exit code ${exit}`);
  return shown.length === 0 ? null : shown.join("\n");
}
