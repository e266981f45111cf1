/**
 * Searches that Anthropic's server makes in the middle of an answer: a `server_tool_use` block, and its `web_search_tool_result`. Both
 * together are one item, which keeps the blocks as they came, opaque parts included:
 *
 *   { type: "web_search_call", status, action: { type: "search", query }, blocks: [server_tool_use, web_search_tool_result] }
 *
 * Text that follows may cite the results; what it cites is kept as `citations` of its part.
 */
import type { Item } from "../protocol/item.ts";
import { asObject, asText, isObject, type Fields } from "./json.ts";

type Block = Readonly<{ type: string } & Record<string, unknown>>;

export function searchItem(use: Fields, result: Fields | null): Item {
  const query = asText(asObject(use["input"])["query"]);
  const status = result === null ? "in_progress" : Array.isArray(result["content"]) ? "completed" : "failed";
  return { type: "web_search_call", status, action: { type: "search", query }, ...(result === null ? {} : { blocks: [use, result] }) };
}

/** Null where it was not made on this wire, or is not whole. */
export function searchBlocks(item: Item): [use: Block, result: Block] | null {
  const [use, result] = Array.isArray(item["blocks"]) ? (item["blocks"] as readonly unknown[]).map(asObject) : [];
  if (!use || use["type"] !== "server_tool_use" || !/^srvtoolu_\w+$/u.test(asText(use["id"])) || !isObject(use["input"])) return null;
  if (!result || result["type"] !== "web_search_tool_result" || result["tool_use_id"] !== use["id"]) return null;
  return isContent(result["content"]) ? [use as Block, result as Block] : null;
}

function isContent(content: unknown): boolean {
  if (!Array.isArray(content)) return asObject(content)["type"] === "web_search_tool_result_error";
  return (content as readonly unknown[]).every((one) => isObject(one) && one["type"] === "web_search_result" && asText(one["url"]) !== "" && asText(one["encrypted_content"]) !== "");
}

export function citationsOf(item: Item): { citations?: unknown[] } {
  const [part] = Array.isArray(item["content"]) ? (item["content"] as readonly unknown[]) : [];
  const { citations } = asObject(part);
  return Array.isArray(citations) && citations.length > 0 && citations.every(isObject) ? { citations } : {};
}
