/** What listing and searching take and give. */
import type { ApprovalPolicy, Position, SandboxMode, Source, ThreadId } from "./record.ts";

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
