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

/** Null where it was not made on this wire. */
export function searchBlocks(item: Item): Block[] | null {
  const { blocks } = item;
  if (!Array.isArray(blocks) || blocks.length !== 2) return null;
  const [use, result] = blocks as readonly unknown[];
  const whole = isObject(use) && isObject(result) && use["type"] === "server_tool_use" && result["type"] === "web_search_tool_result" && use["id"] === result["tool_use_id"];
  return whole ? (blocks as Block[]) : null;
}

export function citationsOf(item: Item): { citations?: unknown[] } {
  const [part] = Array.isArray(item["content"]) ? (item["content"] as readonly unknown[]) : [];
  const { citations } = asObject(part);
  return Array.isArray(citations) && citations.length > 0 ? { citations } : {};
}
