/**
 * prompt: state → model request. Only what the log holds goes in, in log order, so that the same log gives the same request and
 * each request of a turn begins with the one before.
 */
import type { ModelRequest } from "./provider.ts";
import type { ToolSpec } from "./tool.ts";
import { visible } from "./history.ts";
import type { State } from "./state.ts";

export function prompt(state: State, context: { instructions: string; tools: readonly ToolSpec[] }): ModelRequest {
  const schema = state.talk.turn?.schema;
  const settings = state.talk.turn?.settings ?? state.thread.settings;
  return {
    thread: state.thread.id,
    model: settings.model,
    instructions: context.instructions,
    tools: context.tools,
    input: visible(state.history),
    effort: settings.model_reasoning_effort ?? null,
    webSearch: settings["web_search"] === "cached" || settings["web_search"] === "live" ? settings["web_search"] : null,
    toolChoice: "auto",
    ...(schema === undefined ? {} : { schema }),
  };
}
