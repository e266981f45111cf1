/**
 * A request for the Responses API. Items are its own shapes already: what this very provider made goes back as it was sent, without its
 * id (nothing is stored there, so ids name nothing); what others made goes with the fields that the API knows. Reasoning goes back
 * only to where it was made, and never without the item that it led to.
 *
 * Free-form tools and calls go to models that are known to take them; to others they are functions with one string, `input`.
 */
import { isCall, isMessage, isOutput, isReasoning, type CallItem, type Item, type MessageItem } from "../protocol/item.ts";
import type { ModelRequest } from "../core/provider.ts";
import { argumentsText, nameOf, paired, type Paired } from "./calls.ts";
import { hostedText, partsOf, textOnly, type Images, type Part } from "./content.ts";
import { asText, isObject, type Fields } from "./json.ts";
import { sameOrigin } from "./origin.ts";
import { isStrict, parametersOf } from "./schema.ts";
import type { Building } from "./wire.ts";

const LONGEST_ID = 64;

export function toRequest(request: ModelRequest, building: Building): object {
  const { model, instructions, effort, thread, schema } = request;
  const input = inputOf(request, building);
  return {
    model,
    ...(instructions === "" ? {} : { instructions }),
    input: input.length > 0 ? input : [{ type: "message", role: "user", content: [{ type: "input_text", text: "Continue." }] }],
    tools: toolsOf(request),
    tool_choice: request.toolChoice,
    parallel_tool_calls: true,
    ...(effort === null ? {} : { reasoning: { effort, summary: "auto" } }),
    store: false,
    stream: true,
    ...(reasons(model) ? { include: ["reasoning.encrypted_content"] } : {}),
    prompt_cache_key: thread.slice(0, 64),
    ...(schema === undefined ? {} : { text: { format: { type: "json_schema", name: "answer", strict: isStrict(schema), schema } } }),
  };
}

/** OpenAI refuses to include encrypted reasoning for its models that do not reason. */
function reasons(model: string): boolean {
  return !/^(?:gpt-[34]|chatgpt-)/u.test(model);
}

function takesFreeform(model: string): boolean {
  return /^(?:gpt-(?:[5-9]|[1-9]\d)|codex-(?!mini))/u.test(model);
}

function toolsOf({ model, tools, webSearch }: ModelRequest): object[] {
  const named = tools.map((tool) => {
    const { name, description, freeform } = tool;
    if (freeform && takesFreeform(model)) return { type: "custom", name, description, format: { type: "grammar", ...freeform } };
    return { type: "function", name, description, strict: false, parameters: parametersOf(tool) };
  });
  if (webSearch === null) return named;
  return [...named, { type: "web_search", ...(webSearch === "cached" ? { external_web_access: false } : {}) }];
}

interface Sending {
  images: Images;
  freeform: boolean;
  /** Ids of free-form calls that were sent as functions: so must be their outputs. */
  functions: Set<string>;
}

function inputOf(request: ModelRequest, { images, origin }: Building): Fields[] {
  const sending: Sending = { images, freeform: takesFreeform(request.model), functions: new Set() };
  return withoutLooseReasoning(paired(request.input, LONGEST_ID).flatMap((entry) => itemOf(entry, sending, sameOrigin(entry.origin, origin))));
}

/** Backwards: whether a reasoning item stays depends on what stays after it. */
function withoutLooseReasoning(items: readonly Fields[]): Fields[] {
  const kept: Fields[] = [];
  for (const item of items.toReversed()) {
    const follower = kept.at(-1);
    if (item["type"] === "reasoning" && !(follower && isModelMade(follower))) continue;
    kept.push(item);
  }
  return kept.reverse();
}

function isModelMade(item: Fields): boolean {
  const type = asText(item["type"]);
  return type === "message" ? item["role"] === "assistant" : type === "reasoning" || type.endsWith("_call");
}

/** Once for each item of each request: three arguments, so that nothing is made for it. */
function itemOf({ item, id }: Paired, { images, freeform, functions }: Sending, own: boolean): Fields[] {
  if (isMessage(item)) return messageOf(item, images, own);
  if (isReasoning(item)) return own ? reasoningOf(item) : [];
  if (isCall(item)) {
    if (item.type !== "custom_tool_call" || own || freeform) return [callOf(item, id!, own)];
    functions.add(id!);
    return [{ type: "function_call", call_id: id!, name: nameOf(item.name), arguments: argumentsText(item) }];
  }
  if (isOutput(item)) return [{ type: functions.has(id!) ? "function_call_output" : item.type, call_id: id!, output: outputOf(item.output, images) }];
  if (item.type === "compaction") return own && asText(item["encrypted_content"]) !== "" ? [withoutId(item)] : [];
  if (item.type !== "web_search_call") return [];
  return own && isSearch(item["action"]) ? [withoutId(item)] : [assistantText(hostedText(item))];
}

function isSearch(action: unknown): boolean {
  return isObject(action) && /^(?:search|open_page|find_in_page)$/u.test(asText(action["type"]));
}

/** Without its opaque part or the raw thoughts, reasoning tells a model nothing. */
function reasoningOf(item: Item): Fields[] {
  if (asText(item["encrypted_content"]) !== "") return [withoutId(item)];
  const { encrypted_content: _none, ...rest } = withoutId(item);
  return Array.isArray(rest["content"]) && rest["content"].length > 0 ? [rest] : [];
}

function messageOf(message: MessageItem, images: Images, own: boolean): Fields[] {
  if (message.role === "assistant") {
    if (own && message.content.every(isOutputPart)) return [withoutId(message)];
    return [assistantText(textOnly(partsOf(message.content, images)))];
  }
  const content = partsOf(message.content, images).map(inputPart);
  return content.length === 0 ? [] : [{ type: "message", role: message.role === "user" ? "user" : "developer", content }];
}

function isOutputPart(part: unknown): boolean {
  return isObject(part) && part["type"] === "output_text" && typeof part["text"] === "string";
}

function assistantText(text: string): Fields {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

function inputPart(part: Part): object {
  if (part.kind === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", image_url: part.url, ...(part.detail === null ? {} : { detail: part.detail }) };
}

function callOf(call: CallItem, id: string, own: boolean): Fields {
  if (call.type === "local_shell_call") {
    if (own && isExec(call.action)) return { ...withoutId(call), call_id: id };
    return { type: "function_call", call_id: id, name: "local_shell", arguments: argumentsText(call) };
  }
  const rest = own ? withoutId(call) : { type: call.type };
  const name = nameOf(call.name);
  return call.type === "custom_tool_call" ? { ...rest, call_id: id, name, input: call.input } : { ...rest, call_id: id, name, arguments: call.arguments };
}

function isExec(action: unknown): boolean {
  return isObject(action) && action["type"] === "exec" && Array.isArray(action["command"]) && action["command"].every((word) => typeof word === "string");
}

function outputOf(output: unknown, images: Images): string | object[] {
  const parts = partsOf(output, images);
  return parts.some((part) => part.kind === "image") ? parts.map(inputPart) : parts.map((part) => (part.kind === "text" ? part.text : "")).join("\n");
}

function withoutId(item: Item): Fields {
  const { id: _, ...rest } = item;
  return rest;
}
