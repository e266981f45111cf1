/**
 * What the OpenAI Responses API refuses in a request body, from its public rules and error messages.
 *
 * Only refusals that are known are listed; where the API's behaviour is not documented, the body passes. The pairing of
 * calls and outputs is in `responses-items.ts`.
 */
import { checkItems } from "./responses-items.ts";
import { checkParameters, checkSchema } from "./schema.ts";
import { isObject, isText, keys, oneOf, onlyKeys, optional, problemsOf } from "./shape.ts";
import type { Fields, Refuse } from "./shape.ts";

const known = keys(
  "model input instructions stream stream_options store tools tool_choice parallel_tool_calls reasoning text include metadata",
  "max_output_tokens max_tool_calls temperature top_p top_logprobs truncation user safety_identifier prompt_cache_key",
  "prompt_cache_retention service_tier background previous_response_id conversation prompt context_management client_metadata moderation",
);

/** Options of the search that the API makes itself. */
const searchKeys = keys("type filters search_context_size user_location external_web_access search_content_types return_token_budget");

/** Tools that the API runs itself; the options of the others are not checked. */
const hosted = keys(
  "web_search web_search_preview web_search_preview_2025_03_11 web_search_2025_08_26 file_search code_interpreter image_generation",
  "computer computer_use_preview mcp local_shell shell apply_patch tool_search namespace",
);

const includes = [
  "reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url", "file_search_call.results",
  "web_search_call.results", "web_search_call.action.sources", "code_interpreter_call.outputs", "computer_call_output.output.image_url",
];

export function validate(body: unknown): string[] {
  return problemsOf((refuse) => {
    if (!isObject(body)) return refuse("body", "must be an object");
    onlyKeys(body, known, "", refuse);
    if (!isText(body["model"])) refuse("model", "missing required parameter");
    checkSettings(body, refuse);
    checkTools(body, refuse);
    checkItems(body, refuse);
  });
}

function checkSettings(body: Fields, refuse: Refuse): void {
  for (const name of ["stream", "store", "parallel_tool_calls", "background"]) optional(body[name], "boolean", name, refuse);
  for (const name of ["instructions", "prompt_cache_key", "previous_response_id", "user"]) optional(body[name], "string", name, refuse);
  for (const name of ["temperature", "top_p", "max_output_tokens"]) optional(body[name], "number", name, refuse);
  const limit = body["max_output_tokens"];
  if (typeof limit === "number" && limit < 16) refuse("max_output_tokens", "integer below minimum value; expected a value >= 16");
  if (outside(body["temperature"], 0, 2)) refuse("temperature", "expected a value from 0 to 2");
  if (outside(body["top_p"], 0, 1)) refuse("top_p", "expected a value from 0 to 1");
  const cacheKey = body["prompt_cache_key"];
  if (typeof cacheKey === "string" && cacheKey.length > 64) refuse("prompt_cache_key", "string too long; maximum length 64");
  oneOf(body["truncation"], ["auto", "disabled"], "truncation", refuse);
  oneOf(body["service_tier"], ["auto", "default", "flex", "scale", "priority"], "service_tier", refuse);
  checkReasoning(body["reasoning"], refuse);
  checkText(body["text"], refuse);
  checkMetadata(body["metadata"], refuse);
  const include = body["include"];
  if (Array.isArray(include)) for (const [i, one] of include.entries()) oneOf(one, includes, `include[${i}]`, refuse);
  else if (include !== undefined && include !== null) refuse("include", "expected an array");
  const options = body["stream_options"];
  if (options === undefined || options === null) return;
  if (!isObject(options)) return refuse("stream_options", "expected an object");
  if (body["stream"] !== true) refuse("stream_options", "only allowed when 'stream' is enabled");
  onlyKeys(options, keys("include_obfuscation"), "stream_options", refuse);
}

function checkReasoning(reasoning: unknown, refuse: Refuse): void {
  if (reasoning === undefined || reasoning === null) return;
  if (!isObject(reasoning)) return refuse("reasoning", "expected an object");
  oneOf(reasoning["effort"], ["none", "minimal", "low", "medium", "high", "xhigh", "max"], "reasoning.effort", refuse);
  oneOf(reasoning["summary"], ["auto", "concise", "detailed"], "reasoning.summary", refuse);
}

function checkText(text: unknown, refuse: Refuse): void {
  if (text === undefined || text === null) return;
  if (!isObject(text)) return refuse("text", "expected an object");
  oneOf(text["verbosity"], ["low", "medium", "high"], "text.verbosity", refuse);
  const format = text["format"];
  if (format === undefined) return;
  if (!isObject(format)) return refuse("text.format", "expected an object");
  if (!["text", "json_object", "json_schema"].includes(String(format["type"]))) return refuse("text.format.type", "expected text, json_object or json_schema");
  if (format["type"] !== "json_schema") return;
  checkName(format["name"], "text.format.name", refuse);
  if (!isObject(format["schema"])) return refuse("text.format.schema", "missing required parameter");
  checkSchema(format["schema"], "text.format.schema", format["strict"] === true, refuse);
}

function checkMetadata(metadata: unknown, refuse: Refuse): void {
  if (metadata === undefined || metadata === null) return;
  if (!isObject(metadata)) return refuse("metadata", "expected an object");
  if (Object.keys(metadata).length > 16) refuse("metadata", "at most 16 entries");
  for (const [name, value] of Object.entries(metadata)) if (typeof value !== "string") refuse(`metadata.${name}`, "expected a string");
}

function checkTools(body: Fields, refuse: Refuse): void {
  const tools = body["tools"] ?? [];
  if (!Array.isArray(tools)) return refuse("tools", "expected an array");
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const path = `tools[${i}]`;
    if (!isObject(tool)) {
      refuse(path, "expected an object");
      continue;
    }
    const type = String(tool["type"]);
    if (type !== "function" && type !== "custom") {
      if (!hosted.has(type)) refuse(`${path}.type`, `unknown tool type ${JSON.stringify(tool["type"])}`);
      if (type === "web_search") {
        onlyKeys(tool, searchKeys, path, refuse);
        optional(tool["external_web_access"], "boolean", `${path}.external_web_access`, refuse);
      }
      continue;
    }
    checkName(tool["name"], `${path}.name`, refuse);
    optional(tool["description"], "string", `${path}.description`, refuse);
    if (names.has(String(tool["name"]))) refuse(`${path}.name`, `tool names must be unique: ${String(tool["name"])}`);
    names.add(String(tool["name"]));
    if (type === "function") checkFunction(tool, path, refuse);
    else checkCustom(tool, path, refuse);
  }
  checkChoice(body["tool_choice"], names, refuse);
}

function checkFunction(tool: Fields, path: string, refuse: Refuse): void {
  onlyKeys(tool, keys("type name description parameters strict defer_loading allowed_callers output_schema"), path, refuse);
  optional(tool["strict"], "boolean", `${path}.strict`, refuse);
  if (tool["parameters"] === undefined) refuse(`${path}.parameters`, "missing required parameter");
  else if (tool["parameters"] !== null) checkParameters(tool["parameters"], `${path}.parameters`, tool["strict"] === true, refuse);
}

function checkCustom(tool: Fields, path: string, refuse: Refuse): void {
  onlyKeys(tool, keys("type name description format defer_loading allowed_callers"), path, refuse);
  const format = tool["format"];
  if (format === undefined || format === null) return;
  if (!isObject(format)) return refuse(`${path}.format`, "expected an object");
  if (format["type"] === "text") return;
  if (format["type"] !== "grammar") return refuse(`${path}.format.type`, "expected text or grammar");
  onlyKeys(format, keys("type syntax definition"), `${path}.format`, refuse);
  oneOf(format["syntax"] ?? "none", ["lark", "regex"], `${path}.format.syntax`, refuse);
  if (!isText(format["definition"])) refuse(`${path}.format.definition`, "missing required parameter");
}

function checkChoice(choice: unknown, names: ReadonlySet<string>, refuse: Refuse): void {
  if (choice === undefined || choice === null) return;
  if (!isObject(choice)) return oneOf(choice, ["auto", "none", "required"], "tool_choice", refuse);
  if ((choice["type"] === "function" || choice["type"] === "custom") && !names.has(String(choice["name"]))) {
    refuse("tool_choice", `tool '${String(choice["name"])}' not found in 'tools'`);
  }
}

function checkName(name: unknown, path: string, refuse: Refuse): void {
  if (!isText(name)) refuse(path, "missing required parameter");
  else if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) refuse(path, "must match ^[a-zA-Z0-9_-]{1,64}$");
}

function outside(value: unknown, low: number, high: number): boolean {
  return typeof value === "number" && (value < low || value > high);
}
