/** The tools that come with Skein. */
import type { Tool } from "../core/tool.ts";
import type { EnvironmentPolicy, Variables } from "./environment.ts";
import { execCommand } from "./exec.ts";
import { withPatches } from "./exec-patch.ts";
import { writeStdin } from "./exec-write.ts";
import { fileTools } from "./files/file-tools.ts";
import type { Rule } from "./policy/rules.ts";
import { createProcesses, type Processes } from "./processes.ts";

export interface BuiltinOptions {
  /** Skein's own folder. */
  home: string;
  env: Variables;
  platform: NodeJS.Platform;
  /** `[sandbox_workspace_write]`: folders that are writable besides the working one, and whether there is a network. */
  sandbox?: { writableRoots?: readonly string[]; network?: boolean };
  /** `[shell_environment_policy]` */
  environment?: EnvironmentPolicy;
  /** `tool_output_token_limit` */
  outputTokens?: number;
  /** The commands that go on between calls; whoever gives it closes it. */
  processes?: Processes;
  /** `[[rules]]` */
  rules?: readonly Rule[];
}

const OUTPUT_TOKENS = 10_000;

export function builtinTools({ home, env, platform, sandbox = {}, environment = {}, outputTokens = OUTPUT_TOKENS, processes = createProcesses(), rules = [] }: BuiltinOptions): readonly Tool[] {
  const { writableRoots = [], network = false } = sandbox;
  const running = { home, env, platform, sandbox: { writableRoots, network }, environment, outputTokens, processes, rules };
  const files = fileTools({ home, env, platform, sandbox: { writableRoots }, outputTokens });
  const patch = files.find(({ name }) => name === "apply_patch")!;
  return [withPatches(execCommand(running), patch), writeStdin(running), ...files];
}
