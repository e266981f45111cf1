/**
 * Op: what a client asks of a thread. Every op has an id made by the client; an op that arrives twice acts once.
 * An op is accepted (its records are durable) or refused with a reason; it never half happens.
 */
import type { Item } from "./item.ts";
import type { Json } from "./json.ts";
import type { AskId, CallId, Deliver, OpId, Settings, TurnId } from "./record.ts";

export type OpBody =
  /** `replaces`: queued inputs that this one takes the place of, in the same step. */
  | { type: "user_input"; items: Item[]; deliver?: Deliver; output_schema?: Json; replaces?: OpId[] }
  | { type: "change_input"; input: OpId; items: Item[] }
  | { type: "withdraw_input"; input: OpId }
  /** With `turn`, only that one: a late retry never hits the next. */
  | { type: "interrupt"; turn?: TurnId }
  | { type: "continue" }
  /** To an approval: `{ decision: "yes" | "session" | "no", reason? }`. */
  | { type: "answer"; ask: AskId; answer: Json }
  | { type: "revoke_grant"; grant: string }
  | { type: "rewind"; before: number }
  | { type: "override_settings"; settings: Partial<Settings> }
  | { type: "describe"; title?: string; tags?: string[] }
  | { type: "run_user_shell_command"; call: CallId; command: string }
  /** `review`: the summary is put up as an ask (kind `summary`) and takes effect as it is answered: `{ decision: "yes", text? }`. */
  | { type: "compact"; instructions?: string; review?: true }
  /** Takes the last compaction back: the next request holds the full history again. */
  | { type: "restore_history" }
  | { type: "undo" }
  | { type: "list_skills" };

export type Op = { id: OpId } & OpBody;

export interface Refusal {
  code: "not_found" | "bad_request" | "busy" | "read_only" | "unsupported" | "failed";
  message: string;
}
