/** Host: what the runtime is given by whoever composes it. It names no implementation. */
import type { Item } from "../protocol/item.ts";
import type { Settings, ThreadId } from "../protocol/record.ts";
import type { SkillList } from "../protocol/library.ts";
import type { UsageQuery, UsageRow } from "../protocol/usage.ts";
import type { ModelLimits } from "../core/room.ts";
import type { ContextPart } from "../core/context.ts";
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
  /** Threads stay open between turns: what is prepared for the next one is not in vain. */
  readonly lasts: boolean;
  now(): number;
  /** Between 0 and 1, for jitter. */
  random(): number;
  /** The provider that settings name, or why there is none. */
  provider(settings: Settings): Promise<{ ok: true; provider: Provider } | { ok: false; code: string; message: string }>;
  /** A recorded conversation, by thread id or path; null when there is none. */
  recording(source: string): Promise<{ inputs: Item[][] } | null>;
  /** What the requests of all threads have used. */
  usage(query: UsageQuery): Promise<{ rows: UsageRow[]; incomplete: boolean }>;
  /** Tools, instructions and context as they are now: recorded in the log at the start of a turn when they differ. */
  context(given: { thread: ThreadId; settings: Settings; /** What the turn begins with. */ input: readonly Item[] }): Promise<Context>;
  /** What is known of the model that settings name. */
  model(settings: Settings): Promise<ModelLimits>;
  skills(settings: Settings): Promise<SkillList>;
  /** The skills that input names, as context; `context` has those of a turn's first input. */
  usedSkills(given: { settings: Settings; input: readonly Item[] }): Promise<readonly ContextPart[]>;
  /** A thread was closed: what its tools left running ends. */
  closed(thread: ThreadId): Promise<void>;
}

export interface Context {
  instructions: string;
  tools: readonly Tool[];
  parts: readonly ContextPart[];
  /** What the user should know of it: a skill that cannot be read, a file that was cut. */
  warnings: readonly string[];
}
