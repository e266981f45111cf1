/** What is told of threads: listing, searching, what one is doing now. */
import type { Json } from "./json.ts";
import type { ApprovalPolicy, AskId, AskKind, CallId, CompactStrategy, OpId, PlanStep, Position, SandboxMode, Settings, Source, ThreadId, TurnId, Usage } from "./record.ts";

export type ThreadStatus = "new" | "active" | "paused" | "complete";

/** What is known of a thread without opening it: the content of its metadata.json. */
export interface ThreadSummary {
  id: ThreadId;
  title: string | null;
  preview: string | null;
  created_at: string;
  updated_at: string;
  model: string;
  model_provider: string;
  cwd: string;
  session_source: Source;
  status: ThreadStatus;
  resumed: boolean;
  forked: boolean;
  approval_policy: ApprovalPolicy;
  sandbox_mode: SandboxMode;
  total_tokens: number;
  turns: number;
  parent: Position | null;
}

export interface ListQuery {
  limit?: number;
  cursor?: string | null;
  source?: Source[];
  provider?: string[];
  cwd?: string;
  archived?: boolean;
  text?: string;
}
export interface SearchQuery {
  text: string;
  /** Let the index catch up first, however long that takes. */
  wait?: boolean;
  limit?: number;
  cursor?: string | null;
}
export interface SearchHit {
  thread: ThreadId;
  seq: number;
  kind: "user" | "assistant" | "command" | "output" | "diff" | "title";
  at: string;
  snippet: string;
}
export interface Page<T> {
  items: T[];
  next: string | null;
  /** The index has not caught up: there may be more than what is shown. */
  incomplete: boolean;
}

/** Where an open turn is. `parked`: nobody runs it. */
export type TurnState = "processing" | "compacting" | "retrying" | "awaiting_approval" | "awaiting_tool_result" | "parked";

/** A thread that is open here, as it is now. */
export interface LiveStatus {
  status: ThreadStatus;
  turn: { id: TurnId; state: TurnState; started_at: string; usage: Usage } | null;
  /** A compaction was asked for and is not done yet. */
  compacting: boolean;
  asks: { ask: AskId; call: CallId | null; kind: AskKind; body: Json }[];
  /** What was allowed for the session; `revoke_grant` takes it back. */
  grants: { grant: string; text: string; sandbox: SandboxMode }[];
  queued: OpId[];
  plan: PlanStep[];
  usage: Usage;
  /** How full the model's window is: about so many tokens in the next request. */
  context: { tokens: number; window: number | null; limit: number; percent: number | null; compacted: boolean };
  settings: Settings;
}

/** What a compaction now would do. */
export interface CompactionPreview {
  goes: { turns: number; items: number; tokens: number };
  stays: { turns: number; items: number; tokens: number };
  tokens: { before: number; /** At most: the summary is not written yet. */ after: number };
  strategy: CompactStrategy;
  window: number | null;
  limit: number;
  /** What the model will be shown of what was done, beside the summary. */
  ledger: string;
}

/** The skills that a thread may use. `path` is that of its SKILL.md. */
export interface SkillList {
  skills: { name: string; description: string; path: string; origin: "user" | "repository" }[];
  warnings: string[];
}
