/**
 * The answer of Chat Completions, with the deviations of servers that speak it: no usage, no `[DONE]`, no call ids or the same index for
 * every call, calls in pieces or whole, reasoning in `reasoning_content` or `reasoning`, errors as an event or a field.
 *
 * There are no items on this wire. Reasoning, text and each call become one, in the order in which they begin; an item is whole as soon
 * as the next one begins, so that a stream that breaks off leaves what was finished.
 */
import type { Item } from "../protocol/item.ts";
import type { Usage } from "../protocol/record.ts";
import type { ModelEvent } from "../core/provider.ts";
import { dropped, serverError, streamFailure } from "./failure.ts";
import { cutShort } from "./finish.ts";
import { asCount, asObject, asText, isObject, parsed, type Fields } from "./json.ts";
import { usageFrom } from "./usage.ts";
import type { AnswerReader } from "./sse.ts";
import type { Reading } from "./wire.ts";

interface OpenCall {
  index: number;
  /** The server's own. */
  place: unknown;
  givenId: string;
  id: string;
  name: string;
  arguments: string;
}

export function createReader({ target, callId }: Reading): AnswerReader {
  let count = 0;
  let spoken: { kind: "text" | "reasoning"; index: number; text: string } | null = null;
  let calls: OpenCall[] = [];
  let wholeCalls = 0;
  let reason = "";
  let usage: Usage | null = null;

  function say(kind: "text" | "reasoning", delta: string, out: ModelEvent[]): void {
    if (delta === "") return;
    if (spoken?.kind !== kind) {
      finishSpoken(out);
      spoken = { kind, index: count++, text: "" };
      out.push({ type: "item.started", index: spoken.index, item: spokenItem(kind, null) });
    }
    spoken.text += delta;
    const { index } = spoken;
    out.push(kind === "text" ? { type: "text.delta", index, delta } : { type: "reasoning.delta", index, delta, kind: "raw", part: 0 });
  }

  function finishSpoken(out: ModelEvent[]): void {
    if (spoken) out.push({ type: "item.done", index: spoken.index, item: spokenItem(spoken.kind, spoken.text) });
    spoken = null;
  }

  function addCall(piece: Fields, out: ModelEvent[]): void {
    const { name: givenName, arguments: given } = asObject(piece["function"]);
    const name = asText(givenName);
    const id = asText(piece["id"]);
    // Some servers send an object where JSON text is due.
    const args = isObject(given) ? JSON.stringify(given) : asText(given);
    const place = piece["index"] ?? 0;
    let call = calls.findLast((each) => each.place === place);
    if (!call || beginsAnother(call, id, name)) {
      finishSpoken(out);
      finishCalls(out, (each) => parsed(each.arguments) !== undefined);
      call = { index: count++, place, givenId: id, id: callId(id), name, arguments: "" };
      calls.push(call);
      out.push({ type: "item.started", index: call.index, item: callItem(call) });
    }
    if (call.name === "") call.name = name;
    call.arguments += args;
  }

  function finishCalls(out: ModelEvent[], isWhole: (call: OpenCall) => boolean): void {
    for (const call of calls.filter(isWhole)) {
      wholeCalls++;
      out.push({ type: "item.done", index: call.index, item: callItem(call) });
    }
    calls = calls.filter((call) => !isWhole(call));
  }

  function finish(out: ModelEvent[]): void {
    finishSpoken(out);
    const cut = reason === "length";
    finishCalls(out, (call) => !cut || parsed(call.arguments || "{}") !== undefined);
    if (reason === "content_filter") out.push(cutShort("filtered", { calls: wholeCalls, usage, target }));
    else out.push(cut ? cutShort("length", { calls: wholeCalls, usage, target }) : { type: "done", usage });
  }

  function readChunk(chunk: Fields, out: ModelEvent[]): void {
    usage = usageOf(chunk["usage"]) ?? usage;
    const [choice] = Array.isArray(chunk["choices"]) ? (chunk["choices"] as unknown[]).filter(isObject) : [];
    if (!choice) return;
    const delta = asObject(choice["delta"] ?? choice["message"]);
    say("reasoning", asText(delta["reasoning_content"]) || asText(delta["reasoning"]), out);
    say("text", contentOf(delta["content"]) || asText(delta["refusal"]), out);
    if (Array.isArray(delta["tool_calls"])) for (const piece of delta["tool_calls"] as unknown[]) if (isObject(piece)) addCall(piece, out);
    reason = asText(choice["finish_reason"]) || reason;
  }

  return {
    usage: () => usage,
    read({ name, data }, out) {
      if (data.trim() === "[DONE]") return finish(out);
      const chunk = parsed(data);
      if (!isObject(chunk)) {
        if (data !== "") out.push(streamFailure({ code: "bad_stream", message: `a chunk that is not JSON: ${data.slice(0, 100)}` }, target));
        return;
      }
      const failure = name === "error" || (chunk["error"] !== undefined && chunk["error"] !== null) ? serverError(chunk) : null;
      if (failure) out.push(streamFailure(failure, target));
      else readChunk(chunk, out);
    },
    end(out) {
      if (reason === "") out.push(dropped(target));
      else finish(out);
    },
  };
}

/** Whether a piece at the same place is a further call: it has another id or, without ids, a name when the arguments so far are whole. */
function beginsAnother(call: OpenCall, id: string, name: string): boolean {
  if (id !== "" && call.givenId !== "") return id !== call.givenId;
  return name !== "" && id === call.givenId && call.arguments !== "" && parsed(call.arguments) !== undefined;
}

function spokenItem(kind: "text" | "reasoning", text: string | null): Item {
  if (kind === "text") return { type: "message", role: "assistant", content: text === null ? [] : [{ type: "output_text", text }] };
  return { type: "reasoning", summary: [], ...(text === null ? {} : { content: [{ type: "reasoning_text", text }] }) };
}

function callItem({ id, name, arguments: args }: OpenCall): Item {
  return { type: "function_call", call_id: id, name, arguments: args };
}

function contentOf(content: unknown): string {
  if (!Array.isArray(content)) return asText(content);
  return (content as unknown[]).map((part) => asText(asObject(part)["text"])).join("");
}

function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  return usageFrom({
    input: value["prompt_tokens"],
    cached: asCount(asObject(value["prompt_tokens_details"])["cached_tokens"]) ?? value["prompt_cache_hit_tokens"],
    output: value["completion_tokens"],
    reasoning: asObject(value["completion_tokens_details"])["reasoning_tokens"],
    total: value["total_tokens"],
  });
}
