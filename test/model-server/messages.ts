/**
 * Anthropic Messages: https://platform.claude.com/docs/en/build-with-claude/streaming
 *
 * message_start, then for each content block: content_block_start, its deltas, content_block_stop; then message_delta with
 * the stop reason and the output tokens, message_stop. A ping follows the first block's start.
 */
import { functionArguments, hasText, pieces, reasoningOf, textDeltas, usageOf } from "./content.ts";
import type { ReasoningContent } from "./content.ts";
import { anthropicError } from "./errors.ts";
import type { Call, Reply, Search } from "./script.ts";
import { validate } from "./validate/messages.ts";
import { frame, withFailure } from "./wire.ts";
import type { Context, WireModule } from "./wire.ts";

export const messages: WireModule = { path: "/messages", frames, errorBody: anthropicError, validate };

function* frames(reply: Reply, context: Context): Generator<string> {
  const usage = usageFields(reply);
  yield* withFailure({
    reply,
    content: content(reply, context),
    failure: ({ code, message }) => [
      frame("error", { type: "error", error: { type: code ?? "overloaded_error", message: message ?? "Overloaded" }, request_id: `req_${context.n}` }),
    ],
    end: () => [
      frame("message_delta", { type: "message_delta", delta: { stop_reason: stopReason(reply), stop_sequence: null }, ...usage.end }),
      frame("message_stop", { type: "message_stop" }),
    ],
  });
}

function* content(reply: Reply, context: Context): Generator<string> {
  const message = {
    model: context.body["model"] ?? "scripted", id: `msg_${context.n}`, type: "message", role: "assistant", content: [],
    stop_reason: null, stop_sequence: null, ...usageFields(reply).start,
  };
  yield frame("message_start", { type: "message_start", message });
  let index = 0;
  for (const block of blocks(reply, context)) {
    yield frame("content_block_start", { type: "content_block_start", index, content_block: block.start });
    if (index === 0) yield frame("ping", { type: "ping" });
    yield* block.deltas(index);
    yield frame("content_block_stop", { type: "content_block_stop", index });
    index++;
  }
}

interface Block {
  readonly start: object;
  deltas(index: number): Iterable<string>;
}

function* blocks(reply: Reply, context: Context): Generator<Block> {
  const reasoning = reasoningOf(reply, context.n);
  if (reasoning) yield thinking(reasoning);
  if (reply.search) yield* search(reply.search, context.freshId("srvtoolu_"));
  if (hasText(reply)) yield text(reply);
  for (const call of reply.calls ?? []) yield toolUse({ call, reply, context });
}

function thinking({ summary, encrypted, redacted }: ReasoningContent): Block {
  if (redacted !== null) return { start: { type: "redacted_thinking", data: redacted }, deltas: () => [] };
  return {
    start: { type: "thinking", thinking: "", signature: "" },
    *deltas(index) {
      for (const part of summary) for (const piece of pieces(part, 40)) yield delta(index, { type: "thinking_delta", thinking: piece });
      if (encrypted !== null) yield delta(index, { type: "signature_delta", signature: encrypted });
    },
  };
}

/** The search, and what it found, with parts that only the server can read. */
function* search({ query, results = [] }: Search, id: string): Generator<Block> {
  yield {
    start: { type: "server_tool_use", id, name: "web_search", input: {} },
    *deltas(index) {
      for (const piece of pieces(JSON.stringify({ query }))) yield delta(index, { type: "input_json_delta", partial_json: piece });
    },
  };
  const found = results.map(({ title, url }, n) => ({ type: "web_search_result", url, title, encrypted_content: `opaque-result-${n}`, page_age: null }));
  yield { start: { type: "web_search_tool_result", tool_use_id: id, content: found }, deltas: () => [] };
}

/** After a search the text cites its first result. */
function text(reply: Reply): Block {
  const [cited] = reply.search?.results ?? [];
  return {
    start: { type: "text", text: "", ...(cited ? { citations: [] } : {}) },
    *deltas(index) {
      if (cited) yield delta(index, { type: "citations_delta", citation: { type: "web_search_result_location", ...cited, encrypted_index: "opaque-index-0", cited_text: "…" } });
      const start = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":`;
      for (const one of textDeltas(reply)) yield `${start}${JSON.stringify(one)}}}\n\n`;
    },
  };
}

function toolUse({ call, reply, context }: { call: Call; reply: Reply; context: Context }): Block {
  const id = reply.noCallIds ? {} : { id: call.id ?? context.freshId("toolu_") };
  return {
    start: { type: "tool_use", ...id, name: call.name, input: {} },
    *deltas(index) {
      yield delta(index, { type: "input_json_delta", partial_json: "" });
      for (const piece of pieces(functionArguments(call))) yield delta(index, { type: "input_json_delta", partial_json: piece });
    },
  };
}

function delta(index: number, fields: object): string {
  return frame("content_block_delta", { type: "content_block_delta", index, delta: fields });
}

function stopReason(reply: Reply): string {
  if (reply.incomplete === "max_output_tokens") return "max_tokens";
  if (reply.incomplete === "content_filter") return "refusal";
  return reply.calls?.length ? "tool_use" : "end_turn";
}

/** This wire counts cached tokens beside `input_tokens`, not inside. */
function usageFields(reply: Reply): { start: object; end: object } {
  if (reply.noUsage) return { start: {}, end: {} };
  const { input, cached, cacheWrite, output } = usageOf(reply);
  const read = { input_tokens: input - cached - cacheWrite, cache_creation_input_tokens: cacheWrite, cache_read_input_tokens: cached };
  return { start: { usage: { ...read, output_tokens: 1, service_tier: "standard" } }, end: { usage: { ...read, output_tokens: output } } };
}
