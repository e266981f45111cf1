/** Settings: the part of the config that a turn runs with and that its log therefore records. No provider tables, no variables, no secrets. */
import type { Settings } from "../protocol/record.ts";
import { inferProvider } from "./choose.ts";
import type { Config } from "./config.ts";

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
    tool_output_token_limit: config.tool_output_token_limit,
    web_search: config.web_search,
    compact: { ...config.compact },
  };
}
