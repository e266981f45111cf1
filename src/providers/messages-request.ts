/**
 * A request for Anthropic's Messages API.
 *
 * - The user speaks first and last, roles alternate, and no text is blank.
 * - Thinking goes back, unchanged and with its signature, to where it was made only; before the calls that it led to; never last.
 * - All results of a message's calls come first in the next message, then what the user and developers said.
 * - Arguments are objects, ids are of letters, digits, `_` and `-`.
 * - Searches of the server go back as the blocks that it made, to where they were made and while search is on; elsewhere as text.
 * - Four cache breakpoints: tools, instructions, and the ends of the last two messages of the user.
 */
import { isCall, isMessage, isOutput, isReasoning, toolName, type ReasoningItem } from "../protocol/item.ts";
import type { ModelRequest } from "../core/provider.ts";
import { argumentsOf, nameOf, paired } from "./calls.ts";
import { dataOf, hostedText, partsOf, textOnly, type Part } from "./content.ts";
import { asText } from "./json.ts";
import { sameOrigin } from "./origin.ts";
import { parametersOf } from "./schema.ts";
import { tagged } from "./tagged.ts";
import { maxTokensOf, thinkingOf } from "./thinking.ts";
import { citationsOf, searchBlocks } from "./messages-search.ts";
import type { Building } from "./wire.ts";

const LONGEST_ID = 64;
const CACHE = { cache_control: { type: "ephemeral" } };

type Block = Readonly<{ type: string } & Record<string, unknown>>;
interface Message {
  role: "user" | "assistant";
  content: Block[];
}

export function toRequest(request: ModelRequest, building: Building): object {
  const { model, instructions, effort, schema } = request;
  const tools = toolsOf(request);
  const messages = messagesOf(request, building);
  const { thinking, effort: level } = thinkingOf(model, effort);
  const output = { ...(level === undefined ? {} : { effort: level }), ...(schema === undefined ? {} : { format: { type: "json_schema", schema } }) };
  return {
    model,
    max_tokens: maxTokensOf(model),
    ...(instructions.trim() === "" ? {} : { system: [{ type: "text", text: instructions, ...CACHE }] }),
    ...(tools.length === 0 ? {} : { tools, ...(request.toolChoice === "none" ? { tool_choice: { type: "none" } } : {}) }),
    messages: framed(messages),
    ...(thinking && !(thinking.type === "enabled" && continuesUnthinking(messages)) ? { thinking } : {}),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    stream: true,
  };
}

function toolsOf({ tools, webSearch }: ModelRequest): object[] {
  const named: object[] = tools.map((tool) => ({ name: tool.name, description: tool.description, input_schema: parametersOf(tool) }));
  if (webSearch !== null && !tools.some(({ name }) => name === SEARCH.name)) named.push(SEARCH);
  return named.map((tool, index) => (index === named.length - 1 ? { ...tool, ...CACHE } : tool));
}

/** It hands out what an index holds and opens no page by itself, so it is the same whether `cached` or `live` was asked for. */
const SEARCH = { type: "web_search_20250305", name: "web_search" };

function messagesOf(request: ModelRequest, { images, origin }: Building): Message[] {
  const searches = new Set<unknown>();
  const messages: Message[] = [];
  const add = (role: Message["role"], ...blocks: Block[]) => {
    const last = messages.at(-1);
    if (blocks.length === 0) return;
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: blocks });
  };
  for (const { item, id, origin: made } of paired(request.input, LONGEST_ID)) {
    const own = sameOrigin(made, origin);
    if (isMessage(item)) {
      const parts = partsOf(item.content, images);
      if (item.role === "assistant") add("assistant", ...blocksOf([{ kind: "text", text: textOnly(parts) }]).map((block) => ({ ...block, ...(own && searches.size > 0 ? citationsOf(item) : {}) })));
      else if (item.role === "user") add("user", ...blocksOf(parts));
      else if (textOnly(parts).trim() !== "") add("user", { type: "text", text: tagged("developer", textOnly(parts)) });
    } else if (isReasoning(item)) {
      if (own && !hasCall(messages.at(-1))) add("assistant", ...thinkingBlock(item));
    } else if (isCall(item)) add("assistant", { type: "tool_use", id: id!, name: nameOf(toolName(item)), input: argumentsOf(item) });
    else if (isOutput(item)) add("user", { type: "tool_result", tool_use_id: id!, content: resultOf(partsOf(item.output, images)) });
    else if (item.type === "web_search_call") {
      const blocks = own && request.webSearch !== null ? searchBlocks(item) : null;
      const isNew = blocks !== null && !searches.has(blocks[0]["id"]);
      if (isNew) searches.add(blocks[0]["id"]);
      add("assistant", ...(isNew ? blocks : [{ type: "text", text: hostedText(item) }]));
    }
  }
  return withoutLastThinking(messages);
}

function hasCall(message: Message | undefined): boolean {
  return message?.role === "assistant" && message.content.some(({ type }) => type === "tool_use");
}

/** `encrypted_content` holds the signature, or the whole of a redacted block. */
function thinkingBlock(item: ReasoningItem): Block[] {
  const opaque = asText(item.encrypted_content);
  if (opaque === "") return [];
  if (item["redacted"] === true) return [{ type: "redacted_thinking", data: opaque }];
  const text = Array.isArray(item.content) ? item.content.map((part) => asText(part?.text)).join("") : "";
  return [{ type: "thinking", thinking: text, signature: opaque }];
}

function isThinking({ type }: Block): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** A message must not end in thinking; one that would be nothing else disappears, and its neighbours become one. */
function withoutLastThinking(messages: readonly Message[]): Message[] {
  const kept: Message[] = [];
  for (const { role, content } of messages) {
    const end = content.findLastIndex((block) => !isThinking(block)) + 1;
    if (end === 0) continue;
    const last = kept.at(-1);
    if (last?.role === role) last.content.push(...content.slice(0, end));
    else kept.push({ role, content: content.slice(0, end) });
  }
  return kept;
}

function blocksOf(parts: readonly Part[]): Block[] {
  return parts.filter((part) => part.kind === "image" || part.text.trim() !== "").map((part) => (part.kind === "text" ? { type: "text", text: part.text } : imageOf(part.url)));
}

function imageOf(url: string): Block {
  const data = dataOf(url);
  if (!data) return { type: "image", source: { type: "url", url } };
  return { type: "image", source: { type: "base64", media_type: data.mediaType, data: data.data } };
}

function resultOf(parts: readonly Part[]): string | Block[] {
  if (parts.some((part) => part.kind === "image")) return blocksOf(parts);
  const text = textOnly(parts);
  return text.trim() === "" ? "(no output)" : text;
}

/** With a budget, an unfinished round of calls must have begun with thinking; one that did not goes on without. */
function continuesUnthinking(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  const asked = messages.at(-2);
  if (last?.role !== "user" || asked?.role !== "assistant" || !last.content.some(({ type }) => type === "tool_result")) return false;
  return !isThinking(asked.content[0]!);
}

/** The user first and last, and breakpoints where the next request will begin like this one. */
function framed(messages: readonly Message[]): Message[] {
  const users = messages.flatMap(({ role }, index) => (role === "user" ? [index] : [])).slice(-2);
  const cached = messages.map((message, index) => {
    if (!users.includes(index)) return message;
    const last = message.content.at(-1)!;
    return { role: message.role, content: [...message.content.slice(0, -1), { ...last, ...CACHE }] };
  });
  const opening = cached[0]?.role === "assistant" ? [said("(What was said before is not shown.)")] : [];
  const closing = cached.at(-1)?.role === "user" ? [] : [said("Continue.")];
  return [...opening, ...cached, ...closing];
}

function said(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] };
}
