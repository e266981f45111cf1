/** Handle: what the turn loop and its effects see of their session. */
import type { EventBody } from "../protocol/event.ts";
import type { BlobRef, Draft, LogRecord, ThreadId } from "../protocol/record.ts";
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
  /** Resolves when everything that may be acted on so far is durable. */
  settled(): Promise<void>;
  /** Shows something that is not in the log: deltas, warnings. */
  show(body: EventBody): void;
}
