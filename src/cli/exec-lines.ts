/**
 * exec's JSONL: a pure function over (seen so far, event). Exactly one terminal line ends a run: `turn.completed`, `turn.failed` or
 * `error`. Names are those that existing programs parse; fields may be added, never renamed.
 */
import { isReasoning, textOf, type Item } from "../protocol/item.ts";
import type { CompletedCall, Event, ItemKind } from "../protocol/event.ts";
import type { Usage } from "../protocol/record.ts";

export const SCHEMA_VERSION = 1;

export type Line = { type: string; [field: string]: unknown };

export interface Lines {
  started(thread: string): Line;
  next(event: Event): Line[];
  failed(message: string): Line;
}

export function createLines(): Lines {
  const names = new Map<string, string>();
  const commands = new Map<string, string>();
  const calls = new Map<string, { tool: string; arguments: string }>();
  let failure: string | null = null;
  const name = (id: string) => {
    const known = names.get(id) ?? `item_${names.size}`;
    names.set(id, known);
    return known;
  };

  function completed(event: Extract<Event, { type: "item/completed" }>): Line[] {
    const id = name(event.item_id);
    const item = completedItem(event, id);
    return item ? [{ type: "item.completed", item }] : [];
  }

  function completedItem(event: Extract<Event, { type: "item/completed" }>, id: string): object | null {
    const { item, item_kind: kind, result, item_id } = event;
    if (kind === "agentMessage") return { id, type: "agent_message", text: textOf(item) };
    if (kind === "reasoning") return { id, type: "reasoning", text: reasoningText(item) };
    if (kind === "commandExecution") return commandItem(id, commands.get(item_id) ?? "", result ?? null);
    const call = calls.get(item_id);
    if (!call) return null;
    return { id, type: typeOf(kind), tool: call.tool, arguments: call.arguments, output: result?.output ?? "", status: result ? outcomeOf(result) : "completed" };
  }

  return {
    started: (thread) => ({ type: "thread.started", thread_id: thread, schema_version: SCHEMA_VERSION }),
    failed: (message) => ({ type: "error", message }),
    next(event) {
      switch (event.type) {
        case "turn/started":
          return [{ type: "turn.started", turn_id: event.turn_id }];
        case "item/commandExecution/started":
          commands.set(event.item_id, event.command);
          return [{ type: "item.started", item: commandItem(name(event.item_id), event.command, null) }];
        case "item/toolCall/started": {
          calls.set(event.item_id, { tool: event.tool_name, arguments: event.args_json });
          const item = { id: name(event.item_id), type: "tool_call", tool: event.tool_name, arguments: event.args_json, output: "", status: "in_progress" };
          return [{ type: "item.started", item }];
        }
        case "item/completed":
          return event.item_kind === "userMessage" ? [] : completed(event);
        case "turn/retrying":
          return [{ type: "item.completed", item: { id: name(`retry ${event.cursor}`), type: "error", message: `Attempt ${event.attempt} failed: ${event.message}` } }];
        case "warning":
          return [{ type: "item.completed", item: { id: name(`warning ${names.size}`), type: "error", message: event.message } }];
        case "turn/failed":
        case "turn/cancelled":
          failure = event.message;
          return [];
        case "turn/completed":
          if (event.status === "completed") return [{ type: "turn.completed", usage: usageOf(event.token_usage), duration_ms: event.duration_ms }];
          return [{ type: "turn.failed", error: { message: failure ?? `The turn was ${event.status}.` }, status: event.status, usage: usageOf(event.token_usage) }];
        default:
          return [];
      }
    },
  };
}

function commandItem(id: string, command: string, result: CompletedCall | null): object {
  return {
    id,
    type: "command_execution",
    command,
    aggregated_output: result?.output ?? "",
    exit_code: result?.exit_code ?? null,
    status: result ? outcomeOf(result) : "in_progress",
  };
}

/** A command that ran and gave another code than 0 failed, as its reader sees it. */
function outcomeOf(result: CompletedCall): "completed" | "failed" | "declined" {
  if (result.status === "denied") return "declined";
  return result.status === "done" && (result.exit_code ?? 0) === 0 ? "completed" : "failed";
}

function typeOf(kind: ItemKind): string {
  return kind === "mcpToolCall" ? "mcp_tool_call" : "tool_call";
}

function reasoningText(item: Item): string {
  return isReasoning(item) ? item.summary.map((part) => part.text).join("\n\n") : "";
}

function usageOf(usage: Usage): object {
  return {
    input_tokens: usage.input_tokens,
    cached_input_tokens: usage.cached_tokens ?? 0,
    cache_write_input_tokens: 0,
    output_tokens: usage.output_tokens,
    reasoning_output_tokens: usage.reasoning_tokens ?? 0,
  };
}
