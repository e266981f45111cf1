/**
 * Choose: which model answers. What is configured counts; with nothing configured, the first of these that is there: a key for OpenAI, a
 * key for Anthropic, a model server on this machine. Looking for such a server is the only request that is made without being asked
 * for; it goes to loopback addresses only, follows no redirect, uses no proxy and waits 150 ms at most.
 */
import type { Config, ModelProvider } from "./config.ts";
import { DEFAULT_MODELS } from "./defaults.ts";
import { quoted } from "./keys.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The names of the models at `{base_url}/models`; none when nobody answers. */
export type Probe = (url: string) => Promise<readonly string[]>;

export type Choice =
  | { kind: "model"; model: string; model_provider: string; because: string }
  /** A provider is configured, but which of its models is not known. */
  | { kind: "incomplete"; message: string }
  /** Nothing is configured and nothing was found: the tour. */
  | { kind: "none" };

const LOCAL = ["ollama", "lmstudio"] as const;

export async function chooseModel(config: Config, env: Env, probe: Probe): Promise<Choice> {
  const { model, model_provider: provider } = config;
  if (model !== undefined && provider !== undefined) return { kind: "model", model, model_provider: provider, because: "configured" };
  if (model !== undefined) return { kind: "model", model, model_provider: inferProvider(model), because: "the model is configured, its provider follows from its name" };
  if (provider !== undefined) return modelOf(provider, config, probe);

  const keyed = providerOfKeys(env, (name) => config.model_providers[name]?.env_key);
  if (keyed !== null) return { kind: "model", model: DEFAULT_MODELS[keyed]!, model_provider: keyed, because: `${keyVariable({ id: keyed, env_key: config.model_providers[keyed]?.env_key }, env)} is set` };

  const found = await Promise.all(LOCAL.map((name) => listLocal(config.model_providers[name], probe)));
  for (const [index, name] of LOCAL.entries()) {
    const first = found[index]![0];
    if (first !== undefined) return { kind: "model", model: first, model_provider: name, because: `${config.model_providers[name]!.name} runs on this machine` };
  }
  return { kind: "none" };
}

async function modelOf(name: string, config: Config, probe: Probe): Promise<Choice> {
  const usual = DEFAULT_MODELS[name];
  if (usual !== undefined) return { kind: "model", model: usual, model_provider: name, because: "the provider is configured, and this is its default model" };
  const [first] = await listLocal(config.model_providers[name], probe);
  if (first !== undefined) return { kind: "model", model: first, model_provider: name, because: "the provider is configured, and this is the first model that it lists" };
  return { kind: "incomplete", message: `The model provider is ${quoted(name)}, but no model is set. Name one with --model, or as model = "…" in config.toml.` };
}

async function listLocal(provider: ModelProvider | undefined, probe: Probe): Promise<readonly string[]> {
  if (provider === undefined || !isLoopback(provider.base_url)) return [];
  return probe(`${provider.base_url.replace(/\/+$/u, "")}/models`).catch(() => []);
}

/** Whose model it is, by its name. */
export function inferProvider(model: string): "anthropic" | "openai" {
  return model.startsWith("claude-") ? "anthropic" : "openai";
}

/** The first provider with a default model whose key is in the environment. */
export function providerOfKeys(env: Env, envKeyOf: (provider: string) => string | undefined): "openai" | "anthropic" | null {
  const has = (name: "openai" | "anthropic") => Boolean(env[keyVariable({ id: name, env_key: envKeyOf(name) }, env) ?? ""]);
  return has("openai") ? "openai" : has("anthropic") ? "anthropic" : null;
}

/** `id` is the name of its table. The variable that holds its key, or the one to name when it is missing; null: it needs none. OpenAI's may be given as `CODEX_API_KEY`, which then counts. */
export function keyVariable(provider: { id: string; env_key?: string | undefined }, env: Env): string | null {
  if (provider.env_key === undefined) return null;
  return provider.id === "openai" && provider.env_key === "OPENAI_API_KEY" && env["CODEX_API_KEY"] ? "CODEX_API_KEY" : provider.env_key;
}

export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
