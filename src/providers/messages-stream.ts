/**
 * The answer of Anthropic's Messages API: each content block is an item, save that a search and its result are one. Thinking is reasoning
 * whose `encrypted_content` is the signature.
 */
import type { Item } from "../protocol/item.ts";
import type { Usage } from "../protocol/record.ts";
import type { ModelEvent } from "../core/provider.ts";
import { dropped, failed, serverError, streamFailure } from "./failure.ts";
import { cutShort } from "./finish.ts";
import { asCount, asObject, asText, isObject, parsed, type Fields } from "./json.ts";
import { searchItem } from "./messages-search.ts";
import type { AnswerReader } from "./sse.ts";
import type { Reading } from "./wire.ts";

const CUTS: Readonly<Record<string, "length" | "filtered" | "window">> = { max_tokens: "length", refusal: "filtered", model_context_window_exceeded: "window" };

type Block =
  | { kind: "text"; index: number; text: string; citations: unknown[] }
  | { kind: "thinking"; index: number; text: string; signature: string }
  | { kind: "redacted"; index: number; data: string }
  | { kind: "call"; index: number; id: string; name: string; json: string; input: unknown }
  /** Whole when its result has come. */
  | { kind: "search"; index: number; use: Fields; json: string; result: Fields | null };

export function createReader({ target, callId }: Reading): AnswerReader {
  const blocks = new Map<unknown, Block>();
  /** Calls whose arguments are not JSON: only the reason why the answer ended tells whether they were cut short. */
  const unreadable: Block[] = [];
  /** Searches that wait for their results, by id. */
  const searches = new Map<unknown, Extract<Block, { kind: "search" }>>();
  let usage: Fields | null = null;
  let count = 0;
  let calls = 0;
  let reason = "";

  function open(sent: Fields): Block | null {
    switch (sent["type"]) {
      case "text":
        return { kind: "text", index: count++, text: "", citations: [] };
      case "thinking":
        return { kind: "thinking", index: count++, text: "", signature: asText(sent["signature"]) };
      case "redacted_thinking":
        return { kind: "redacted", index: count++, data: asText(sent["data"]) };
      case "tool_use":
        return { kind: "call", index: count++, id: callId(sent["id"]), name: asText(sent["name"]), json: "", input: sent["input"] };
      case "server_tool_use": {
        const search: Block = { kind: "search", index: count++, use: sent, json: "", result: null };
        searches.set(sent["id"], search);
        return search;
      }
      default:
        return null;
    }
  }

  function start(event: Fields, out: ModelEvent[]): void {
    const sent = asObject(event["content_block"]);
    if (sent["type"] === "web_search_tool_result") return found(sent, out);
    const block = open(sent);
    if (!block) return;
    blocks.set(event["index"], block);
    out.push({ type: "item.started", index: block.index, item: begun(block) });
    add(block, { text: sent["text"], thinking: sent["thinking"] }, out);
  }

  function found(result: Fields, out: ModelEvent[]): void {
    const search = searches.get(result["tool_use_id"]);
    searches.delete(result["tool_use_id"]);
    if (!search) return;
    search.use = { ...search.use, input: parsed(search.json) ?? search.use["input"] ?? {} };
    search.result = result;
    done(search, out);
  }

  function add(block: Block | undefined, delta: Fields, out: ModelEvent[]): void {
    if (block?.kind === "text") {
      const text = asText(delta["text"]);
      block.text += text;
      if (isObject(delta["citation"])) block.citations.push(delta["citation"]);
      if (text !== "") out.push({ type: "text.delta", index: block.index, delta: text });
    } else if (block?.kind === "thinking") {
      const text = asText(delta["thinking"]);
      block.text += text;
      block.signature += asText(delta["signature"]);
      if (text !== "") out.push({ type: "reasoning.delta", index: block.index, delta: text, kind: "raw", part: 0 });
    } else if (block?.kind === "call" || block?.kind === "search") block.json += asText(delta["partial_json"]);
  }

  function stop(event: Fields, out: ModelEvent[]): void {
    const block = blocks.get(event["index"]);
    blocks.delete(event["index"]);
    if (block?.kind === "search") return;
    if (block?.kind === "call" && block.json !== "" && parsed(block.json) === undefined) unreadable.push(block);
    else if (block) done(block, out);
  }

  function done(block: Block, out: ModelEvent[]): void {
    if (block.kind === "call") calls++;
    out.push({ type: "item.done", index: block.index, item: whole(block) });
  }

  function finish(out: ModelEvent[]): void {
    if (reason !== "max_tokens") for (const block of unreadable) done(block, out);
    const total = usage === null ? null : usageOf(usage);
    const cut = CUTS[reason];
    if (reason === "pause_turn") out.push(failed("paused", `${target.provider} paused the answer after its searches; what it found is kept, and it goes on.`, { retryable: true, retryAfterMs: 0 }));
    else out.push(cut ? cutShort(cut, { calls, usage: total, target }) : { type: "done", usage: total });
  }

  function read(event: Fields, out: ModelEvent[]): void {
    switch (event["type"]) {
      case "message_start":
        tally(asObject(event["message"])["usage"]);
        return;
      case "content_block_start":
        return start(event, out);
      case "content_block_delta":
        return add(blocks.get(event["index"]), asObject(event["delta"]), out);
      case "content_block_stop":
        return stop(event, out);
      case "message_delta":
        tally(event["usage"]);
        reason = asText(asObject(event["delta"])["stop_reason"]) || reason;
        return;
      case "message_stop":
        return finish(out);
      default:
    }
  }

  function tally(sent: unknown): void {
    if (isObject(sent)) usage = { ...usage, ...sent };
  }

  return {
    usage: () => (usage === null ? null : usageOf(usage)),
    read({ name, data }, out) {
      const event = parsed(data);
      if (!isObject(event)) {
        if (data !== "" && data !== "[DONE]") out.push(streamFailure({ code: "bad_stream", message: `an event that is not JSON: ${data.slice(0, 100)}` }, target));
      } else if (name === "error" || event["type"] === "error") out.push(streamFailure(serverError(event) ?? { code: "", message: "" }, target));
      else read(event, out);
    },
    end(out) {
      if (reason === "") out.push(dropped(target));
      else finish(out);
    },
  };
}

function begun(block: Block): Item {
  switch (block.kind) {
    case "text":
      return { type: "message", role: "assistant", content: [] };
    case "call":
      return { type: "function_call", call_id: block.id, name: block.name, arguments: "" };
    case "search":
      return searchItem(block.use, null);
    default:
      return { type: "reasoning", summary: [] };
  }
}

function whole(block: Block): Item {
  switch (block.kind) {
    case "text":
      return { type: "message", role: "assistant", content: [{ type: "output_text", text: block.text, ...(block.citations.length > 0 ? { citations: block.citations } : {}) }] };
    case "search":
      return searchItem(block.use, block.result);
    case "thinking":
      return { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: block.text }], encrypted_content: block.signature };
    case "redacted":
      return { type: "reasoning", summary: [], encrypted_content: block.data, redacted: true };
    case "call":
      return { type: "function_call", call_id: block.id, name: block.name, arguments: block.json || JSON.stringify(block.input ?? {}) };
  }
}

/** This wire counts what was read from and written to the cache beside the input. */
function usageOf(sent: Fields): Usage {
  const cached = asCount(sent["cache_read_input_tokens"]);
  const written = asCount(sent["cache_creation_input_tokens"]) ?? 0;
  const input = (asCount(sent["input_tokens"]) ?? 0) + written + (cached ?? 0);
  const output = asCount(sent["output_tokens"]) ?? 0;
  return { input_tokens: input, ...(cached === undefined ? {} : { cached_tokens: cached }), ...(written > 0 ? { cache_write_tokens: written } : {}), output_tokens: output, total_tokens: input + output };
}
