/** Provider: the port behind which models live. Types only. */
import type { Item, Origin } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { Failure, ThreadId, Usage } from "../protocol/record.ts";
import type { BlobReader } from "./store.ts";
import type { ToolSpec } from "./tool.ts";
import type { VisibleItem } from "./history.ts";

/** One request, wire-neutral. The same request gives the same bytes on the wire. */
export interface ModelRequest {
  thread: ThreadId;
  model: string;
  instructions: string;
  tools: readonly ToolSpec[];
  input: readonly VisibleItem[];
  effort: string | null;
  /** The provider's own web search, where it has one. */
  webSearch: "cached" | "live" | null;
  /** `none`: tools are named, so that the request begins like the others, and must not be called. */
  toolChoice: "auto" | "none";
  /** JSON Schema that the answer must follow. */
  schema?: Json;
}

export type ModelEvent =
  | { type: "item.started"; index: number; item: Item }
  | { type: "text.delta"; index: number; delta: string }
  | { type: "reasoning.delta"; index: number; delta: string; kind: "summary" | "raw"; part: number }
  | { type: "item.done"; index: number; item: Item }
  /** Something that the user should know; not part of the answer. */
  | { type: "notice"; message: string }
  | { type: "done"; usage: Usage | null }
  | { type: "failed"; failure: Failure; retryAfterMs: number | null; /** What it cost all the same. */ usage?: Usage };

export interface Provider {
  readonly name: string;
  /** How often a failed request is worth trying again. */
  readonly retries: number;
  /** The same for a request that was refused before its answer began, or found nobody. */
  readonly requestRetries: number;
  origin(model: string): Origin;
  /** Never throws for trouble of model or network: the last event is `done` or `failed`. */
  stream(request: ModelRequest, host: RequestHost): AsyncIterable<ModelEvent>;
  /** The provider's own way to make a conversation shorter; null where it has none. Never throws either. */
  readonly remoteCompact: RemoteCompact | null;
}

export interface RequestHost {
  signal: AbortSignal;
  blobs: BlobReader;
}
export type RemoteCompact = (request: ModelRequest, host: RequestHost) => Promise<Compacted>;
/** `items` stand for the whole conversation that was sent; what is opaque in them goes back only to the same place. */
export type Compacted = { ok: true; items: Item[]; usage: Usage | null } | { ok: false; failure: Failure; retryAfterMs: number | null };
