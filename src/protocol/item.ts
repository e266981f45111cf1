/**
 * Item: one unit of the transcript, in the shapes of the Responses API, verbatim.
 *
 * An item is stored exactly as the model sent it or as the user typed it: fields that this build does not know are kept, and
 * kinds that it does not know are kept in the log but never sent back to a model. Images and long contents are blob
 * references (`blob:<sha256>`) until a request is built.
 */
import type { Json } from "./json.ts";

export type TextPart = { type: "input_text" | "output_text"; text: string };
export type ImagePart = { type: "input_image"; image_url: string; detail?: string };
export type ContentPart = TextPart | ImagePart | { type: string; [field: string]: Json | undefined };

export interface MessageItem {
  type: "message";
  role: "user" | "assistant" | "developer" | "system";
  content: ContentPart[];
  [field: string]: unknown;
}
export interface ReasoningItem {
  type: "reasoning";
  summary: { type: string; text: string }[];
  content?: { type: string; text: string }[];
  encrypted_content?: string | null;
  [field: string]: unknown;
}
export interface FunctionCallItem {
  type: "function_call";
  call_id: string;
  name: string;
  arguments: string;
  [field: string]: unknown;
}
export interface CustomToolCallItem {
  type: "custom_tool_call";
  call_id: string;
  name: string;
  input: string;
  [field: string]: unknown;
}
export interface LocalShellCallItem {
  type: "local_shell_call";
  call_id: string;
  action: Json;
  [field: string]: unknown;
}
export interface FunctionCallOutputItem {
  type: "function_call_output";
  call_id: string;
  output: string | ContentPart[];
  [field: string]: unknown;
}
export interface CustomToolCallOutputItem {
  type: "custom_tool_call_output";
  call_id: string;
  output: string | ContentPart[];
  [field: string]: unknown;
}
export interface WebSearchCallItem {
  type: "web_search_call";
  [field: string]: unknown;
}
export interface UnknownItem {
  type: string;
  [field: string]: unknown;
}

export type CallItem = FunctionCallItem | CustomToolCallItem | LocalShellCallItem;
export type OutputItem = FunctionCallOutputItem | CustomToolCallOutputItem;
export type Item = MessageItem | ReasoningItem | CallItem | OutputItem | WebSearchCallItem | UnknownItem;

/** Where an item was made. Opaque parts of it (encrypted reasoning, signatures) go back only to the same place. */
export interface Origin {
  wire: "responses" | "chat" | "messages" | "replay";
  provider: string;
  model: string;
  account?: string;
}

const str = (value: unknown): value is string => typeof value === "string";
const object = (value: unknown): boolean => typeof value === "object" && value !== null;
const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant", "developer", "system"]);

// Items are kept as they were read, so nothing is assumed here: each of these is false for whatever a request could not hold.
export function isMessage(item: Item): item is MessageItem {
  if (!isKind(item, "message") || !ROLES.has(item["role"])) return false;
  return Array.isArray(item["content"]) && item["content"].every(object);
}
export function isCall(item: Item): item is CallItem {
  if (!object(item) || !str(item["call_id"])) return false;
  switch (item.type) {
    case "function_call":
      return str(item["name"]) && str(item["arguments"]);
    case "custom_tool_call":
      return str(item["name"]) && str(item["input"]);
    case "local_shell_call":
      return object(item["action"]);
    default:
      return false;
  }
}
export function isOutput(item: Item): item is OutputItem {
  if (!isKind(item, "function_call_output") && !isKind(item, "custom_tool_call_output")) return false;
  return str(item["call_id"]) && (str(item["output"]) || (Array.isArray(item["output"]) && item["output"].every(object)));
}
export function isReasoning(item: Item): item is ReasoningItem {
  return isKind(item, "reasoning") && Array.isArray(item["summary"]);
}
export function isWebSearch(item: Item): item is WebSearchCallItem {
  return isKind(item, "web_search_call");
}
function isKind(item: Item, type: string): boolean {
  return object(item) && item.type === type;
}

/** The tool that a call names. A local shell call is the shell tool by another shape. */
export function toolName(call: CallItem): string {
  return call.type === "local_shell_call" ? "local_shell" : (call as FunctionCallItem).name;
}

/** The output item that answers a call: the kind follows the call's kind. */
export function outputFor(call: CallItem, output: string | ContentPart[]): OutputItem {
  const type = call.type === "custom_tool_call" ? "custom_tool_call_output" : "function_call_output";
  return { type, call_id: call.call_id, output };
}

/** The text of a message or an output, parts joined; images and unknown parts give nothing. */
export function textOf(item: Item): string {
  if (isOutput(item)) return typeof item.output === "string" ? item.output : partsText(item.output);
  if (isMessage(item)) return partsText(item.content);
  return "";
}
function partsText(parts: readonly ContentPart[]): string {
  let text = "";
  for (const part of parts) if (part && str((part as TextPart).text)) text += (part as TextPart).text;
  return text;
}

export function userText(text: string): MessageItem {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}
