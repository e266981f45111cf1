/**
 * The conversation of a Messages request.
 *
 *  - user first; the last message is the user's, since current models refuse a prefilled answer
 *  - messages of one role in a row are allowed: the API joins them
 *  - each tool_use is answered by one tool_result in the next message, which has its results before anything else.
 *    (The API may also take results spread over several user messages; Skein promises one, so this is refused.)
 *  - a message's thinking comes before its tool_use, has a signature, and is not its last block
 *  - a search's result follows its server_tool_use in the same message, with the opaque parts that it came with
 *  - with thinking enabled by budget, an open tool loop starts with thinking; adaptive thinking has no such rule
 */
import { isObject, isText, keys, onlyKeys } from "./shape.ts";
import type { Fields, Refuse } from "./shape.ts";

const userBlocks = keys("text image document tool_result search_result container_upload");
const assistantBlocks = keys(
  "text thinking redacted_thinking tool_use server_tool_use web_search_tool_result web_fetch_tool_result code_execution_tool_result",
  "bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result mcp_tool_use mcp_tool_result compaction",
);
const resultBlocks = keys("text image document search_result tool_reference");

interface Turn {
  readonly role: string;
  readonly path: string;
  readonly blocks: readonly Fields[];
}

export function checkTurns(body: Fields, refuse: Refuse): void {
  const { messages } = body;
  if (!Array.isArray(messages)) return refuse("messages", "field required");
  if (messages.length === 0) return refuse("messages", "at least one message is required");
  const turns: Turn[] = [];
  for (const [i, message] of messages.entries()) {
    const turn = readTurn(message, `messages.${i}`, refuse);
    if (turn) turns.push(turn);
  }
  if (turns.length !== messages.length) return;
  if (turns[0]?.role !== "user") refuse("messages.0", 'first message must use the "user" role');
  const last = turns.at(-1);
  if (last?.role === "assistant") refuse(last.path, "this model does not support assistant message prefill; the conversation must end with a user message");
  checkResults(turns, refuse);
  checkToolLoop(turns, body["thinking"], refuse);
}

function readTurn(message: unknown, path: string, refuse: Refuse): Turn | null {
  if (!isObject(message)) {
    refuse(path, "expected an object");
    return null;
  }
  onlyKeys(message, keys("role content"), path, refuse);
  const { role, content } = message;
  if (role !== "user" && role !== "assistant") {
    refuse(`${path}.role`, `unexpected role ${JSON.stringify(role ?? null)}; a system prompt is the top-level 'system' parameter`);
    return null;
  }
  if (typeof content === "string") {
    if (content === "") refuse(path, `${role} messages must have non-empty content`);
    else if (content.trim() === "") refuse(path, "text content blocks must contain non-whitespace text");
    return { role, path, blocks: [{ type: "text", text: content }] };
  }
  if (!Array.isArray(content)) {
    refuse(`${path}.content`, "expected a string or an array of blocks");
    return null;
  }
  if (content.length === 0) refuse(path, `${role} messages must have non-empty content`);
  const blocks: Fields[] = [];
  for (const [i, block] of content.entries()) {
    const where = `${path}.content.${i}`;
    if (!isObject(block)) {
      refuse(where, "expected an object");
      continue;
    }
    blocks.push(block);
    const allowed = role === "user" ? userBlocks : assistantBlocks;
    if (allowed.has(String(block["type"]))) checkBlock(block, where, refuse);
    else refuse(`${where}.type`, `${JSON.stringify(block["type"] ?? null)} blocks are not allowed in ${role} messages`);
  }
  if (role === "assistant") {
    checkThinkingOrder(blocks, path, refuse);
    checkSearches(blocks, path, refuse);
  }
  return { role, path, blocks };
}

function checkBlock(block: Fields, path: string, refuse: Refuse): void {
  switch (block["type"]) {
    case "text": return checkText(block, path, refuse);
    case "image": return checkImage(block, path, refuse);
    case "thinking":
      onlyKeys(block, keys("type thinking signature cache_control"), path, refuse);
      if (typeof block["thinking"] !== "string") refuse(`${path}.thinking`, "field required");
      if (!isText(block["signature"])) refuse(`${path}.signature`, "field required");
      return;
    case "redacted_thinking":
      if (!isText(block["data"])) refuse(`${path}.data`, "field required");
      return;
    case "tool_use": return checkToolUse(block, path, refuse);
    case "tool_result": return checkResult(block, path, refuse);
    case "server_tool_use":
      onlyKeys(block, keys("type id name input cache_control caller"), path, refuse);
      if (typeof block["id"] !== "string" || !/^srvtoolu_[a-zA-Z0-9_]+$/.test(block["id"])) refuse(`${path}.id`, "must match ^srvtoolu_[a-zA-Z0-9_]+$");
      if (!isObject(block["input"])) refuse(`${path}.input`, "input should be a valid dictionary");
      return;
    case "web_search_tool_result": return checkSearchResult(block, path, refuse);
  }
}

function checkText(block: Fields, path: string, refuse: Refuse): void {
  onlyKeys(block, keys("type text cache_control citations"), path, refuse);
  if (typeof block["text"] !== "string") refuse(`${path}.text`, "field required");
  else if (block["text"] === "") refuse(path, "text content blocks must be non-empty");
  else if (block["text"].trim() === "") refuse(path, "text content blocks must contain non-whitespace text");
}

function checkImage(block: Fields, path: string, refuse: Refuse): void {
  const { source } = block;
  if (!isObject(source)) return refuse(`${path}.source`, "field required");
  if (source["type"] === "url") return isText(source["url"]) ? undefined : refuse(`${path}.source.url`, "field required");
  if (source["type"] === "file") return isText(source["file_id"]) ? undefined : refuse(`${path}.source.file_id`, "field required");
  if (source["type"] !== "base64") return refuse(`${path}.source.type`, "expected base64, url or file");
  if (!["image/jpeg", "image/png", "image/gif", "image/webp"].includes(String(source["media_type"]))) {
    refuse(`${path}.source.media_type`, "expected image/jpeg, image/png, image/gif or image/webp");
  }
  if (!isText(source["data"]) || !/^[A-Za-z0-9+/]+={0,2}$/.test(source["data"])) refuse(`${path}.source.data`, "expected base64 without a data URL prefix");
}

function checkToolUse(block: Fields, path: string, refuse: Refuse): void {
  onlyKeys(block, keys("type id name input cache_control caller"), path, refuse);
  if (typeof block["id"] !== "string" || !/^[a-zA-Z0-9_-]+$/.test(block["id"])) refuse(`${path}.id`, "must match ^[a-zA-Z0-9_-]+$");
  if (!isText(block["name"])) refuse(`${path}.name`, "field required");
  else if (block["name"].length > 200) refuse(`${path}.name`, "string should have at most 200 characters");
  if (!isObject(block["input"])) refuse(`${path}.input`, "input should be a valid dictionary");
}

function checkResult(block: Fields, path: string, refuse: Refuse): void {
  onlyKeys(block, keys("type tool_use_id content is_error cache_control"), path, refuse);
  if (typeof block["tool_use_id"] !== "string" || !/^[a-zA-Z0-9_-]+$/.test(block["tool_use_id"])) refuse(`${path}.tool_use_id`, "must match ^[a-zA-Z0-9_-]+$");
  if (block["is_error"] !== undefined && typeof block["is_error"] !== "boolean") refuse(`${path}.is_error`, "expected a boolean");
  const { content } = block;
  if (content === undefined || typeof content === "string") return;
  if (!Array.isArray(content)) return refuse(`${path}.content`, "expected a string or an array of blocks");
  for (const [i, part] of content.entries()) {
    const where = `${path}.content.${i}`;
    if (!isObject(part) || !resultBlocks.has(String(part["type"]))) refuse(where, "expected a text, image, document or search_result block");
    else if (block["is_error"] === true && part["type"] !== "text") refuse(where, "all content must be type 'text' if 'is_error' is true");
    else checkBlock(part, where, refuse);
  }
}

function checkSearchResult(block: Fields, path: string, refuse: Refuse): void {
  onlyKeys(block, keys("type tool_use_id content cache_control caller"), path, refuse);
  const { content } = block;
  if (isObject(content) && content["type"] === "web_search_tool_result_error") return;
  if (!Array.isArray(content)) return refuse(`${path}.content`, "expected an array of results or an error");
  for (const [i, result] of content.entries()) {
    const whole = isObject(result) && result["type"] === "web_search_result" && isText(result["url"]) && isText(result["encrypted_content"]);
    if (!whole) refuse(`${path}.content.${i}`, "expected a web_search_result with url and encrypted_content");
  }
}

function checkSearches(blocks: readonly Fields[], path: string, refuse: Refuse): void {
  const open = new Set<unknown>();
  for (const [i, block] of blocks.entries()) {
    if (block["type"] === "server_tool_use") open.add(block["id"]);
    if (block["type"] === "web_search_tool_result" && !open.delete(block["tool_use_id"])) refuse(`${path}.content.${i}`, "web_search_tool_result without its server_tool_use");
  }
  for (const id of open) refuse(path, `web_search tool use with id ${String(id)} was found without a corresponding web_search_tool_result block`);
}

function checkThinkingOrder(blocks: readonly Fields[], path: string, refuse: Refuse): void {
  const firstUse = blocks.findIndex((block) => block["type"] === "tool_use");
  for (const [i, block] of blocks.entries()) {
    if (isThinking(block) && firstUse >= 0 && i > firstUse) refuse(`${path}.content.${i}`, "thinking must come before tool_use");
  }
  const last = blocks.at(-1);
  if (last && isThinking(last)) refuse(path, "the final block in an assistant message cannot be 'thinking'");
}

function checkResults(turns: readonly Turn[], refuse: Refuse): void {
  const everUsed = new Set<unknown>();
  for (const [i, turn] of turns.entries()) {
    const used = turn.blocks.filter((block) => block["type"] === "tool_use").map((block) => block["id"]);
    for (const id of used) {
      if (everUsed.has(id)) refuse(turn.path, `tool_use ids must be unique: ${String(id)}`);
      everUsed.add(id);
    }
    const next = turns[i + 1];
    const given = new Set(next?.role === "user" ? leadingResults(next) : []);
    const missing = used.filter((id) => !given.has(id));
    if (missing.length > 0) refuse(turn.path, `tool_use ids were found without tool_result blocks immediately after: ${missing.join(", ")}`);
    if (turn.role === "user") checkAnswered(turn, turns[i - 1], refuse);
  }
}

function leadingResults(turn: Turn): unknown[] {
  const end = turn.blocks.findIndex((block) => block["type"] !== "tool_result");
  return turn.blocks.slice(0, end < 0 ? undefined : end).map((block) => block["tool_use_id"]);
}

function checkAnswered(turn: Turn, before: Turn | undefined, refuse: Refuse): void {
  const asked = new Set(before?.role === "assistant" ? before.blocks.filter((block) => block["type"] === "tool_use").map((block) => block["id"]) : []);
  const seen = new Set<unknown>();
  const leading = leadingResults(turn).length;
  for (const [i, block] of turn.blocks.entries()) {
    if (block["type"] !== "tool_result") continue;
    const path = `${turn.path}.content.${i}`;
    const id = block["tool_use_id"];
    if (!asked.has(id)) refuse(path, `unexpected tool_use_id found in tool_result blocks: ${String(id)}`);
    if (seen.has(id)) refuse(path, `each tool_use must have a single result; found multiple tool_result blocks with id: ${String(id)}`);
    if (i >= leading) refuse(path, "tool_result blocks must come before all other content");
    seen.add(id);
  }
}

function checkToolLoop(turns: readonly Turn[], thinking: unknown, refuse: Refuse): void {
  if (!isObject(thinking) || thinking["type"] !== "enabled") return;
  let first: Turn | undefined;
  let latest: Turn | undefined;
  for (let i = turns.length - 1; i > 0; i -= 2) {
    const results = turns[i];
    const asking = turns[i - 1];
    if (results?.role !== "user" || asking?.role !== "assistant") break;
    if (!results.blocks.every((block) => block["type"] === "tool_result")) break;
    first = asking;
    latest ??= asking;
  }
  if (!first || !latest) return;
  if (!startsWithThinking(first) && !startsWithThinking(latest)) {
    refuse(`${first.path}.content.0.type`, "expected 'thinking' or 'redacted_thinking': when thinking is enabled, a final assistant message must start with a thinking block");
  }
}

function startsWithThinking(turn: Turn): boolean {
  const block = turn.blocks[0];
  return block !== undefined && isThinking(block);
}

function isThinking(block: Fields): boolean {
  return block["type"] === "thinking" || block["type"] === "redacted_thinking";
}
