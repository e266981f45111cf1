/**
 * Tool: the port behind which the agent's abilities live. Types only.
 *
 * A call is assessed before it is started: the tool says what the call would do, core/approval.ts decides whether it may, and the
 * runtime records it. Then it runs, at most once, within the bounds that `host.sandbox` names.
 */
import type { ContentPart } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { Action, ApprovalPolicy, BlobRef, Bytes, CallId, FileState, PlanStep, SandboxMode, ThreadId } from "../protocol/record.ts";

/** What running a tool may do to the world: reads run together, the others alone. */
export type Effect = "read" | "write" | "exec";

/** What the model is told of a tool. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Json;
  /**
   * Where model and wire have free-form tools, the call is one text in this grammar. It arrives as `{ input: text }`; `parameters` must
   * therefore describe an object with one string, `input`.
   */
  readonly freeform?: { readonly syntax: "lark" | "regex"; readonly definition: string };
}

export interface Tool extends ToolSpec {
  readonly effect: Effect;
  /** Other names that models know it by. */
  readonly aliases?: readonly string[];
  /** What a call would do. Without it nothing of the tool ever needs approval. Never throws. */
  readonly assess?: (input: unknown, host: AssessHost) => Promise<Assessment>;
  /** Never throws for what the model or the user did wrong: that is an outcome with status `failed`. */
  run(input: unknown, host: ToolHost): Promise<ToolOutcome>;
}

export interface AssessHost {
  readonly thread: ThreadId;
  readonly cwd: string;
  readonly sandbox: SandboxMode;
  readonly approval: ApprovalPolicy;
}

/** What a call would do, as far as that can be told before it is done. */
export interface Assessment {
  /** It changes nothing and reveals nothing to anybody but the model: decided on what was fully understood, else false. */
  readonly safe: boolean;
  /** The strictest rule of the configuration that matches; null: none. */
  readonly rule: "allow" | "ask" | "deny" | null;
  /** Why it is asked about where no rule names it. */
  readonly ruleWhy?: string;
  /** Why it must leave the sandbox: the model's own words, or what lies outside. Null: it stays inside. */
  readonly outside: string | null;
  /** The exact command, diff or arguments, as the user is asked about them. */
  readonly shown: Shown;
  /**
   * What "for this session" would allow: a later call is covered when each of its keys is in a grant. Null: not fully understood, so
   * it can be allowed once only.
   */
  readonly grant: { readonly keys: readonly string[]; readonly text: string } | null;
  /** What a command reads, lists and searches, for people. */
  readonly actions?: readonly Action[];
}
export type Shown =
  | { readonly kind: "command"; readonly command: string; readonly cwd: string }
  | { readonly kind: "patch"; readonly diff: string; readonly paths: readonly string[] }
  | { readonly kind: "tool"; readonly tool: string; readonly arguments: Json };

export interface ToolHost {
  readonly thread: ThreadId;
  readonly call: CallId;
  readonly cwd: string;
  readonly sandbox: SandboxMode;
  readonly signal: AbortSignal;
  emit(delta: ToolDelta): void;
  /** Keeps text beside the log, redacted. */
  keep(text: string): Promise<BlobRef>;
  /** Keeps bytes beside the log as they are: pre-images and pictures. Durable when it resolves. */
  keepBytes(bytes: Uint8Array): Promise<BlobRef>;
  /** What `keep` or `keepBytes` of this thread kept; null: nothing of that name. */
  readKept(sha256: string): Promise<Uint8Array | null>;
  /** Puts a question to the user and waits for the answer; rejects when the call is aborted. */
  ask(body: Json): Promise<Json>;
}
export interface ToolDelta {
  stream: "stdout" | "stderr";
  text: string;
}

export interface ToolOutcome {
  status: "done" | "failed";
  /** What the model reads. An image is `{ type: "input_image", image_url: "blob:<sha256>" }`, kept by `keepBytes`. */
  output: string | ContentPart[];
  exit?: number;
  full?: BlobRef;
  changes?: { path: Bytes; before: FileState; after: FileState }[];
  /** Files that it read, with the SHA-256 (hex) of what was in them. */
  reads?: { path: string; hash: string }[];
  /** The plan as it is now, where the call changed it. */
  plan?: PlanStep[];
  /** The sandbox stood in its way: `what` for people, and the path if one is known. */
  denied?: { what: string; path?: string };
}

/** Where tools come from: MCP servers, an embedder. The list is frozen during a turn; late tools join at the next. */
export interface ToolSource {
  tools(): Promise<readonly Tool[]>;
  /** Told when a thread is closed, so that what belongs to it ends with it. */
  closed(thread: ThreadId): Promise<void>;
  close(): Promise<void>;
}
