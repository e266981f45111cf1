/** Defaults: what holds when nobody says anything. Nothing here is contacted unless it is chosen (choose.ts). */
import type { Leaf, McpServer, Mode, ModelProvider, Value } from "./config.ts";

/** Played back from a recording; it has no server, so there is no table for it. */
export const REPLAY = "replay";

/** The model of a provider when none is named: the one that its maker recommends for everyday coding. */
export const DEFAULT_MODELS: Readonly<Record<string, string>> = { openai: "gpt-6.1-sol", anthropic: "claude-sonnet-5-5", [REPLAY]: REPLAY };

export const PROVIDER_DEFAULTS = {
  wire_api: "responses",
  http_headers: {},
  query_params: {},
  request_max_retries: 4,
  stream_max_retries: 5,
  stream_idle_timeout_ms: 300_000,
} satisfies Partial<ModelProvider>;

export const SERVER_DEFAULTS = {
  args: [],
  env: {},
  http_headers: {},
  startup_timeout_sec: 10,
  tool_timeout_sec: 60,
  enabled: true,
  disabled_tools: [],
} satisfies Partial<McpServer>;

const BUILT_IN = {
  model_providers: {
    openai: { name: "OpenAI", base_url: "https://api.openai.com/v1", env_key: "OPENAI_API_KEY", wire_api: "responses" },
    anthropic: { name: "Anthropic", base_url: "https://api.anthropic.com/v1", env_key: "ANTHROPIC_API_KEY", wire_api: "messages" },
    ollama: { name: "Ollama", base_url: "http://127.0.0.1:11434/v1", wire_api: "chat" },
    lmstudio: { name: "LM Studio", base_url: "http://127.0.0.1:1234/v1", wire_api: "chat" },
  },
  mcp_servers: {},
  models: {},
  project_doc_max_bytes: 32_768,
  tool_output_token_limit: 10_000,
  web_search: "disabled",
  sandbox_workspace_write: { writable_roots: [], network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
  shell_environment_policy: { inherit: "all", ignore_default_excludes: false, exclude: [], include_only: [], set: {} },
  history: { persistence: "save-all", max_size: 1000, sensitive_patterns: [] },
  compact: { keep_turns: 5, prepare: true },
  tui: { resume_picker_limit: 100 },
  projects: {},
};

export function defaults({ mode, trusted }: { mode: Mode; trusted: boolean }): Leaf[] {
  const leaves = flatten(BUILT_IN);
  const [sandbox, approval, why] =
    mode === "exec" ? ["read-only", "never", "exec"] : trusted ? ["workspace-write", "on-request", "trusted folder"] : ["read-only", "untrusted", "untrusted folder"];
  leaves.push({ path: ["sandbox_mode"], value: sandbox, origin: { layer: "default", name: why } });
  leaves.push({ path: ["approval_policy"], value: approval, origin: { layer: "default", name: why } });
  return leaves;
}

export function flatten(tree: object, path: readonly string[] = []): Leaf[] {
  const entries = Object.entries(tree) as [string, unknown][];
  if (entries.length === 0) return [{ path, value: {}, origin: { layer: "default" } }];
  return entries.flatMap(([name, value]): Leaf[] => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return flatten(value, [...path, name]);
    return [{ path: [...path, name], value: value as Value, origin: { layer: "default" } }];
  });
}
