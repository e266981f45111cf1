/**
 * The methods that a server answers, and the messages that carry them. One message is one JSON object: a request has `id` and
 * `method`, a response `id` and `result` or `error`, a notification only `method`.
 */
import type { Cursor, Event } from "./event.ts";
import type { Item } from "./item.ts";
import type { Op, Refusal } from "./op.ts";
import type { BlobRef, OpId, Settings, Source, ThreadId, Usage } from "./record.ts";
import type { CompactionPreview, ListQuery, LiveStatus, Page, SearchHit, SearchQuery, ThreadSummary } from "./library.ts";
import type { UsageQuery, UsageRow } from "./usage.ts";

export interface Methods {
  "thread/start": { params: { source: Source; settings: Settings; ephemeral?: boolean }; result: { thread: ThreadId } };
  "thread/resume": { params: { thread: ThreadId }; result: ResumedThread };
  "thread/fork": { params: { thread: ThreadId; before?: number; nthUserMessage?: number; source: Source }; result: { thread: ThreadId } };
  "thread/close": { params: { thread: ThreadId }; result: Record<string, never> };
  "thread/find": { params: { prefix: string }; result: { threads: ThreadId[] } };
  "thread/last": { params: { cwd?: string }; result: { thread: ThreadId | null } };
  "thread/list": { params: ListQuery; result: Page<ThreadSummary> };
  "thread/search": { params: SearchQuery; result: Page<SearchHit> };
  /** What a thread is doing, as far as its log says. */
  "thread/status": { params: { thread: ThreadId }; result: LiveStatus };
  /** What compacting it now would do. */
  "thread/previewCompaction": { params: { thread: ThreadId; /** Beside the thread's own. */ settings?: Partial<Settings> }; result: CompactionPreview };
  "thread/op": { params: { thread: ThreadId; op: Op }; result: { cursor: Cursor } };
  "thread/subscribe": { params: { thread: ThreadId; after: Cursor | null }; result: { subscription: string } };
  "thread/unsubscribe": { params: { subscription: string }; result: Record<string, never> };
  /** Keeps content beside the thread's log, to be named by items as `blob:<sha256>`. */
  "blob/put": { params: { thread: ThreadId; base64: string }; result: BlobRef };
  /** What the user said, turn by turn, in a recording: a thread's id or the path of a log. */
  "recording/read": { params: { source: string }; result: { inputs: Item[][] } };
  /** What the requests of all threads have used, by day, model and folder. */
  "usage/read": { params: UsageQuery; result: { rows: UsageRow[]; incomplete: boolean } };
  "owner/release": { params: { thread: ThreadId }; result: Record<string, never> };
}

export interface ResumedThread {
  thread: ThreadId;
  settings: Settings;
  title: string | null;
  /** The turn that a crash or a closed process left open, if any: nothing runs until it is continued, answered or cancelled. */
  parked: string | null;
  /** Input that was accepted and never taken, oldest first: it waits, too, until somebody sends more input or continues. */
  queued: { op: OpId; items: Item[] }[];
  /** What all turns so far have used. */
  usage: Usage;
  /** Where the thread is now: subscribe after it to see only what follows. */
  cursor: Cursor;
  /** What was found and mended while opening. */
  repairs: string[];
}

export type Method = keyof Methods;
export type Params<M extends Method> = Methods[M]["params"];
export type Result<M extends Method> = Methods[M]["result"];

export interface Request {
  id: number | string;
  method: string;
  params?: unknown;
}
export interface Response {
  id: number | string;
  result?: unknown;
  error?: RpcError;
}
/** An event of a subscription; `end` says that no more will come and why. */
export type Notification =
  | { method: "event"; params: { subscription: string; event: Event } }
  | { method: "end"; params: { subscription: string; reason: string } };

export interface RpcError {
  code: number;
  message: string;
  data?: { refusal?: Refusal; owner?: Owner };
}

/** Who holds a thread for writing. */
export interface Owner {
  pid: number;
  host: string;
  since: string;
  socket: string | null;
}

export type Message = Request | Response | Notification;

export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  badParams: -32602,
  internal: -32603,
  overload: -32001,
  refused: -32000,
  busy: -32002,
  notFound: -32004,
} as const;
