/**
 * Schema: every key there is, and what it may hold. Plain data, because `--version` and a headless turn must start fast;
 * check.ts reads it. The compiler holds it against Config: a key that one of them lacks does not compile.
 */
import {
  APPROVAL_POLICIES,
  COMPACT_STRATEGIES,
  DECISIONS,
  INHERIT,
  PERSISTENCE,
  REASONING_SUMMARIES,
  SANDBOX_MODES,
  TOOL_APPROVALS,
  TRUST_LEVELS,
  WEB_SEARCH,
  WIRE_APIS,
  type Config,
  type McpServer,
  type ModelProvider,
  type Rule,
} from "./config.ts";
import type { ModelOverride } from "../core/models.ts";

export type Kind =
  /** Not empty. */
  | { kind: "string" }
  /** Any string. */
  | { kind: "text" }
  /** The name of an environment variable. People paste the key itself here, so what is wrong is not repeated. */
  | { kind: "variable" }
  /** http or https, without a user name or password in it. */
  | { kind: "url" }
  /** Relative to the folder of the file, or to the working folder on the command line; `~` is the user's home. */
  | { kind: "path" }
  | { kind: "enum"; values: readonly string[] }
  /** The values that are known; others are passed on with a warning, because providers invent new ones. */
  | { kind: "word"; known: readonly string[] }
  | { kind: "integer"; min: number; max: number }
  | { kind: "number"; min: number; max: number }
  | { kind: "boolean" }
  | { kind: "strings" }
  | { kind: "paths" }
  | { kind: "table"; keys: Keys }
  /** A table whose keys people choose. `secret`: its values are never shown. */
  | { kind: "map"; of: Kind; secret?: true }
  /** `[[rules]]` */
  | { kind: "rules"; keys: Keys }
  /** Another name of a key beside it. */
  | { kind: "alias"; of: string };

export type Keys = Readonly<Record<string, Kind>>;
type KeysOf<T> = { readonly [K in keyof Required<T>]: Kind };

const string: Kind = { kind: "string" };
const boolean: Kind = { kind: "boolean" };
const strings: Kind = { kind: "strings" };
const variable: Kind = { kind: "variable" };
const secrets: Kind = { kind: "map", of: { kind: "text" }, secret: true };
const atLeast = (min: number, max = Number.MAX_SAFE_INTEGER): Kind => ({ kind: "integer", min, max });
const oneOf = (values: readonly string[]): Kind => ({ kind: "enum", values });
const table = (keys: Keys): Kind => ({ kind: "table", keys });
const seconds: Kind = { kind: "number", min: 0.001, max: 86_400 };

const PROVIDER = {
  name: string,
  base_url: { kind: "url" },
  env_key: variable,
  wire_api: oneOf(WIRE_APIS),
  http_headers: secrets,
  query_params: secrets,
  request_max_retries: atLeast(0, 100),
  stream_max_retries: atLeast(0, 100),
  stream_idle_timeout_ms: atLeast(1),
} satisfies KeysOf<ModelProvider>;

const SERVER = {
  command: string,
  args: strings,
  env: secrets,
  env_vars: strings,
  cwd: { kind: "path" },
  url: { kind: "url" },
  bearer_token_env_var: variable,
  http_headers: secrets,
  startup_timeout_sec: seconds,
  tool_timeout_sec: seconds,
  enabled: boolean,
  enabled_tools: strings,
  disabled_tools: strings,
  default_tools_approval_mode: oneOf(TOOL_APPROVALS),
  tools: { kind: "map", of: table({ approval_mode: oneOf(TOOL_APPROVALS) }) },
} satisfies KeysOf<McpServer>;

const price: Kind = { kind: "number", min: 0, max: Number.MAX_SAFE_INTEGER };
const MODEL = {
  context_window: atLeast(1),
  max_output_tokens: atLeast(1),
  price_input: price,
  price_cached_input: price,
  price_cache_write: price,
  price_output: price,
  auto_compact_token_limit: atLeast(1),
  compact_strategy: oneOf(COMPACT_STRATEGIES),
} satisfies KeysOf<ModelOverride>;

const SETTABLE = {
  model: string,
  model_provider: string,
  model_providers: { kind: "map", of: table(PROVIDER) },
  openai_base_url: { kind: "url" },
  model_reasoning_effort: { kind: "word", known: ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"] },
  model_reasoning_summary: oneOf(REASONING_SUMMARIES),
  model_context_window: atLeast(1),
  model_auto_compact_token_limit: atLeast(1),
  models: { kind: "map", of: table(MODEL) },
  developer_instructions: { kind: "text" },
  project_doc_max_bytes: atLeast(0, 1_048_576),
  tool_output_token_limit: atLeast(1),
  web_search: oneOf(WEB_SEARCH),
  approval_policy: oneOf(APPROVAL_POLICIES),
  sandbox_mode: oneOf(SANDBOX_MODES),
  sandbox_workspace_write: table({
    writable_roots: { kind: "paths" },
    network_access: boolean,
    exclude_tmpdir_env_var: boolean,
    exclude_slash_tmp: boolean,
  } satisfies KeysOf<Config["sandbox_workspace_write"]>),
  shell_environment_policy: table({
    inherit: oneOf(INHERIT),
    ignore_default_excludes: boolean,
    exclude: strings,
    include_only: strings,
    set: secrets,
  } satisfies KeysOf<Config["shell_environment_policy"]>),
  mcp_servers: { kind: "map", of: table(SERVER) },
  history: table({
    persistence: oneOf(PERSISTENCE),
    max_size: atLeast(0),
    sensitive_patterns: strings,
  } satisfies KeysOf<Config["history"]>),
  compact: table({ strategy: oneOf(COMPACT_STRATEGIES), keep_turns: atLeast(0), prepare: boolean } satisfies KeysOf<Config["compact"]>),
  tui: table({ resume_picker_limit: atLeast(1) } satisfies KeysOf<Config["tui"]>),
  rules: { kind: "rules", keys: { argv_prefix: strings, decision: oneOf(DECISIONS) } satisfies KeysOf<Rule> },
} satisfies KeysOf<Omit<Config, "profile" | "profiles" | "projects">>;

const ALIASES = { auto_compact_token_limit: { kind: "alias", of: "model_auto_compact_token_limit" } } satisfies Keys;

/** What a profile may hold. */
const PROFILE_KEYS: Keys = { ...SETTABLE, ...ALIASES };

/** What a file or the command line may hold. */
export const CONFIG_KEYS: Keys = {
  ...SETTABLE,
  profile: string,
  profiles: { kind: "map", of: table(PROFILE_KEYS) },
  projects: { kind: "map", of: table({ trust_level: oneOf(TRUST_LEVELS) } satisfies KeysOf<Config["projects"][string]>) },
  ...ALIASES,
} satisfies KeysOf<Config> & Keys;
