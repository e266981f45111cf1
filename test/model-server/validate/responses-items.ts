/**
 * The `input` of a Responses request: each item's shape, and how items belong together.
 *
 *  - a call is answered by exactly one output with its call_id, later in the input; an output answers a call before it
 *  - a reasoning item is followed by the item that it led to: never last, never before input
 *  - no two items have the same id
 */
import { isObject, isText, keys, oneOf, onlyKeys } from "./shape.ts";
import type { Fields, Refuse } from "./shape.ts";

const longestText = 10_485_760;

/** Which calls an output may answer. Local shell calls may be answered as functions. */
const answers: Readonly<Record<string, readonly string[]>> = {
  function_call_output: ["function_call", "local_shell_call"],
  custom_tool_call_output: ["custom_tool_call"],
  local_shell_call_output: ["local_shell_call"],
  shell_call_output: ["shell_call"],
  apply_patch_call_output: ["apply_patch_call"],
  computer_call_output: ["computer_call"],
  tool_search_output: ["tool_search_call"],
};
const answered: ReadonlySet<string> = new Set(Object.values(answers).flat());

/** Items that a client passes on without looking inside. */
const opaque = keys(
  "file_search_call computer_call computer_call_output image_generation_call code_interpreter_call local_shell_call_output",
  "shell_call shell_call_output apply_patch_call apply_patch_call_output tool_search_call tool_search_output mcp_list_tools",
  "mcp_approval_request mcp_approval_response mcp_call item_reference compaction compaction_summary context_compaction additional_tools",
);

const fields: Readonly<Record<string, ReadonlySet<string>>> = {
  message: keys("type role content id status phase"),
  function_call: keys("type id call_id name namespace arguments status caller"),
  function_call_output: keys("type id call_id output status caller"),
  custom_tool_call: keys("type id call_id name namespace input status caller"),
  custom_tool_call_output: keys("type id call_id name output status caller"),
  reasoning: keys("type id summary content encrypted_content status"),
  local_shell_call: keys("type id call_id action status"),
  web_search_call: keys("type id action status results"),
};

const idStarts: Readonly<Record<string, string>> = { web_search_call: "ws", message: "msg", function_call: "fc", custom_tool_call: "ctc", reasoning: "rs" };

export function checkItems(body: Fields, refuse: Refuse): void {
  const { input } = body;
  const continued = isText(body["previous_response_id"]) || body["conversation"] !== undefined || body["prompt"] !== undefined;
  if (typeof input === "string") return;
  if (input === undefined && continued) return;
  if (!Array.isArray(input)) return refuse("input", "expected a string or an array of items");
  if (input.length === 0 && !continued) return refuse("input", "one of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided");
  const items: (Fields & { readonly kind: string })[] = [];
  for (const [i, item] of input.entries()) {
    if (isObject(item)) items.push({ ...item, kind: kindOf(item) });
    else refuse(`input[${i}]`, "expected an object");
  }
  if (items.length !== input.length) return;
  for (const [i, item] of items.entries()) checkItem(input[i] as Fields, item.kind, { path: `input[${i}]`, store: body["store"] !== false }, refuse);
  checkPairs(items, continued, refuse);
  checkReasoningFollowed(items, refuse);
  checkIds(items, refuse);
}

type Kinded = Fields & { readonly kind: string };

function kindOf(item: Fields): string {
  if (item["type"] === undefined && item["role"] !== undefined) return "message";
  return String(item["type"]);
}

function checkItem(item: Fields, kind: string, at: { path: string; store: boolean }, refuse: Refuse): void {
  const { path } = at;
  const known = fields[kind];
  if (!known) {
    if (!opaque.has(kind)) refuse(`${path}.type`, `invalid value ${JSON.stringify(item["type"] ?? null)}`);
    return;
  }
  onlyKeys(item, known, path, refuse);
  const states = kind === "web_search_call" ? ["in_progress", "searching", "completed", "failed"] : ["in_progress", "completed", "incomplete"];
  oneOf(item["status"], states, `${path}.status`, refuse);
  switch (kind) {
    case "web_search_call": return checkSearch(item["action"], `${path}.action`, refuse);
    case "message": return checkMessage(item, path, refuse);
    case "reasoning": return checkReasoning(item, at, refuse);
    case "function_call": return checkText(item, ["arguments"], path, refuse), checkCallName(item, path, refuse);
    case "custom_tool_call": return checkText(item, ["input"], path, refuse), checkCallName(item, path, refuse);
    case "function_call_output":
    case "custom_tool_call_output": return checkOutput(item["output"], `${path}.output`, refuse);
    case "local_shell_call": return checkShell(item["action"], `${path}.action`, refuse);
  }
}

function checkText(item: Fields, names: readonly string[], path: string, refuse: Refuse): void {
  for (const name of names) {
    const value = item[name];
    if (typeof value !== "string") refuse(`${path}.${name}`, value === undefined ? "missing required parameter" : "expected a string");
    else if (value.length > longestText) refuse(`${path}.${name}`, `string too long; maximum length ${longestText}`);
  }
}

function checkCallName(item: Fields, path: string, refuse: Refuse): void {
  const name = item["name"];
  if (typeof name !== "string") refuse(`${path}.name`, "missing required parameter");
  else if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) refuse(`${path}.name`, "must match ^[a-zA-Z0-9_-]{1,64}$");
}

function checkMessage(item: Fields, path: string, refuse: Refuse): void {
  const { role, content } = item;
  if (!["user", "assistant", "developer", "system"].includes(String(role))) return refuse(`${path}.role`, `invalid value ${JSON.stringify(role ?? null)}`);
  if (typeof content === "string") return checkText(item, ["content"], path, refuse);
  if (!Array.isArray(content)) return refuse(`${path}.content`, "expected a string or an array of content parts");
  for (const [i, part] of content.entries()) {
    if (role === "assistant") checkOutputPart(part, `${path}.content[${i}]`, refuse);
    else checkInputPart(part, `${path}.content[${i}]`, refuse);
  }
}

function checkOutputPart(part: unknown, path: string, refuse: Refuse): void {
  if (!isObject(part)) return refuse(path, "expected an object");
  if (part["type"] === "output_text") {
    onlyKeys(part, keys("type text annotations logprobs"), path, refuse);
    return checkText(part, ["text"], path, refuse);
  }
  if (part["type"] === "refusal") return checkText(part, ["refusal"], path, refuse);
  refuse(`${path}.type`, `invalid value ${JSON.stringify(part["type"] ?? null)}; supported values are 'output_text' and 'refusal'`);
}

function checkInputPart(part: unknown, path: string, refuse: Refuse): void {
  if (!isObject(part)) return refuse(path, "expected an object");
  switch (part["type"]) {
    case "input_text":
      onlyKeys(part, keys("type text"), path, refuse);
      return checkText(part, ["text"], path, refuse);
    case "input_image": return checkImage(part, path, refuse);
    case "input_file":
    case "input_audio": return;
  }
  refuse(`${path}.type`, `invalid value ${JSON.stringify(part["type"] ?? null)}; supported values are 'input_text', 'input_image' and 'input_file'`);
}

function checkImage(part: Fields, path: string, refuse: Refuse): void {
  onlyKeys(part, keys("type image_url file_id detail"), path, refuse);
  oneOf(part["detail"], ["low", "high", "auto", "original"], `${path}.detail`, refuse);
  if (isText(part["file_id"])) return;
  const url = part["image_url"];
  if (typeof url !== "string") return refuse(`${path}.image_url`, "expected a string with a URL or a data URL");
  if (!/^(https?:\/\/.|data:image\/(png|jpe?g|gif|webp);base64,[A-Za-z0-9+/_-])/.test(url)) {
    refuse(`${path}.image_url`, "expected a valid URL or a base64 data URL of a png, jpeg, gif or webp image");
  }
}

function checkOutput(output: unknown, path: string, refuse: Refuse): void {
  if (typeof output === "string") {
    if (output.length > longestText) refuse(path, `string too long; maximum length ${longestText}`);
    return;
  }
  if (!Array.isArray(output)) return refuse(path, "expected a string or an array of content parts");
  for (const [i, part] of output.entries()) checkInputPart(part, `${path}[${i}]`, refuse);
}

function checkReasoning(item: Fields, { path, store }: { path: string; store: boolean }, refuse: Refuse): void {
  const { summary, content, encrypted_content: encrypted, id } = item;
  if (!Array.isArray(summary)) refuse(`${path}.summary`, "missing required parameter");
  else {
    for (const [i, part] of summary.entries()) {
      const good = isObject(part) && part["type"] === "summary_text" && typeof part["text"] === "string";
      if (!good) refuse(`${path}.summary[${i}]`, "expected a summary_text part");
    }
  }
  if (content !== undefined && content !== null && !Array.isArray(content)) refuse(`${path}.content`, "expected an array");
  if (encrypted !== undefined && encrypted !== null && !isText(encrypted)) refuse(`${path}.encrypted_content`, "expected a string");
  if (!store && isText(id) && !isText(encrypted)) {
    refuse(path, `item with id '${id}' not found; items are not persisted when 'store' is set to false`);
  }
}

function checkSearch(action: unknown, path: string, refuse: Refuse): void {
  if (action === undefined || action === null) return;
  if (!isObject(action)) return refuse(path, "expected an object");
  oneOf(action["type"] ?? "none given", ["search", "open_page", "find_in_page", "find"], `${path}.type`, refuse);
}

function checkShell(action: unknown, path: string, refuse: Refuse): void {
  if (!isObject(action) || action["type"] !== "exec") return refuse(path, "expected an exec action");
  const { command } = action;
  if (!Array.isArray(command) || !command.every((word) => typeof word === "string")) refuse(`${path}.command`, "expected an array of strings");
}

function checkPairs(items: readonly Kinded[], continued: boolean, refuse: Refuse): void {
  const calls = new Map<string, { kind: string; path: string; answered: boolean }>();
  for (const [i, item] of items.entries()) {
    const path = `input[${i}]`;
    const isCall = answered.has(item.kind);
    const targets = answers[item.kind];
    if (!isCall && !targets) continue;
    const id = item["call_id"] ?? (item.kind.startsWith("local_shell") ? item["id"] : undefined);
    if (item.kind.startsWith("tool_search") && (id === undefined || id === null)) continue;
    if (!isText(id)) {
      refuse(`${path}.call_id`, id === "" ? "empty string; minimum length 1" : "missing required parameter");
      continue;
    }
    if (id.length > 64) refuse(`${path}.call_id`, "string too long; maximum length 64");
    if (isCall) {
      if (calls.has(id)) refuse(`${path}.call_id`, `duplicate call_id '${id}'`);
      calls.set(id, { kind: item.kind, path, answered: false });
      continue;
    }
    const call = calls.get(id);
    if (!call || !targets?.includes(call.kind)) {
      if (!continued) refuse(path, `no tool call found for ${item.kind} with call_id '${id}'`);
    } else if (call.answered) refuse(path, `more than one output for call_id '${id}'`);
    else call.answered = true;
  }
  for (const [id, call] of calls) if (!call.answered) refuse(call.path, `no tool output found for ${call.kind} '${id}'`);
}

function checkReasoningFollowed(items: readonly Kinded[], refuse: Refuse): void {
  for (const [i, item] of items.entries()) {
    if (item.kind !== "reasoning") continue;
    const next = items[i + 1];
    if (!next || !isModelOutput(next)) refuse(`input[${i}]`, "reasoning was provided without its required following item");
  }
}

/** A further reasoning item counts: the last of them is checked in its turn. */
function isModelOutput(item: Kinded): boolean {
  if (item.kind === "message") return item["role"] === "assistant";
  return item.kind === "reasoning" || item.kind === "item_reference" || item.kind.includes("compaction") || (item.kind.endsWith("_call") || item.kind.startsWith("mcp_"));
}

function checkIds(items: readonly Kinded[], refuse: Refuse): void {
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    const id = item["id"];
    if (id === undefined || id === null || item.kind === "item_reference") continue;
    const path = `input[${i}].id`;
    if (!isText(id)) {
      refuse(path, "expected a non-empty string");
      continue;
    }
    const start = idStarts[item.kind];
    if (id.length > 64 && item.kind !== "reasoning") refuse(path, "string too long; maximum length 64");
    if (start !== undefined && !id.startsWith(start)) refuse(path, `'${id}': expected an ID that begins with '${start}'`);
    if (seen.has(id)) refuse(path, `duplicate item found with id '${id}'`);
    seen.add(id);
  }
}
