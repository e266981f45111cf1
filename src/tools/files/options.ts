/** What the file tools are made with. */
import type { SandboxMode } from "../../protocol/record.ts";
import type { Variables } from "../environment.ts";

export interface FileToolOptions {
  /** Skein's own folder, which the model does not see, except for its skills. */
  home: string;
  env: Variables;
  platform: NodeJS.Platform;
  sandbox: { writableRoots: readonly string[] };
  /** Of output that the model gets, at about four bytes a token. */
  outputTokens: number;
}

/** Of a call's host: where it works and within which bounds. */
export interface Within {
  readonly cwd: string;
  readonly sandbox: SandboxMode;
}
