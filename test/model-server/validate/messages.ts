/**
 * What the Anthropic Messages API refuses in a request body, from its public rules and error messages. The conversation
 * itself is checked in `messages-turns.ts`.
 */
import { checkTurns } from "./messages-turns.ts";
import { checkInputSchema } from "./schema.ts";
import { isObject, isText, keys, oneOf, onlyKeys, optional, problemsOf } from "./shape.ts";
import type { Fields, Refuse } from "./shape.ts";

const known = keys(
  "model max_tokens messages system metadata stop_sequences stream temperature top_k top_p tools tool_choice thinking service_tier",
  "container mcp_servers context_management output_config output_format cache_control inference_geo speed",
);

const toolKeys = keys("type name description input_schema cache_control strict defer_loading allowed_callers input_examples eager_input_streaming");

export function validate(body: unknown): string[] {
  return problemsOf((refuse) => {
    if (!isObject(body)) return refuse("body", "must be an object");
    onlyKeys(body, known, "", refuse);
    if (!isText(body["model"])) refuse("model", "field required");
    checkSettings(body, refuse);
    checkTools(body, refuse);
    checkSystem(body["system"], refuse);
    checkTurns(body, refuse);
    checkBreakpoints(body, refuse);
  });
}

function checkSettings(body: Fields, refuse: Refuse): void {
  const limit = body["max_tokens"];
  if (limit === undefined) refuse("max_tokens", "field required");
  else if (!Number.isInteger(limit) || (limit as number) < 1) refuse("max_tokens", "must be an integer greater than or equal to 1");
  optional(body["stream"], "boolean", "stream", refuse);
  const temperature = body["temperature"];
  if (temperature !== undefined && (typeof temperature !== "number" || temperature < 0 || temperature > 1)) refuse("temperature", "expected a value from 0 to 1");
  if (body["stop_sequences"] !== undefined && !Array.isArray(body["stop_sequences"])) refuse("stop_sequences", "expected an array");
  const { metadata } = body;
  if (isObject(metadata)) onlyKeys(metadata, keys("user_id"), "metadata", refuse);
  else if (metadata !== undefined && metadata !== null) refuse("metadata", "expected an object");
  const { thinking } = body;
  if (thinking === undefined) return;
  if (!isObject(thinking)) return refuse("thinking", "expected an object");
  if (!["enabled", "disabled", "adaptive"].includes(String(thinking["type"]))) return refuse("thinking.type", "expected enabled, disabled or adaptive");
  if (thinking["type"] !== "enabled") return;
  const budget = thinking["budget_tokens"];
  if (!Number.isInteger(budget) || (budget as number) < 1024) refuse("thinking.budget_tokens", "must be an integer greater than or equal to 1024");
  else if (typeof limit === "number" && (budget as number) >= limit) refuse("max_tokens", "must be greater than thinking.budget_tokens");
  if (temperature !== undefined && temperature !== 1) refuse("temperature", "may only be set to 1 when thinking is enabled");
  if (body["top_k"] !== undefined) refuse("top_k", "must be unset when thinking is enabled");
  const choice = body["tool_choice"];
  if (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")) refuse("tool_choice", "thinking may not be enabled when tool_choice forces tool use");
}

function checkTools(body: Fields, refuse: Refuse): void {
  const { tools } = body;
  const choice = body["tool_choice"];
  if (tools === undefined) {
    if (choice !== undefined) refuse("tool_choice", "may only be specified while providing tools");
    return;
  }
  if (!Array.isArray(tools)) return refuse("tools", "expected an array");
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const path = `tools.${i}`;
    if (!isObject(tool)) {
      refuse(path, "expected an object");
      continue;
    }
    const name = tool["name"];
    const own = tool["type"] === undefined || tool["type"] === "custom";
    if (own) {
      onlyKeys(tool, toolKeys, path, refuse);
      optional(tool["description"], "string", `${path}.description`, refuse);
      checkInputSchema(tool["input_schema"], `${path}.input_schema`, refuse);
      if (!isText(name)) refuse(`${path}.name`, "field required");
      else if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) refuse(`${path}.name`, "must match ^[a-zA-Z0-9_-]{1,128}$");
    }
    if (!own) checkHosted(tool, path, refuse);
    if (names.has(String(name))) refuse(`${path}.name`, "tool names must be unique");
    names.add(String(name));
  }
  if (choice === undefined) return;
  if (!isObject(choice)) return refuse("tool_choice", "expected an object");
  oneOf(choice["type"] ?? "none given", ["auto", "any", "tool", "none"], "tool_choice.type", refuse);
  if (choice["type"] === "tool" && !names.has(String(choice["name"]))) refuse("tool_choice.name", `tool '${String(choice["name"])}' not found in provided tools`);
}

/** Tools that the server runs itself: the search is checked, of the others only that they are known. */
function checkHosted(tool: Fields, path: string, refuse: Refuse): void {
  const type = String(tool["type"]);
  if (!/^(?:web_search|web_fetch|code_execution|bash|text_editor|computer|memory|tool_search_tool_(?:regex|bm25)|mcp_toolset)(?:_\d{8})?$/.test(type)) return refuse(`${path}.type`, `unknown tool type ${JSON.stringify(type)}`);
  if (!type.startsWith("web_search_")) return;
  onlyKeys(tool, keys("type name max_uses allowed_domains blocked_domains user_location cache_control allowed_callers defer_loading strict"), path, refuse);
  if (tool["name"] !== "web_search") refuse(`${path}.name`, "must be 'web_search'");
}

function checkSystem(system: unknown, refuse: Refuse): void {
  if (system === undefined || typeof system === "string") return;
  if (!Array.isArray(system)) return refuse("system", "expected a string or an array of text blocks");
  for (const [i, block] of system.entries()) {
    if (!isObject(block) || block["type"] !== "text") refuse(`system.${i}`, "expected a text block");
    else if (!isText(block["text"])) refuse(`system.${i}`, "text content blocks must be non-empty");
  }
}

/** Prompt cache breakpoints: at most four in the whole request, none on thinking or empty text. */
function checkBreakpoints(body: Fields, refuse: Refuse): void {
  let found = isObject(body["cache_control"]) ? 1 : 0;
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) return value.forEach((one, i) => visit(one, `${path}.${i}`));
    if (!isObject(value)) return;
    const control = value["cache_control"];
    if (control !== undefined && control !== null) {
      found++;
      if (!isObject(control) || control["type"] !== "ephemeral") refuse(`${path}.cache_control`, "expected type ephemeral");
      else oneOf(control["ttl"], ["5m", "1h"], `${path}.cache_control.ttl`, refuse);
      if (value["type"] === "thinking" || value["type"] === "redacted_thinking") refuse(`${path}.cache_control`, "extra inputs are not permitted on thinking blocks");
    }
    visit(value["content"], `${path}.content`);
  };
  visit(body["tools"], "tools");
  visit(body["system"], "system");
  visit(body["messages"], "messages");
  if (found > 4) refuse("cache_control", `a maximum of 4 blocks with cache_control may be provided; found ${found}`);
}
