/**
 * LogRecord: one line of a thread's log. This comment is the specification of the format.
 *
 *   {"v":1,"seq":17,"at":"2026-01-31T09:00:00.000Z","turn":"t…","type":"item.added",…,"crc":"1f2e3d4c"}\n
 *
 * - A log is one file of such lines, UTF-8, each ended by a newline. It is only ever appended to.
 * - `v` is the version of the record's shape. Old versions are upcast on read; a log is never rewritten.
 * - `seq` has no gaps. A root thread starts at 0. A fork's first record takes the seq at which it leaves its base
 *   (`base.before`), so that along any lineage seq strictly grows and names one record.
 * - `at` is the writer's clock and orders nothing: clocks jump, `seq` does not.
 * - `turn` is the turn that the record belongs to.
 * - `crc` is last: CRC-32 (8 lower-case hex digits) of the line's bytes before `,"crc"`, seeded with the CRC-32 of the thread id.
 *   Lines are not chained, so one bad line condemns no other.
 * - A record of an unknown type is kept and written back as read. If it says `"critical":true`, a build that does not know it
 *   opens the thread read-only. A build that writes a carry after such a record raises that record's `v`, so that older builds do not
 *   start from it and miss the other.
 *
 * Thread records always apply. Conversation records apply while they are live: see core/lineage.ts.
 */
import type { Item, MessageItem, Origin, OutputItem } from "./item.ts";
import type { Json } from "./json.ts";

export const LOG_VERSION = 1;

export type ThreadId = string;
export type TurnId = string;
export type ItemId = string;
export type CallId = string;
export type OpId = string;
export type AskId = string;

/** A place in a thread: everything before `before` is included. */
export interface Position {
  thread: ThreadId;
  before: number;
}
/** Content kept beside the log, named by its SHA-256 (hex). */
export interface BlobRef {
  sha256: string;
  bytes: number;
}

export type Source = "interactive" | "exec" | "app-server" | "mcp";
export type ApprovalPolicy = "untrusted" | "on-failure" | "on-request" | "never";
export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access";

/** What a turn runs with. The names are those of the config file, so that one fact has one name. */
export interface Settings {
  model: string;
  model_provider: string;
  cwd: string;
  approval_policy: ApprovalPolicy;
  sandbox_mode: SandboxMode;
  model_reasoning_effort?: string;
  [field: string]: Json | undefined;
}

export interface Usage {
  input_tokens: number;
  cached_tokens?: number;
  /** Part of the input, as on wires that tell. */
  cache_write_tokens?: number;
  output_tokens: number;
  reasoning_tokens?: number;
  total_tokens: number;
}

/** Why a request, a call or a turn did not succeed. `retryable` is the classification made where it happened. */
export interface Failure {
  code: string;
  message: string;
  retryable?: boolean;
  status?: number;
}

/** Where the model-visible history starts: items before `from` are represented by the summary in record `compaction`. */
export interface HistoryBase {
  compaction: number | null;
  from: number;
  /** Where the first items from there on were made, when that is said before. */
  origin?: Origin;
}

/** What was asked, decided and done, from the log: see core/ledger.ts. Files have the start of a hash, or what became of them. */
export interface Ledger {
  asked: string[];
  decided: string[];
  read: Record<string, string>;
  written: Record<string, string>;
  /** Commands with their last exit code. */
  ran: Record<string, number>;
  /** Steps of the plan that are left. */
  open?: string[];
  /** Entries that did not fit. */
  omitted?: number;
}

/** How a turn's history is compacted, where its model or the configuration says so. */
export interface CompactPolicy {
  at?: number;
  strategy?: CompactStrategy;
  /** False: no summary is prepared ahead of time. */
  prepare?: boolean;
}
export type CompactStrategy = "summary" | "user-messages" | "remote";
/** Why history was compacted: it was nearly full, the provider said that it was too long, or somebody asked for it. */
export type CompactTrigger = "auto" | "overflow" | "manual";

/** What a command that only looks does, for people: "Explored". */
export type Action =
  | { type: "read"; path: string }
  | { type: "list"; path: string }
  | { type: "search"; query: string; path: string };

/** The bounds that a call ran in, as decided before it started. */
export interface Envelope {
  cwd: string;
  sandbox: SandboxMode;
}

export type FileState =
  | { kind: "absent" }
  | { kind: "file"; hash: string; mode: number; content?: BlobRef }
  | { kind: "symlink"; target: string };

/** A text that is valid UTF-8, or base64 of bytes that are not. Paths and outputs of a Unix system may be either. */
export type Bytes = string | { base64: string };

export interface DiffTotals {
  files_modified: number;
  files_created: number;
  files_deleted: number;
  total_additions: number;
  total_deletions: number;
}

/** `loop`: it compacts again and again without getting on. `summary`: a summary to look at before it takes effect. */
export type AskKind = "approval" | "escalation" | "elicitation" | "loop" | "summary";
export type Deliver = "steer" | "next";
export type CallStatus = "done" | "failed" | "unknown" | "denied";
export type TurnOutcome = "completed" | "cancelled" | "failed";

export type ThreadBody =
  | {
      type: "thread.created";
      id: ThreadId;
      base: Position | null;
      source: Source;
      settings: Settings;
      /** Sealed by import: the lines of the original had no checksums. */
      unverified?: true;
    }
  | { type: "thread.described"; op?: OpId; title?: string; tags?: string[] }
  | { type: "settings.changed"; op: OpId; settings: Partial<Settings> }
  | { type: "writer.opened"; epoch: number; pid: number; host: string }
  | { type: "writer.closed" }
  | { type: "grant.added"; op: OpId; grant: string; pattern: Json }
  | { type: "grant.revoked"; op: OpId; grant: string }
  | { type: "file.changed"; call: CallId | null; path: Bytes; before: FileState; after: FileState }
  | { type: "state.saved"; carry: Carry };

export type TalkBody =
  /** `schema` is the JSON Schema that the answer to this input must follow. */
  | { type: "input.queued"; op: OpId; items: Item[]; deliver: Deliver; schema?: Json }
  | { type: "input.changed"; op: OpId; input: OpId; items: Item[] }
  | { type: "input.withdrawn"; op: OpId; input: OpId }
  /** Takes queued input into history; `from` is the record that holds its items. */
  | { type: "input.taken"; op: OpId; from: number }
  /** Each item names in `context` what it is about, and its text is a blob: see core/context.ts. */
  | { type: "context.changed"; instructions: BlobRef; tools: BlobRef; items: Item[] }
  /** Opens a turn and takes the queued inputs whose items are in the records `inputs`. `window`: the model's, in tokens, if it is known. */
  | { type: "turn.started"; inputs: number[]; window?: number; compact?: CompactPolicy }
  | { type: "turn.interrupted"; op: OpId }
  | { type: "turn.continued"; op: OpId }
  /** `origin` is left out when it is that of the sample before. */
  | { type: "sample.started"; attempt?: number; purpose?: "compact"; origin?: Origin }
  /** A failure that can be retried says how often that is done (`retries`) and not before when. */
  | { type: "sample.ended"; sample: number; status: "done" | "failed" | "lost"; usage?: Usage; failure?: Failure; retries?: number; retryAt?: string }
  | { type: "item.added"; id: ItemId; item: Item; partial?: true }
  /** Items that a provider refuses are no longer sent; with `images`, only their images. */
  | { type: "item.dropped"; items: ItemId[]; part?: "images"; why: string }
  | { type: "ask.opened"; ask: AskId; call?: CallId; kind: AskKind; body: Json }
  | { type: "ask.answered"; op: OpId; ask: AskId; answer: Json }
  | { type: "ask.withdrawn"; ask: AskId; why: string }
  | { type: "call.requested"; op: OpId; call: CallId; by: "user"; command: string }
  | { type: "call.started"; call: CallId; tool: string; envelope: Envelope; actions?: Action[] }
  /** The output of the user's own command is a message: no call of the model stands for it. */
  | { type: "call.ended"; call: CallId; tool: string; status: CallStatus; output: OutputItem | MessageItem; full?: BlobRef; exit?: number; ms?: number; reads?: { path: string; hash: string }[] }
  | { type: "plan.changed"; plan: PlanStep[] }
  /** Somebody asks for a compaction. `review`: its summary is shown and may be changed before it takes effect. */
  | { type: "compaction.requested"; op: OpId; instructions?: string; review?: true }
  /** A summary of everything before `before`, made ahead of time; without `summary` it did not succeed. */
  | { type: "summary.prepared"; before: number; summary?: BlobRef; usage?: Usage; failure?: Failure }
  /** Everything before `keepFrom` is from now on represented by `summary` and `ledger`. What is kept is not written again. */
  | {
      type: "history.compacted";
      summary: Item[];
      /** Where the opaque items of the summary were made. */
      madeBy?: Origin;
      /** Keys of context that does not come back: it is told again when it is used again. */
      forgets?: string[];
      ledger?: Ledger;
      keepFrom: number;
      origin?: Origin;
      previous: HistoryBase;
      tokens: { before: number; after: number };
      strategy?: CompactStrategy;
      trigger?: CompactTrigger;
      carry: Carry;
    }
  | { type: "history.restored"; op: OpId; compaction: number; base: HistoryBase }
  | { type: "thread.rewound"; op: OpId; before: number; carry: Carry }
  | { type: "turn.ended"; status: TurnOutcome; failure?: Failure; diff?: BlobRef; totals?: DiffTotals };

export interface PlanStep {
  step: string;
  status: "pending" | "in_progress" | "completed";
}

export type Body = ThreadBody | TalkBody;

/** A record of a type that this build does not know, kept as read. */
export interface UnknownBody {
  type: string;
  [field: string]: unknown;
}

export interface Stamp {
  v: number;
  seq: number;
  at: string;
  turn?: TurnId;
  critical?: true;
}
/** What a writer hands in: a body and the turn that it belongs to. The log adds `v`, `seq` and `at`. */
export type Draft = (Body | UnknownBody) & { turn?: TurnId; critical?: true };
export type KnownRecord = Stamp & Body;
export type LogRecord = KnownRecord | (Stamp & UnknownBody);

/**
 * Carry: the small state that history alone cannot give back, embedded where opening may start (`state.saved`,
 * `history.compacted`, `thread.rewound`). It is bounded: nothing in it grows with the length of the conversation, except the
 * queue and what is open, which the user bounds.
 */
export interface Carry {
  thread: ThreadPart;
  talk: TalkPart;
}

/** Small state that always applies, whatever is rewound. */
export interface ThreadPart {
  id: ThreadId;
  base: Position | null;
  source: Source;
  createdAt: string;
  title: string | null;
  tags: string[];
  settings: Settings;
  epoch: number;
  grants: { grant: string; pattern: Json; epoch: number }[];
  /** The last op ids, newest last: a retried op acts once. */
  ops: OpId[];
  usage: Usage;
  /** Turns ever ended in this thread with a diff: diffs/NNN.diff is never used twice. */
  diffs: number;
}

/** Small state of the live conversation. */
export interface TalkPart {
  history: HistoryBase;
  preview: string | null;
  updatedAt: string;
  turns: number;
  userMessages: number;
  turn: OpenTurn | null;
  lastTurn: { id: TurnId; status: TurnOutcome } | null;
  queue: QueuedInput[];
  /** A new writer found input that waits: like a parked turn, it goes on when somebody says so. */
  held?: true;
  /** Somebody interrupted while its turn was being opened. */
  cancels?: true;
  asks: OpenAsk[];
  /** The user's own commands that have not ended. */
  requested?: RequestedCall[];
  plan: PlanStep[];
  /** What the model is told beside the conversation; `parts`: the texts in force, by key. */
  context: { instructions: BlobRef; tools: BlobRef; parts?: Record<string, BlobRef> } | null;
  origin: Origin | null;
  /** Tokens of the last request and its answer: what the next request will at least hold. */
  tokens: number;
  /** The record up to which `tokens` counts. */
  tokensAt?: number;
  /** What the last turn's start said of its model. */
  model?: { window?: number; compact?: CompactPolicy };
  /** A compaction that was asked for. */
  compaction?: { instructions?: string; review?: true };
  prepared?: { before: number; summary: BlobRef | null };
  /** How often history was compacted without getting on: no input, no file changed, no call that had not succeeded before. */
  loop?: { compactions: number; progress: boolean; seen: number[] };
}

export interface QueuedInput {
  op: OpId;
  seq: number;
  items: Item[];
  deliver: Deliver;
  schema?: Json;
}
export interface OpenAsk {
  ask: AskId;
  call: CallId | null;
  kind: AskKind;
  body: Json;
  /** Set once it is answered, until the call that asked has ended. */
  answer?: Json;
}
export interface RequestedCall {
  call: CallId;
  command: string;
  started: boolean;
  interrupted?: true;
}
export interface OpenCall {
  call: CallId;
  tool: string;
  /** Where its item is. */
  seq: number;
  started: boolean;
  /** Of what is called with which arguments: tells a call that succeeded before (core/loop.ts). */
  digest?: number;
}
export interface OpenTurn {
  id: TurnId;
  seq: number;
  startedAt: string;
  settings: Settings;
  parked: boolean;
  interrupted: boolean;
  sample: { seq: number; attempt: number; purpose: "work" | "compact" } | null;
  /** Failed attempts since the last success. */
  failures: number;
  failure: Failure | null;
  retryAt: string | null;
  /** How often the last failure is retried, where its record says so. */
  retries?: number;
  /** There is something in history that the model has not answered yet. */
  due: boolean;
  calls: OpenCall[];
  schema?: Json;
  samples: number;
  usage: Usage;
  /** Compactions since a request was last answered. */
  squeezes?: number;
}
