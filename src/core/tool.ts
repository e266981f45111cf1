/** Tool: the port behind which the agent's abilities live. Types only. */
import type { Json } from "../protocol/json.ts";
import type { BlobRef, Bytes, FileState, SandboxMode } from "../protocol/record.ts";

/** What running a tool may do to the world: reads run together, the others alone. */
export type Effect = "read" | "write" | "exec";

/** What the model is told of a tool. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Json;
}

export interface Tool extends ToolSpec {
  readonly effect: Effect;
  /** Other names that models know it by. */
  readonly aliases?: readonly string[];
  /** Never throws for what the model or the user did wrong: that is an outcome with status `failed`. */
  run(input: unknown, host: ToolHost): Promise<ToolOutcome>;
}

export interface ToolHost {
  readonly cwd: string;
  readonly sandbox: SandboxMode;
  readonly signal: AbortSignal;
  emit(delta: ToolDelta): void;
  /** Keeps text beside the log, redacted. */
  keep(text: string): Promise<BlobRef>;
}
export interface ToolDelta {
  stream: "stdout" | "stderr";
  text: string;
}

export interface ToolOutcome {
  status: "done" | "failed";
  /** What the model reads. */
  output: string;
  exit?: number;
  full?: BlobRef;
  changes?: { path: Bytes; before: FileState; after: FileState }[];
}
