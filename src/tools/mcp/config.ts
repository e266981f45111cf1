/** What is configured of a server: `[mcp_servers.NAME]`, under the names that the file has. */

/** auto: as the tool describes itself. prompt: the user is asked. approve: never asked. */
export type ApprovalMode = "auto" | "prompt" | "approve";

/** Either `command` (stdio) or `url` (streamable HTTP) is set. */
export interface ServerConfig {
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Variables of our own environment that the server sees too. */
  readonly env_vars?: readonly string[];
  readonly cwd?: string;
  readonly url?: string;
  readonly bearer_token_env_var?: string;
  readonly http_headers: Readonly<Record<string, string>>;
  readonly startup_timeout_sec: number;
  readonly tool_timeout_sec: number;
  readonly enabled: boolean;
  /** Absent: all of them. */
  readonly enabled_tools?: readonly string[];
  readonly disabled_tools: readonly string[];
  readonly default_tools_approval_mode?: ApprovalMode;
  readonly tools?: Readonly<Record<string, { readonly approval_mode?: ApprovalMode }>>;
}

export function approvalMode(config: ServerConfig, tool: string): ApprovalMode {
  const own = config.tools !== undefined && Object.hasOwn(config.tools, tool) ? config.tools[tool]?.approval_mode : undefined;
  return own ?? config.default_tools_approval_mode ?? "auto";
}

export function isToolEnabled(config: ServerConfig, tool: string): boolean {
  return (config.enabled_tools?.includes(tool) ?? true) && !config.disabled_tools.includes(tool);
}
