/** Settings: the part of the config that a turn runs with and that its log therefore records. No provider tables, no variables, no secrets. */
import type { Json } from "../protocol/json.ts";
import type { Settings } from "../protocol/record.ts";
import { inferProvider } from "./choose.ts";
import type { Config, Origin } from "./config.ts";
import { DEFAULT_MODELS, REPLAY } from "./defaults.ts";
import { ROOTS } from "./roots.ts";

/** `cwd` is absolute. Without a model, `model` is empty: choose one first (choose.ts). */
export function settingsOf(config: Config, cwd: string): Settings {
  const model = config.model ?? "";
  const { model_reasoning_effort: effort, model_reasoning_summary: summary, model_context_window: window, model_auto_compact_token_limit: limit } = config;
  return {
    model,
    model_provider: config.model_provider ?? (model === "" ? "" : inferProvider(model)),
    cwd,
    approval_policy: config.approval_policy,
    sandbox_mode: config.sandbox_mode,
    sandbox_workspace_write: { ...config.sandbox_workspace_write },
    ...(effort === undefined ? {} : { model_reasoning_effort: effort }),
    ...(summary === undefined ? {} : { model_reasoning_summary: summary }),
    ...(window === undefined ? {} : { model_context_window: window }),
    ...(limit === undefined ? {} : { model_auto_compact_token_limit: limit }),
    ...(config.developer_instructions === undefined ? {} : { developer_instructions: config.developer_instructions }),
    project_doc_max_bytes: config.project_doc_max_bytes,
    tool_output_token_limit: config.tool_output_token_limit,
    web_search: config.web_search,
    compact: { ...config.compact },
  };
}

/** What the command line says, for a thread that was started with settings of its own. */
export interface CommandLine {
  /** What a new thread would start with, and where each value came from. */
  settings: Settings;
  origins: ReadonlyMap<string, Origin>;
  /** A profile was named on the command line: its values are meant as well. */
  profile: boolean;
  /** `--cd` was given. */
  cd: boolean;
  /** `--add-dir`, absolute: added to what the thread may write to already. */
  addDirs: readonly string[];
}

/**
 * What changes in a thread that is resumed: only what was said outright and is different. Files that changed since it was started
 * change nothing, so that resuming never widens permissions silently. Two things follow: with another provider comes its own model, and a
 * recording has its say only until there is a model; that one then has the permissions of a new thread.
 */
export function changedSettings({ settings, origins, profile, cd, addDirs }: CommandLine, current: Settings): Partial<Settings> {
  const said = (key: string): boolean => {
    const layer = origins.get(key)?.layer;
    // --add-dir adds to what the thread has, not to what the files say now.
    if (key === ROOTS && layer === "flag") return false;
    return layer === "flag" || layer === "override" || (profile && layer === "profile");
  };
  const next: Settings = { ...current };
  for (const [key, value] of Object.entries(settings)) {
    if (isTable(value)) next[key] = mergedTable(key, { value, before: current[key], said });
    else if (said(key)) next[key] = value;
  }
  if (said("model") && !said("model_provider") && MAKERS.has(current.model_provider)) next.model_provider = inferProvider(settings.model);
  const switched = said("model_provider") && settings.model_provider !== current.model_provider;
  if (switched && !said("model") && settings.model !== "") next.model = modelAt(settings);
  if (current.model_provider === REPLAY && !said("model_provider") && settings.model !== "") {
    const { model, model_provider, sandbox_mode, approval_policy } = settings;
    Object.assign(next, { model, model_provider, sandbox_mode, approval_policy });
  }
  if (cd) next.cwd = settings.cwd;
  if (addDirs.length > 0) next["sandbox_workspace_write"] = withRoots(next["sandbox_workspace_write"], addDirs);
  const changed = Object.entries(next).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(current[key]));
  return Object.fromEntries(changed);
}

/** Providers whose models are known by their names. */
const MAKERS: ReadonlySet<string> = new Set(["openai", "anthropic"]);

/** The files may name a model that is meant for the other maker. */
function modelAt({ model, model_provider: provider }: Settings): string {
  return MAKERS.has(provider) && inferProvider(model) !== provider ? DEFAULT_MODELS[provider]! : model;
}

type Table = { readonly [key: string]: Json };

function mergedTable(name: string, given: { value: Table; before: Json | undefined; said: (key: string) => boolean }): Table {
  const merged: Record<string, Json> = isTable(given.before) ? { ...given.before } : {};
  for (const [key, value] of Object.entries(given.value)) if (given.said(`${name}.${key}`)) merged[key] = value;
  return merged;
}

function withRoots(before: Json | undefined, more: readonly string[]): Table {
  const table = isTable(before) ? before : {};
  const roots = Array.isArray(table["writable_roots"]) ? (table["writable_roots"] as string[]) : [];
  return { ...table, writable_roots: [...new Set([...roots, ...more])] };
}

function isTable(value: Json | undefined): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
