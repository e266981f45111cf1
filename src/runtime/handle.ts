/** Handle: what the turn loop and its effects see of their session. */
import type { EventBody } from "../protocol/event.ts";
import type { CallItem } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { AskId, BlobRef, CallId, Draft, LogRecord, ThreadId } from "../protocol/record.ts";
import type { State } from "../core/state.ts";
import type { Store } from "../core/store.ts";
import type { Live } from "./live.ts";

export interface Handle {
  readonly thread: ThreadId;
  readonly state: State;
  readonly store: Store;
  readonly live: Live;
  /** Redact, append, reduce, publish. Throws a StoreFault, after which the session is closed if the log accepts nothing more. */
  commit(drafts: readonly Draft[]): LogRecord[];
  /** Keeps text beside the log, redacted; durable when it resolves. */
  keep(text: string): Promise<BlobRef>;
  /** Keeps bytes beside the log as they are; durable when it resolves. */
  keepBytes(bytes: Uint8Array): Promise<BlobRef>;
  /** The answer to an ask that was opened, once it is given; rejects when the signal aborts. */
  answer(ask: AskId, signal: AbortSignal): Promise<Json>;
  /** Calls as the model sent them, until they have ended: what the log holds of them is redacted. */
  readonly raw: Map<CallId, CallItem>;
  /** Resolves when everything that may be acted on so far is durable. */
  settled(): Promise<void>;
  /** Shows something that is not in the log: deltas, warnings. */
  show(body: EventBody): void;
}
