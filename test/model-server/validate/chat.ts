/**
 * What Chat Completions refuses in a request body, from OpenAI's public rules and error messages.
 *
 * Fields that compatible servers add to assistant messages for reasoning are let through; everything else is as strict as
 * OpenAI, since a request that OpenAI takes is one that the others take.
 */
import { checkParameters, checkSchema } from "./schema.ts";
import { isObject, isText, keys, oneOf, onlyKeys, optional, problemsOf } from "./shape.ts";
import type { Fields, Refuse } from "./shape.ts";

const known = keys(
  "model messages stream stream_options tools tool_choice parallel_tool_calls response_format max_tokens max_completion_tokens",
  "temperature top_p n stop seed user metadata store frequency_penalty presence_penalty logit_bias logprobs top_logprobs modalities",
  "audio prediction reasoning_effort verbosity service_tier safety_identifier prompt_cache_key prompt_cache_retention",
  "web_search_options functions function_call",
);

const fields: Readonly<Record<string, ReadonlySet<string>>> = {
  system: keys("role content name"),
  developer: keys("role content name"),
  user: keys("role content name"),
  assistant: keys("role content name refusal tool_calls function_call audio annotations reasoning_content reasoning reasoning_details"),
  tool: keys("role content name tool_call_id"),
  function: keys("role content name"),
};

const parts: Readonly<Record<string, ReadonlySet<string>>> = {
  system: keys("text"),
  developer: keys("text"),
  user: keys("text image_url input_audio file"),
  assistant: keys("text refusal"),
  tool: keys("text"),
};

const longestId = 64;

export function validate(body: unknown): string[] {
  return problemsOf((refuse) => {
    if (!isObject(body)) return refuse("body", "must be an object");
    onlyKeys(body, known, "", refuse);
    if (!isText(body["model"])) refuse("model", "you must provide a model parameter");
    checkSettings(body, refuse);
    checkTools(body, refuse);
    const messages = body["messages"];
    if (!Array.isArray(messages)) return refuse("messages", "missing required parameter");
    if (messages.length === 0) return refuse("messages", "empty array; minimum length 1");
    for (const [i, message] of messages.entries()) checkMessage(message, `messages[${i}]`, refuse);
    checkAnswers(messages, refuse);
  });
}

function checkSettings(body: Fields, refuse: Refuse): void {
  for (const name of ["stream", "store", "parallel_tool_calls", "logprobs"]) optional(body[name], "boolean", name, refuse);
  for (const name of ["temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "seed"]) optional(body[name], "number", name, refuse);
  for (const name of ["user", "prompt_cache_key"]) optional(body[name], "string", name, refuse);
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const value = body[name];
    if (typeof value === "number" && value < 1) refuse(name, "integer below minimum value; expected a value >= 1");
  }
  if (typeof body["max_tokens"] === "number" && typeof body["max_completion_tokens"] === "number") {
    refuse("max_tokens", "setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported");
  }
  oneOf(body["reasoning_effort"], ["none", "minimal", "low", "medium", "high", "xhigh", "max"], "reasoning_effort", refuse);
  if (body["stream_options"] !== undefined && body["stream_options"] !== null) {
    if (!isObject(body["stream_options"])) refuse("stream_options", "expected an object");
    if (body["stream"] !== true) refuse("stream_options", "only allowed when 'stream' is enabled");
  }
  checkFormat(body["response_format"], refuse);
}

function checkFormat(format: unknown, refuse: Refuse): void {
  if (format === undefined || format === null) return;
  if (!isObject(format) || !["text", "json_object", "json_schema"].includes(String(format["type"]))) {
    return refuse("response_format.type", "expected text, json_object or json_schema");
  }
  if (format["type"] !== "json_schema") return;
  const wrapped = format["json_schema"];
  if (!isObject(wrapped)) return refuse("response_format.json_schema", "missing required parameter");
  checkName(wrapped["name"], "response_format.json_schema.name", refuse);
  checkSchema(wrapped["schema"] ?? {}, "response_format.json_schema.schema", wrapped["strict"] === true, refuse);
}

function checkTools(body: Fields, refuse: Refuse): void {
  const tools = body["tools"];
  if (tools === undefined || tools === null) {
    for (const name of ["tool_choice", "parallel_tool_calls"]) {
      if (body[name] !== undefined && body[name] !== null && body[name] !== "none") refuse(name, "only allowed when 'tools' are specified");
    }
    return;
  }
  if (!Array.isArray(tools)) return refuse("tools", "expected an array");
  if (tools.length === 0) refuse("tools", "empty array; minimum length 1");
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const path = `tools[${i}]`;
    const kind = isObject(tool) ? tool["type"] : undefined;
    if (!isObject(tool) || (kind !== "function" && kind !== "custom")) {
      refuse(`${path}.type`, "expected function or custom");
      continue;
    }
    const inner = tool[kind];
    if (!isObject(inner)) {
      refuse(`${path}.${kind}`, "missing required parameter");
      continue;
    }
    onlyKeys(tool, keys("type", kind), path, refuse);
    checkName(inner["name"], `${path}.${kind}.name`, refuse);
    if (names.has(String(inner["name"]))) refuse(`${path}.${kind}.name`, `tool names must be unique: ${String(inner["name"])}`);
    names.add(String(inner["name"]));
    if (kind !== "function") continue;
    onlyKeys(inner, keys("name description parameters strict"), `${path}.function`, refuse);
    optional(inner["description"], "string", `${path}.function.description`, refuse);
    optional(inner["strict"], "boolean", `${path}.function.strict`, refuse);
    if (inner["parameters"] !== undefined) checkParameters(inner["parameters"], `${path}.function.parameters`, inner["strict"] === true, refuse);
  }
  const choice = body["tool_choice"];
  if (choice === undefined || choice === null) return;
  if (!isObject(choice)) return oneOf(choice, ["auto", "none", "required"], "tool_choice", refuse);
  const named = isObject(choice["function"]) ? choice["function"] : isObject(choice["custom"]) ? choice["custom"] : null;
  if (named && !names.has(String(named["name"]))) refuse("tool_choice", `tool '${String(named["name"])}' not found in 'tools'`);
}

function checkMessage(message: unknown, path: string, refuse: Refuse): void {
  if (!isObject(message)) return refuse(path, "expected an object");
  const role = String(message["role"]);
  const allowed = fields[role];
  if (!allowed) return refuse(`${path}.role`, `invalid value ${JSON.stringify(message["role"] ?? null)}`);
  onlyKeys(message, allowed, path, refuse);
  const calls = message["tool_calls"];
  if (role === "assistant" && calls !== undefined && calls !== null) checkCalls(calls, `${path}.tool_calls`, refuse);
  if (role === "tool" && !isText(message["tool_call_id"])) refuse(`${path}.tool_call_id`, "missing required parameter");
  const content = message["content"];
  if (content === undefined || content === null) {
    const spoken = role === "assistant" && ((Array.isArray(calls) && calls.length > 0) || isText(message["refusal"]) || isObject(message["function_call"]) || isObject(message["audio"]));
    if (!spoken) refuse(`${path}.content`, "expected a string or an array of content parts, got null");
    return;
  }
  if (typeof content === "string") return;
  if (!Array.isArray(content)) return refuse(`${path}.content`, "expected a string or an array of content parts");
  if (content.length === 0) refuse(`${path}.content`, "empty array; minimum length 1");
  for (const [i, part] of content.entries()) checkPart(part, { role, path: `${path}.content[${i}]` }, refuse);
}

function checkPart(part: unknown, { role, path }: { role: string; path: string }, refuse: Refuse): void {
  if (!isObject(part)) return refuse(path, "expected an object");
  const type = String(part["type"]);
  if (!parts[role]?.has(type)) return refuse(`${path}.type`, `invalid value ${JSON.stringify(part["type"] ?? null)} in a message of role '${role}'`);
  if (type === "text" && typeof part["text"] !== "string") refuse(`${path}.text`, "expected a string");
  if (type === "refusal" && typeof part["refusal"] !== "string") refuse(`${path}.refusal`, "expected a string");
  if (type !== "image_url") return;
  const image = part["image_url"];
  if (!isObject(image)) return refuse(`${path}.image_url`, "expected an object");
  oneOf(image["detail"], ["auto", "low", "high", "original"], `${path}.image_url.detail`, refuse);
  if (typeof image["url"] !== "string" || !/^(https?:\/\/.|data:image\/(png|jpe?g|gif|webp);base64,[A-Za-z0-9+/_-])/.test(image["url"])) {
    refuse(`${path}.image_url.url`, "expected a URL or a base64 data URL of a png, jpeg, gif or webp image");
  }
}

function checkCalls(calls: unknown, path: string, refuse: Refuse): void {
  if (!Array.isArray(calls)) return refuse(path, "expected an array");
  if (calls.length === 0) return refuse(path, "empty array; minimum length 1");
  const ids = new Set<unknown>();
  for (const [i, call] of calls.entries()) {
    const where = `${path}[${i}]`;
    if (!isObject(call)) {
      refuse(where, "expected an object");
      continue;
    }
    onlyKeys(call, keys("id type function custom"), where, refuse);
    if (!isText(call["id"])) refuse(`${where}.id`, "missing required parameter");
    else if (call["id"].length > longestId) refuse(`${where}.id`, `string too long; maximum length ${longestId}`);
    if (ids.has(call["id"])) refuse(`${where}.id`, `duplicate tool call id '${String(call["id"])}'`);
    ids.add(call["id"]);
    if (call["type"] !== "function" && call["type"] !== "custom") {
      refuse(`${where}.type`, "expected function or custom");
      continue;
    }
    const inner = call[call["type"]];
    const said = call["type"] === "function" ? "arguments" : "input";
    if (!isObject(inner)) {
      refuse(`${where}.${call["type"]}`, "missing required parameter");
      continue;
    }
    checkName(inner["name"], `${where}.${call["type"]}.name`, refuse);
    if (typeof inner[said] !== "string") refuse(`${where}.${call["type"]}.${said}`, "expected a string");
  }
}

/** Tool messages come directly after the assistant message whose calls they answer, each call answered once. */
function checkAnswers(messages: readonly unknown[], refuse: Refuse): void {
  let open = new Map<string, string>();
  let closed = new Set<string>();
  const close = (): void => {
    for (const [id, path] of open) refuse(path, `an assistant message with 'tool_calls' must be followed by tool messages; no response for '${id}'`);
    open = new Map();
    closed = new Set();
  };
  for (const [i, message] of messages.entries()) {
    if (!isObject(message)) continue;
    if (message["role"] !== "tool") {
      close();
      for (const call of callsOf(message)) open.set(call, `messages[${i}]`);
      continue;
    }
    const id = String(message["tool_call_id"]);
    if (open.delete(id)) closed.add(id);
    else if (closed.has(id)) refuse(`messages[${i}]`, `more than one response for tool call '${id}'`);
    else refuse(`messages[${i}]`, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'");
  }
  close();
}

function callsOf(message: Fields): string[] {
  const calls = message["role"] === "assistant" && Array.isArray(message["tool_calls"]) ? message["tool_calls"] : [];
  return calls.flatMap((call) => (isObject(call) && isText(call["id"]) ? [call["id"]] : []));
}

function checkName(name: unknown, path: string, refuse: Refuse): void {
  if (!isText(name)) refuse(path, "missing required parameter");
  else if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) refuse(path, "must match ^[a-zA-Z0-9_-]{1,64}$");
}
