/**
 * exec for people: what happens goes to stderr as it happens; the last message goes to stdout. A pure function of the events so far. Of calls
 * that only look it is told what they looked at, not what they saw.
 */
import { isReasoning, textOf } from "../protocol/item.ts";
import type { CompletedCall, Event } from "../protocol/event.ts";
import type { Action, PlanStep, Settings } from "../protocol/record.ts";
import { explored } from "../core/explored.ts";
import { changesIn } from "./exec-items.ts";
import { retryText } from "./exec-lines.ts";

const SHOWN_OUTPUT_LINES = 20;
const SHOWN_ARGUMENTS = 200;

export function header(thread: string, settings: Settings): string {
  return [`skein · thread ${thread}`, `model ${settings.model} (${settings.model_provider}) · sandbox ${settings.sandbox_mode} · ${settings.cwd}`, "", ""].join("\n");
}

/** Each event → lines for stderr; null when there is nothing to say. */
export function createText(): (event: Event) => string | null {
  const looked = new Map<string, readonly Action[]>();
  let percent: number | null = null;
  return (event) => {
    switch (event.type) {
      case "item/commandExecution/started":
        return event.by === "user" ? `! ${event.command}` : `$ ${event.command}`;
      case "item/commandExecution/explored":
        looked.set(event.item_id, event.actions);
        return null;
      case "item/toolCall/started": {
        const [group] = explored([{ tool: event.tool_name, arguments: parsed(event.args_json) }]);
        if (group?.actions) looked.set(event.item_id, group.actions);
        return group?.actions ? `→ ${event.tool_name}` : toolText(event.tool_name, event.args_json);
      }
      case "item/completed": {
        const actions = looked.get(event.item_id);
        looked.delete(event.item_id);
        if (actions && event.result?.status === "done" && (event.result.exit_code ?? 0) === 0) return `  ${actions.map(actionText).join(" · ")}`;
        return describeItem(event);
      }
      case "context/updated":
        percent = event.percent;
        return null;
      case "turn/completed": {
        const { input_tokens: input, output_tokens: output, cached_tokens: cached } = event.token_usage;
        return `— ${(event.duration_ms / 1000).toFixed(1)} s, ${input} tokens in (${cached ?? 0} cached), ${output} out${percent === null ? "" : `, context ${percent}% full`}`;
      }
      default:
        return describe(event);
    }
  };
}

function describe(event: Event): string | null {
  switch (event.type) {
    case "turn/plan/updated":
      return event.plan.map(planText).join("\n");
    case "approval/requested":
      return `? ${questionText(event.body)}`;
    case "turn/retrying":
      return `… ${retryText(event)}`;
    case "item/discarded":
      return event.cursor === undefined ? `… a half answer was discarded: ${event.message}` : `… left out from now on, because it was refused: ${event.message}`;
    case "thread/restored":
      return `… ${event.message}`;
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
    default:
      return null;
  }
}

const KINDS: Readonly<Record<string, string>> = { add: "A", update: "M", delete: "D" };

function toolText(tool: string, args: string): string | null {
  if (tool === "update_plan") return null;
  if (tool === "apply_patch") return `→ apply_patch\n${changesIn(args, "").map(({ kind, path }) => `  ${KINDS[kind] ?? "?"} ${path}`).join("\n")}`;
  return `→ ${tool} ${args.length > SHOWN_ARGUMENTS ? `${args.slice(0, SHOWN_ARGUMENTS)}…` : args}`;
}

function actionText(action: Action): string {
  if (action.type === "search") return `searched ${JSON.stringify(action.query)} in ${action.path}`;
  return action.type === "read" ? `read ${action.path}` : `listed ${action.path}`;
}

const MARKS: Readonly<Record<PlanStep["status"], string>> = { completed: "[x]", in_progress: "[>]", pending: "[ ]" };

function planText({ step, status }: PlanStep): string {
  return `  ${MARKS[status]} ${step}`;
}

function questionText(body: unknown): string {
  const { shown, why, message } = (body ?? {}) as { shown?: { command?: string; paths?: string[]; tool?: string }; why?: string; message?: string };
  const what = shown?.command ?? shown?.paths?.join(", ") ?? shown?.tool ?? message ?? "a question";
  return `${what}${why === undefined ? "" : ` (asked, because ${why})`}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function describeItem(event: Extract<Event, { type: "item/completed" }>): string | null {
  const { item, item_kind: kind, result } = event;
  if (kind === "agentMessage") return `${textOf(item)}${event.partial ? "\n… (interrupted)" : ""}`;
  if (kind === "reasoning") return isReasoning(item) ? item.summary.map((part) => `· ${part.text}`).join("\n") || null : null;
  // What a patch or a plan did was told when it was asked for.
  if (result?.status === "done" && (kind === "fileChange" || kind === "planUpdate")) return null;
  return result ? describeResult(result) : null;
}

function describeResult({ output, exit_code: exit }: CompletedCall): string | null {
  const lines = output.trimEnd() === "" ? [] : output.trimEnd().split("\n");
  const shown = lines.slice(-SHOWN_OUTPUT_LINES).map((line) => `  ${line}`);
  if (lines.length > shown.length) shown.unshift(`  … ${lines.length - shown.length} lines above`);
  if (exit !== null && exit !== 0) shown.push(`  exit code ${exit}`);
  return shown.length === 0 ? null : shown.join("\n");
}
