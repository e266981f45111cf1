/**
 * Event: what a client sees of a thread, snake_case on the wire.
 *
 * Durable events are computed from records (core/events.ts), carry a `cursor` and can be replayed from it, gapless and without
 * duplicates. Deltas have no cursor: they show text that is still being streamed, each with the `offset` at which it goes, and
 * the item's `item/completed` holds the whole.
 */
import type { Item } from "./item.ts";
import type { SkillList } from "./library.ts";
import type { Json } from "./json.ts";
import type { Action, DiffTotals, PlanStep, Settings, Usage } from "./record.ts";

export type Cursor = string;

export type ItemKind =
  | "agentMessage"
  | "userMessage"
  | "commandExecution"
  | "mcpToolCall"
  | "fileChange"
  | "webSearch"
  | "imageView"
  | "planUpdate"
  | "reasoning"
  | "toolCall"
  | "compaction"
  | "error";

export type CompletedCall = {
  status: "done" | "failed" | "unknown" | "denied";
  output: string;
  exit_code: number | null;
  duration_ms: number | null;
};

export type EventBody =
  | { type: "session/configured"; settings: Settings; title: string | null; source: string; forked_from: string | null }
  | { type: "turn/started"; model_context_window: number | null }
  | { type: "turn/completed"; status: "completed" | "cancelled" | "failed"; duration_ms: number; token_usage: Usage }
  | { type: "turn/failed"; message: string; code: string }
  | { type: "turn/cancelled"; message: string }
  /** Attempt `attempt` failed and is made again, of `max_attempts` times that this is done; null when the log does not say. */
  | { type: "turn/retrying"; attempt: number; max_attempts: number | null; message: string; code: string; retry_at: string | null }
  /** How full the model's window is after a request; null where the window is not known. */
  | { type: "context/updated"; tokens: number; window: number | null; percent: number | null }
  /** About so many tokens of the answer have come; what the server counts replaces it. */
  | { type: "turn/tokens/estimated"; output_tokens: number }
  | { type: "turn/plan/updated"; plan: PlanStep[] }
  | { type: "turn/diff/updated"; summary: DiffTotals; files_modified: string[]; files_created: string[]; files_deleted: string[] }
  | { type: "item/started"; item_id: string; item_kind: ItemKind; item: Item }
  | { type: "item/completed"; item_id: string; item_kind: ItemKind; item: Item; result?: CompletedCall; partial?: true }
  | { type: "item/discarded"; item_id: string; message: string }
  | { type: "item/agentMessage/delta"; item_id: string; delta: string; offset: number }
  | { type: "item/reasoning/delta"; item_id: string; delta: string; kind: "summary" | "raw"; index: number; offset: number }
  /** `by` is set for a command that the user runs. */
  | { type: "item/commandExecution/started"; item_id: string; command: string; cwd: string; by?: "user" }
  /** It only looks: what it reads, lists and searches. */
  | { type: "item/commandExecution/explored"; item_id: string; actions: Action[] }
  | { type: "item/commandExecution/outputDelta"; item_id: string; stream: "stdout" | "stderr"; delta: string; offset: number }
  | { type: "item/toolCall/started"; item_id: string; tool_name: string; args_json: string }
  | { type: "item/toolCall/progress"; item_id: string; message: string }
  | { type: "item/toolCall/completed"; item_id: string; tool_name: string; output_json: string }
  | { type: "approval/requested"; approval_id: string; item_id: string | null; kind: string; body: Json }
  | { type: "approval/resolved"; approval_id: string; answer: Json }
  | { type: "input/queued"; op_id: string; items: Item[]; deliver: string }
  | { type: "input/withdrawn"; op_id: string }
  | { type: "thread/compacted"; old_token_count: number; new_token_count: number; strategy: string | null; trigger: string | null }
  | { type: "thread/restored"; message: string }
  | { type: "thread/rewound"; before: number }
  | { type: "thread/renamed"; title: string | null }
  | { type: "thread/settings"; settings: Partial<Settings> }
  | { type: "thread/reset"; message: string }
  | { type: "thread/closed"; message: string }
  /** The answer to `list_skills`. */
  | ({ type: "skills/listed" } & SkillList)
  | { type: "warning"; message: string }
  | { type: "error"; message: string; code?: string };

export type Event = EventBody & {
  thread_id: string;
  turn_id: string;
  timestamp_ms?: number;
  cursor?: Cursor;
};
