/** Host: what the runtime is given by whoever composes it. It names no implementation. */
import type { Item } from "../protocol/item.ts";
import type { Settings } from "../protocol/record.ts";
import type { Provider } from "../core/provider.ts";
import type { Redactor } from "../core/redact.ts";
import type { Store } from "../core/store.ts";
import type { Tool } from "../core/tool.ts";

export interface Host {
  /** Where threads live. `ephemeral` ones touch no disk. */
  readonly store: Store;
  readonly ephemeral: Store;
  readonly redactor: Redactor;
  readonly pid: number;
  readonly hostname: string;
  now(): number;
  /** Between 0 and 1, for jitter. */
  random(): number;
  /** The provider that settings name, or why there is none. */
  provider(settings: Settings): Promise<{ ok: true; provider: Provider } | { ok: false; code: string; message: string }>;
  /** A recorded conversation, by thread id or path; null when there is none. */
  recording(source: string): Promise<{ inputs: Item[][] } | null>;
  /** Tools and instructions as they are now: recorded in the log at the start of a turn when they differ. */
  context(settings: Settings): Promise<Context>;
}

export interface Context {
  instructions: string;
  tools: readonly Tool[];
}
