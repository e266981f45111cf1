/**
 * Config: every setting, resolved, under the names that the file has (Codex's where Codex has one), so that one fact has one name.
 * Tables whose keys people choose (providers, servers, projects, variables) have no prototype: looking up any name is safe.
 */
import type { ModelOverride } from "../core/models.ts";
import type { ApprovalPolicy, SandboxMode } from "../protocol/record.ts";

export const SANDBOX_MODES = ["read-only", "workspace-write", "danger-full-access"] as const satisfies readonly SandboxMode[];
export const APPROVAL_POLICIES = ["untrusted", "on-failure", "on-request", "never"] as const satisfies readonly ApprovalPolicy[];
export const WIRE_APIS = ["responses", "chat", "messages"] as const;
export const WEB_SEARCH = ["disabled", "cached", "live"] as const;
export const REASONING_SUMMARIES = ["auto", "concise", "detailed", "none"] as const;
export const INHERIT = ["none", "core", "all"] as const;
export const PERSISTENCE = ["save-all", "none"] as const;
export const COMPACT_STRATEGIES = ["summary", "user-messages", "remote"] as const;
export const DECISIONS = ["allow", "ask", "deny"] as const;
export const TOOL_APPROVALS = ["auto", "prompt", "approve"] as const;
export const TRUST_LEVELS = ["trusted", "untrusted"] as const;

export type Mode = "exec" | "interactive";

export interface ModelProvider {
  name: string;
  base_url: string;
  /** The variable that holds the key; none: the server wants no key. */
  env_key?: string;
  wire_api: (typeof WIRE_APIS)[number];
  http_headers: Record<string, string>;
  query_params: Record<string, string>;
  request_max_retries: number;
  stream_max_retries: number;
  stream_idle_timeout_ms: number;
}

/** Either `command` (stdio) or `url` (streamable HTTP) is set, never both. */
export interface McpServer {
  command?: string;
  args: string[];
  env: Record<string, string>;
  /** Variables of the user's own environment that the server sees too. */
  env_vars?: string[];
  cwd?: string;
  url?: string;
  bearer_token_env_var?: string;
  http_headers: Record<string, string>;
  startup_timeout_sec: number;
  tool_timeout_sec: number;
  enabled: boolean;
  /** Absent: all of them. */
  enabled_tools?: string[];
  disabled_tools: string[];
  /** auto: as each tool describes itself; prompt: the user is asked; approve: never asked. */
  default_tools_approval_mode?: (typeof TOOL_APPROVALS)[number];
  tools?: Record<string, { approval_mode?: (typeof TOOL_APPROVALS)[number] }>;
}

/** Rules of all layers apply together; the strictest that matches wins. */
export interface Rule {
  argv_prefix: string[];
  decision: (typeof DECISIONS)[number];
}

export interface Config {
  model?: string;
  model_provider?: string;
  model_providers: Record<string, ModelProvider>;
  openai_base_url?: string;
  model_reasoning_effort?: string;
  model_reasoning_summary?: (typeof REASONING_SUMMARIES)[number];
  model_context_window?: number;
  model_auto_compact_token_limit?: number;
  /** What is known of models, by their names: it counts before what is built in. */
  models: Record<string, ModelOverride>;
  /** Told to the model in every thread. */
  developer_instructions?: string;
  /** What AGENTS.md files may take together; 0: they are not read. */
  project_doc_max_bytes: number;
  tool_output_token_limit: number;
  web_search: (typeof WEB_SEARCH)[number];
  approval_policy: ApprovalPolicy;
  sandbox_mode: SandboxMode;
  sandbox_workspace_write: {
    writable_roots: string[];
    network_access: boolean;
    exclude_tmpdir_env_var: boolean;
    exclude_slash_tmp: boolean;
  };
  shell_environment_policy: {
    inherit: (typeof INHERIT)[number];
    ignore_default_excludes: boolean;
    exclude: string[];
    include_only: string[];
    set: Record<string, string>;
  };
  mcp_servers: Record<string, McpServer>;
  history: {
    persistence: (typeof PERSISTENCE)[number];
    /** Turns kept. */
    max_size: number;
    sensitive_patterns: string[];
  };
  /** `strategy` absent: by model. */
  compact: { strategy?: (typeof COMPACT_STRATEGIES)[number]; keep_turns: number; /** A summary is made ahead of time when the limit is near. */ prepare: boolean };
  tui: { resume_picker_limit: number };
  rules: Rule[];
  /** The profile in use. */
  profile?: string;
  /** The names of all profiles. */
  profiles: string[];
  projects: Record<string, { trust_level: (typeof TRUST_LEVELS)[number] }>;
}

/** From the weakest to the strongest. */
export type Layer = "default" | "home" | "repository" | "profile" | "override" | "flag";

/** Where a value came from. `name` is the flag, the profile or what a default depends on. */
export interface Origin {
  layer: Layer;
  name?: string;
  file?: string;
  line?: number;
}

/** As people read it: `~/.skein/config.toml:12`, `--sandbox`, `built in (untrusted folder)`. */
export function originText(origin: Origin): string {
  const place = origin.file === undefined ? "" : origin.line === undefined ? origin.file : `${origin.file}:${origin.line}`;
  switch (origin.layer) {
    case "default":
      return origin.name === undefined ? "built in" : `built in (${origin.name})`;
    case "profile":
      return place === "" ? `profile ${origin.name}` : `${place} (profile ${origin.name})`;
    case "home":
    case "repository":
      return place;
    case "override":
    case "flag":
      return origin.name ?? origin.layer;
  }
}

/** One value of one layer. Lists are whole values; a table that is empty stands for itself. */
export interface Leaf {
  path: readonly string[];
  value: Value;
  origin: Origin;
}
export type Value = string | number | boolean | readonly string[] | Rule | Readonly<Record<string, never>>;

/** Something a person should know. `unknown` is refused in strict mode, `warning` never. */
export interface Problem {
  severity: "error" | "unknown" | "warning";
  at: Origin;
  text: string;
}
