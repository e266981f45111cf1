/**
 * The answer of the Responses API. Items are kept as the server sent them, except for what the rest of Skein relies on: a call has an id
 * that is unique in the conversation, reasoning has a summary, and a refusal is text.
 */
import { isCall, type Item } from "../protocol/item.ts";
import type { Usage } from "../protocol/record.ts";
import type { ModelEvent } from "../core/provider.ts";
import { dropped, serverError, streamFailure } from "./failure.ts";
import { cutShort } from "./finish.ts";
import { asCount, asObject, asText, isObject, parsed, type Fields } from "./json.ts";
import { usageFrom } from "./usage.ts";
import type { AnswerReader } from "./sse.ts";
import type { Reading } from "./wire.ts";

export function createReader({ target, callId }: Reading): AnswerReader {
  /** By the server's output_index: our index, and the id that the item's call got. */
  const open = new Map<unknown, { index: number; callId: string | null }>();
  let count = 0;
  let finished = 0;
  let calls = 0;
  let usage: Usage | null = null;

  function start(place: unknown, item: Item): { index: number; callId: string | null } {
    const entry = { index: count++, callId: isToolCall(item) ? callId(item["call_id"]) : null };
    open.set(place, entry);
    return entry;
  }

  function finish(place: unknown, sent: Item, out: ModelEvent[]): void {
    const { index, callId: id } = open.get(place) ?? start(place, sent);
    open.delete(place);
    const item = settled(sent, id);
    finished++;
    if (isCall(item)) {
      if (item["status"] === "incomplete") return;
      calls++;
    }
    out.push({ type: "item.done", index, item });
  }

  function read(type: string, event: Fields, out: ModelEvent[]): void {
    const place = event["output_index"];
    switch (type) {
      case "response.output_item.added": {
        if (!isItem(event["item"])) return;
        const { index, callId: id } = start(place, event["item"]);
        out.push({ type: "item.started", index, item: settled(event["item"], id) });
        return;
      }
      case "response.output_text.delta":
      case "response.refusal.delta":
        return addDelta(place, (index) => ({ type: "text.delta", index, delta: asText(event["delta"]) }), out);
      case "response.reasoning_summary_text.delta":
        return addDelta(place, (index) => ({ type: "reasoning.delta", index, delta: asText(event["delta"]), kind: "summary", part: asCount(event["summary_index"]) ?? 0 }), out);
      case "response.reasoning_text.delta":
        return addDelta(place, (index) => ({ type: "reasoning.delta", index, delta: asText(event["delta"]), kind: "raw", part: asCount(event["content_index"]) ?? 0 }), out);
      case "response.output_item.done":
        if (isItem(event["item"])) finish(place, event["item"], out);
        return;
      case "response.completed":
      case "response.done":
        return complete(asObject(event["response"]), out);
      case "response.incomplete":
        return incomplete(asObject(event["response"]), out);
      case "response.failed": {
        usage = usageOf(asObject(event["response"])["usage"]);
        const error = serverError(event["response"]);
        out.push(streamFailure(error ?? { code: "", message: "" }, target));
        return;
      }
      case "error":
        out.push(streamFailure(serverError(event) ?? { code: "", message: "" }, target));
        return;
      default:
    }
  }

  function addDelta(place: unknown, event: (index: number) => ModelEvent, out: ModelEvent[]): void {
    const entry = open.get(place);
    if (entry) out.push(event(entry.index));
  }

  /** Some gateways send only the whole at the end. */
  function addUnsent(response: Fields, out: ModelEvent[]): void {
    if (finished > 0 || !Array.isArray(response["output"])) return;
    (response["output"] as unknown[]).forEach((item, place) => {
      if (isItem(item)) finish(place, item, out);
    });
  }

  function complete(response: Fields, out: ModelEvent[]): void {
    addUnsent(response, out);
    out.push({ type: "done", usage: usageOf(response["usage"]) });
  }

  function incomplete(response: Fields, out: ModelEvent[]): void {
    addUnsent(response, out);
    const reason = asText(asObject(response["incomplete_details"])["reason"]);
    usage = usageOf(response["usage"]);
    out.push(cutShort(reason === "content_filter" ? "filtered" : "length", { calls, usage, target }));
  }

  return {
    usage: () => usage,
    read({ name, data }, out) {
      if (data === "[DONE]" || data === "") return;
      const event = parsed(data);
      if (!isObject(event)) out.push(streamFailure({ code: "bad_stream", message: `an event that is not JSON: ${data.slice(0, 100)}` }, target));
      else read(typeOf(event, name), event, out);
    },
    end(out) {
      out.push(dropped(target));
    },
  };
}

/** Gateways report errors as `event: error`, or as an object without any type. */
function typeOf(event: Fields, name: string): string {
  return name === "error" || (event["type"] === undefined && isObject(event["error"])) ? "error" : asText(event["type"]) || name;
}

export function isItem(value: unknown): value is Item {
  return isObject(value) && typeof value["type"] === "string";
}

function isToolCall(item: Item): boolean {
  return item.type === "function_call" || item.type === "custom_tool_call" || item.type === "local_shell_call";
}

function settled(item: Item, callId: string | null): Item {
  if (callId !== null) return item["call_id"] === callId ? item : { ...item, call_id: callId };
  if (item.type === "reasoning") return Array.isArray(item["summary"]) ? item : { ...item, summary: [] };
  if (item.type !== "message" || !Array.isArray(item["content"])) return item;
  const content = item["content"] as readonly unknown[];
  if (!content.some(isRefusal)) return item;
  return { ...item, content: content.map((part) => (isRefusal(part) ? { type: "output_text", text: part.refusal } : part)) };
}

function isRefusal(part: unknown): part is { refusal: string } {
  return isObject(part) && part["type"] === "refusal" && typeof part["refusal"] === "string";
}

export function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  return usageFrom({
    input: value["input_tokens"],
    cached: asObject(value["input_tokens_details"])["cached_tokens"],
    output: value["output_tokens"],
    reasoning: asObject(value["output_tokens_details"])["reasoning_tokens"],
    total: value["total_tokens"],
  });
}
