/**
 * The providers that a name may mean: those built in, overlaid and extended by the config's [model_providers.NAME]. A provider is made
 * when it is first asked for, and only its wire is loaded.
 */
import { missingKey } from "./failure.ts";
import { createPost, type Post } from "../net/post.ts";
import type { Environment } from "../net/proxy.ts";
import type { WireOptions, WireProvider } from "./wire.ts";

/** One [model_providers.NAME], as in the config. */
export interface ProviderTable {
  /** For people. */
  name?: string;
  base_url?: string;
  env_key?: string;
  wire_api?: string;
  http_headers?: Readonly<Record<string, string>>;
  /** Header → variable that holds its value. */
  env_http_headers?: Readonly<Record<string, string>>;
  query_params?: Readonly<Record<string, string>>;
  request_max_retries?: number;
  stream_max_retries?: number;
  stream_idle_timeout_ms?: number;
}

export interface ProvidersOptions {
  env: Environment;
  tables: Readonly<Record<string, ProviderTable>>;
  /** Redirects `openai`. */
  openaiBaseUrl?: string;
  post?: Post;
}

export type Found = { ok: true; provider: WireProvider } | { ok: false; code: string; message: string };

export interface Providers {
  get(name: string): Promise<Found>;
  names(): string[];
}

const BUILT_IN: Readonly<Record<string, ProviderTable>> = {
  openai: { wire_api: "responses", base_url: "https://api.openai.com/v1", env_key: "OPENAI_API_KEY" },
  anthropic: { wire_api: "messages", base_url: "https://api.anthropic.com/v1", env_key: "ANTHROPIC_API_KEY" },
  ollama: { wire_api: "chat", base_url: "http://127.0.0.1:11434/v1" },
  lmstudio: { wire_api: "chat", base_url: "http://127.0.0.1:1234/v1" },
};

/** Whoever starts Skein with a key of its own (the Codex SDK does) means that key, not the one that lies in the shell. */
const OTHER_KEYS: Readonly<Record<string, string>> = { OPENAI_API_KEY: "CODEX_API_KEY" };

/** It may also say who it is, for the header by which OpenAI tells its callers apart. */
const ORIGINATOR = "CODEX_INTERNAL_ORIGINATOR_OVERRIDE";

const WIRES: Readonly<Record<string, (options: WireOptions) => Promise<WireProvider>>> = {
  responses: async (options) => (await import("./responses.ts")).createResponses(options),
  chat: async (options) => (await import("./chat.ts")).createChat(options),
  messages: async (options) => (await import("./messages.ts")).createMessages(options),
};

export function createProviders({ env, tables, openaiBaseUrl, post = createPost(env) }: ProvidersOptions): Providers {
  const made = new Map<string, Promise<WireProvider>>();
  const names = () => [...new Set([...Object.keys(BUILT_IN), ...Object.keys(tables)])];

  async function get(name: string): Promise<Found> {
    const builtIn = own(BUILT_IN, name);
    const given = own(tables, name);
    if (!builtIn && !given) return { ok: false, code: "unknown_provider", message: `There is no model provider "${name}". There are: ${names().join(", ")}. Others are added as [model_providers.NAME] in config.toml.` };
    const redirected = name === "openai" && openaiBaseUrl ? { base_url: openaiBaseUrl } : {};
    const table = { ...builtIn, ...given, ...redirected };
    const { base_url: baseUrl = "", wire_api: wireApi = "responses", env_key: envKey = null } = table;
    const create = own(WIRES, wireApi);
    if (!create) return bad(name, `wire_api = "${wireApi}" is not known; there are: ${Object.keys(WIRES).join(", ")}`);
    if (!URL.canParse(baseUrl)) return bad(name, baseUrl === "" ? "base_url is missing" : `base_url = "${baseUrl}" is not an address`);
    const keyed = envKey === null ? null : variableOf(env, envKey);
    const key = () => (keyed === null ? null : env[keyed]?.trim() || null);
    if (envKey !== null && key() === null) return { ok: false, ...missingKey({ provider: name, envKey }) };
    const provider = made.get(name) ?? create({ name, baseUrl, key, envKey: keyed, headers: headersOf(table, env), queryParams: table.query_params ?? {}, ...limitsOf(table), post });
    made.set(name, provider);
    return { ok: true, provider: await provider };
  }

  return { get, names };
}

function bad(name: string, why: string): Found {
  return { ok: false, code: "bad_provider", message: `[model_providers.${name}] cannot be used: ${why}.` };
}

function limitsOf(table: ProviderTable): Pick<WireOptions, "retries" | "requestRetries" | "idleTimeoutMs"> {
  return { retries: table.stream_max_retries ?? 5, requestRetries: table.request_max_retries ?? 4, idleTimeoutMs: table.stream_idle_timeout_ms ?? 300_000 };
}

function headersOf(table: ProviderTable, env: Environment): Record<string, string> {
  const originator = table.wire_api === "responses" ? env[ORIGINATOR]?.trim() : undefined;
  const headers: Record<string, string> = { ...(originator ? { originator } : {}), ...table.http_headers };
  for (const [header, variable] of Object.entries(table.env_http_headers ?? {})) {
    const value = env[variable]?.trim();
    if (value) headers[header] = value;
  }
  return headers;
}

/** The one that the key comes from. */
function variableOf(env: Environment, named: string): string {
  const other = OTHER_KEYS[named];
  return other !== undefined && env[other]?.trim() ? other : named;
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
