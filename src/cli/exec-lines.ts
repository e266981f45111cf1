/**
 * exec's JSONL: a pure function over (seen so far, event). Exactly one terminal line ends a run: `turn.completed`, `turn.failed` or
 * `error`; a turn that another follows in the same run ends with `turn.ended` (exec-output.ts). Names are those that existing programs parse; fields and types may be added, never renamed. `schema/exec.schema.json`
 * describes every line, and the tests hold each line of each run against it.
 */
import { isReasoning, textOf, type Item } from "../protocol/item.ts";
import type { Event, EventBody } from "../protocol/event.ts";
import type { PlanStep, Usage } from "../protocol/record.ts";
import { addUsage, NO_USAGE } from "../core/state.ts";
import { callItem, commandItem, type RequestedCall } from "./exec-items.ts";

const SCHEMA_VERSION = 1;

export type Line = { type: string; [field: string]: unknown };

export interface Lines {
  started(thread: string): Line;
  next(event: Event): Line[];
  /** Something that people should know, which ends nothing. */
  notice(message: string): Line;
  failed(message: string): Line;
}

export interface LinesOptions {
  /** What the thread's turns have used before this run. */
  usedBefore?: Usage;
  /** Where relative paths of a patch begin. */
  cwd?: string;
}

export function isTerminal(line: Line): boolean {
  return line.type === "turn.completed" || line.type === "turn.failed" || line.type === "error";
}

export function createLines({ usedBefore, cwd = "" }: LinesOptions = {}): Lines {
  const names = new Map<string, string>();
  const calls = new Map<string, RequestedCall>();
  let count = 0;
  let used = usedBefore ?? NO_USAGE;
  let folder = cwd;
  let failure: { message: string; code?: string } | null = null;
  let plan: { id: string; items: object[] } | null = null;
  let opened = false;

  const name = (id: string): string => {
    const known = names.get(id) ?? `item_${count++}`;
    names.set(id, known);
    return known;
  };
  const first = (): object => {
    const fields = opened ? {} : { schema_version: SCHEMA_VERSION };
    opened = true;
    return fields;
  };
  const error = (message: string): Line => ({ type: "item.completed", item: { id: `item_${count++}`, type: "error", message } });

  function completed(event: Extract<Event, { type: "item/completed" }>): object | null {
    const { item, item_kind: kind, item_id } = event;
    const partial = event.partial ? { partial: true } : {};
    if (kind === "agentMessage") return { id: name(item_id), type: "agent_message", text: textOf(item), ...partial };
    if (kind === "reasoning") return { id: name(item_id), type: "reasoning", text: reasoningText(item), ...partial };
    if (kind === "webSearch") return { id: name(item_id), type: "web_search", query: queryOf(item) };
    const result = event.result ?? null;
    const call = calls.get(item_id);
    if (kind === "commandExecution" && (!call || call.kind === kind)) return commandItem(name(item_id), call?.command ?? "", result);
    // A plan that was understood shows as the list that it is.
    if (!call || (kind === "planUpdate" && result?.status === "done")) return null;
    return callItem(name(item_id), call, result, folder);
  }

  function requested(item: string, call: RequestedCall): Line[] {
    calls.set(item, call);
    if (call.kind === "commandExecution") return [{ type: "item.started", item: commandItem(name(item), call.command, null) }];
    if (call.kind === "planUpdate") return [];
    return [{ type: "item.started", item: callItem(name(item), call, null, folder) }];
  }

  function planned(steps: readonly PlanStep[]): Line[] {
    const type = plan ? "item.updated" : "item.started";
    const items = steps.map(({ step, status }) => ({ text: step, completed: status === "completed" }));
    plan = { id: plan?.id ?? name("plan"), items };
    return [{ type, item: { id: plan.id, type: "todo_list", items } }];
  }

  function ended(event: Extract<EventBody, { type: "turn/completed" }>): Line[] {
    used = addUsage(used, event.token_usage);
    const lines: Line[] = plan ? [{ type: "item.completed", item: { id: plan.id, type: "todo_list", items: plan.items } }] : [];
    const figures = { usage: usageOf(event.token_usage), total_usage: usageOf(used), duration_ms: event.duration_ms };
    const why = failure;
    plan = failure = null;
    names.delete("plan");
    if (event.status === "completed") return [...lines, { type: "turn.completed", ...figures }];
    return [...lines, { type: "turn.failed", error: why ?? { message: `The turn was ${event.status}.` }, status: event.status, ...figures }];
  }

  return {
    started: (thread) => ({ type: "thread.started", thread_id: thread, ...first() }),
    failed: (message) => ({ type: "error", message, ...first() }),
    notice: (message) => error(message),
    next(event) {
      switch (event.type) {
        case "session/configured":
          folder = event.settings.cwd;
          return [];
        case "thread/settings":
          folder = event.settings.cwd ?? folder;
          return [];
        case "turn/started":
          return [{ type: "turn.started", turn_id: event.turn_id }];
        case "item/started":
          calls.set(event.item_id, { kind: event.item_kind, tool: "", arguments: "", command: "" });
          return [];
        case "item/commandExecution/started":
          return requested(event.item_id, { kind: "commandExecution", tool: "", arguments: "", command: event.command });
        case "item/toolCall/started":
          return requested(event.item_id, { kind: calls.get(event.item_id)?.kind ?? "toolCall", tool: event.tool_name, arguments: event.args_json, command: "" });
        case "item/completed": {
          const item = event.item_kind === "userMessage" ? null : completed(event);
          // A server may use the id of a call again, for another call.
          calls.delete(event.item_id);
          names.delete(event.item_id);
          return item ? [{ type: "item.completed", item }] : [];
        }
        case "item/discarded":
          // Text that broke off is told by its retry; what is in the log and no longer sent is told here.
          return event.cursor === undefined ? [] : [error(`Left out from now on, because it was refused: ${event.message}`)];
        case "turn/plan/updated":
          return planned(event.plan);
        case "thread/compacted":
          return [{ type: "item.completed", item: { id: `item_${count++}`, type: "compaction", old_token_count: event.old_token_count, new_token_count: event.new_token_count, strategy: event.strategy, trigger: event.trigger } }];
        case "turn/retrying":
          return [error(retryText(event))];
        case "warning":
          return [error(event.message)];
        case "turn/failed":
          failure = { message: event.message, code: event.code };
          return [];
        case "turn/cancelled":
          failure = { message: event.message };
          return [];
        case "turn/completed":
          return ended(event);
        default:
          return [];
      }
    },
  };
}

const LONG_WAIT_S = 5;

/** A wait that one notices is told. */
export function retryText({ attempt, max_attempts: most, message, retry_at: at, timestamp_ms: now }: Event & { type: "turn/retrying" }): string {
  const seconds = at === null || now === undefined ? 0 : Math.round((Date.parse(at) - now) / 1000);
  return `Reconnecting ${attempt}${most === null ? "" : `/${most}`}${seconds > LONG_WAIT_S ? ` in ${seconds} s` : ""}: ${message}`;
}

function reasoningText(item: Item): string {
  return isReasoning(item) ? item.summary.map((part) => part.text).join("\n\n") : "";
}

function queryOf(item: Item): string {
  const { action } = item as { action?: { query?: unknown } };
  return typeof action?.query === "string" ? action.query : "";
}

function usageOf(usage: Usage): object {
  return {
    input_tokens: usage.input_tokens,
    cached_input_tokens: usage.cached_tokens ?? 0,
    cache_write_input_tokens: usage.cache_write_tokens ?? 0,
    output_tokens: usage.output_tokens,
    reasoning_output_tokens: usage.reasoning_tokens ?? 0,
  };
}
