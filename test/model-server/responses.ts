/**
 * OpenAI Responses: https://platform.openai.com/docs/api-reference/responses-streaming
 *
 * created, in_progress, then for each output item: output_item.added, its parts and deltas, output_item.done; then
 * completed, incomplete or failed with the whole response. Every event has a sequence_number, from 0 without gaps.
 */
import { customInput, functionArguments, hasText, pieces, reasoningOf, textDeltas, usageOf } from "./content.ts";
import type { ReasoningContent } from "./content.ts";
import { openaiError } from "./errors.ts";
import type { Call, Reply, Search } from "./script.ts";
import { validate } from "./validate/responses.ts";
import { frame, withFailure } from "./wire.ts";
import type { Context, WireModule } from "./wire.ts";

export const responses: WireModule = { path: "/responses", frames, errorBody: openaiError, validate };

/** The running sequence number and the finished items, which the last event repeats. */
interface Stream {
  readonly reply: Reply;
  readonly context: Context;
  readonly echo: object;
  readonly output: object[];
  sequence: number;
}

function* frames(reply: Reply, context: Context): Generator<string> {
  const stream: Stream = { reply, context, echo: echoOf(context), output: [], sequence: 0 };
  yield* withFailure({
    reply,
    content: content(stream),
    failure: ({ code, message }) => [
      response(stream, "failed", {
        error: { code: code ?? "server_error", message: message ?? "An error occurred while processing your request." },
        usage: reply.usage ? usage(reply) : null,
      }),
    ],
    end: () => [
      reply.incomplete
        ? response(stream, "incomplete", { incomplete_details: { reason: reply.incomplete }, usage: usage(reply) })
        : response(stream, "completed", { completed_at: now(), usage: usage(reply) }),
    ],
  });
}

function* content(stream: Stream): Generator<string> {
  const { reply, context } = stream;
  yield event(stream, "response.created", { response: stream.echo });
  yield event(stream, "response.in_progress", { response: stream.echo });
  const reasoning = reasoningOf(reply, context.n);
  if (reasoning) yield* reasoningItem(stream, reasoning);
  if (reply.search) yield* searchItem(stream, reply.search);
  if (hasText(reply)) yield* messageItem(stream);
  for (const call of reply.calls ?? []) yield* call.custom ? customCallItem(stream, call) : functionCallItem(stream, call);
}

function* reasoningItem(stream: Stream, { summary, encrypted }: ReasoningContent): Generator<string> {
  const id = itemId(stream, "rs");
  const include = stream.context.body["include"];
  const wanted = encrypted !== null && Array.isArray(include) && include.includes("reasoning.encrypted_content");
  yield added(stream, { id, type: "reasoning", ...(wanted ? { encrypted_content: "" } : {}), summary: [] });
  const at = { item_id: id, output_index: stream.output.length };
  for (const [summary_index, text] of summary.entries()) {
    yield event(stream, "response.reasoning_summary_part.added", { ...at, summary_index, part: { type: "summary_text", text: "" } });
    for (const delta of pieces(text, 40)) yield event(stream, "response.reasoning_summary_text.delta", { ...at, summary_index, delta });
    yield event(stream, "response.reasoning_summary_text.done", { ...at, summary_index, text });
    yield event(stream, "response.reasoning_summary_part.done", { ...at, summary_index, part: { type: "summary_text", text } });
  }
  const parts = summary.map((text) => ({ type: "summary_text", text }));
  yield done(stream, { id, type: "reasoning", ...(wanted ? { encrypted_content: encrypted } : {}), summary: parts });
}

function* searchItem(stream: Stream, { query }: Search): Generator<string> {
  const id = itemId(stream, "ws");
  const at = { item_id: id, output_index: stream.output.length };
  yield added(stream, { id, type: "web_search_call", status: "in_progress" });
  for (const state of ["in_progress", "searching", "completed"]) yield event(stream, `response.web_search_call.${state}`, at);
  yield done(stream, { id, type: "web_search_call", status: "completed", action: { type: "search", query } });
}

function* messageItem(stream: Stream): Generator<string> {
  const { reply } = stream;
  const id = itemId(stream, "msg");
  yield added(stream, { id, type: "message", status: "in_progress", content: [], role: "assistant" });
  const at = { item_id: id, output_index: stream.output.length, content_index: 0 };
  yield event(stream, "response.content_part.added", { ...at, part: outputText("") });
  const start = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":';
  const middle = `,${JSON.stringify(at).slice(1, -1)},"delta":`;
  let text = "";
  for (const delta of textDeltas(reply)) {
    text += delta;
    yield `${start}${stream.sequence++}${middle}${JSON.stringify(delta)},"logprobs":[]}\n\n`;
  }
  const status = reply.incomplete && !reply.calls?.length ? "incomplete" : "completed";
  yield event(stream, "response.output_text.done", { ...at, text, logprobs: [] });
  yield event(stream, "response.content_part.done", { ...at, part: outputText(text) });
  yield done(stream, { id, type: "message", status, content: [outputText(text)], role: "assistant" });
}

function* functionCallItem(stream: Stream, call: Call): Generator<string> {
  const id = itemId(stream, "fc");
  const args = functionArguments(call);
  const item = { id, type: "function_call", ...callId(stream, call), name: call.name };
  yield added(stream, { ...item, status: "in_progress", arguments: "" });
  const at = { item_id: id, output_index: stream.output.length };
  for (const delta of pieces(args)) yield event(stream, "response.function_call_arguments.delta", { ...at, delta });
  yield event(stream, "response.function_call_arguments.done", { ...at, arguments: args });
  yield done(stream, { ...item, status: "completed", arguments: args });
}

function* customCallItem(stream: Stream, call: Call): Generator<string> {
  const id = itemId(stream, "ctc");
  const input = customInput(call);
  const item = { id, type: "custom_tool_call", ...callId(stream, call), name: call.name };
  yield added(stream, { ...item, status: "in_progress", input: "" });
  const at = { item_id: id, output_index: stream.output.length };
  for (const delta of pieces(input)) yield event(stream, "response.custom_tool_call_input.delta", { ...at, delta });
  yield event(stream, "response.custom_tool_call_input.done", { ...at, input });
  yield done(stream, { ...item, status: "completed", input });
}

function event(stream: Stream, type: string, data: object): string {
  return frame(type, { type, sequence_number: stream.sequence++, ...data });
}

function response(stream: Stream, status: string, changes: object): string {
  return event(stream, `response.${status}`, { response: { ...stream.echo, output: stream.output, status, ...changes } });
}

function added(stream: Stream, item: object): string {
  return event(stream, "response.output_item.added", { output_index: stream.output.length, item });
}

function done(stream: Stream, item: object): string {
  stream.output.push(item);
  return event(stream, "response.output_item.done", { output_index: stream.output.length - 1, item });
}

function itemId({ context, output }: Stream, prefix: string): string {
  return `${prefix}_${context.n}_${output.length}`;
}

function callId({ reply, context }: Stream, call: Call): object {
  return reply.noCallIds ? {} : { call_id: call.id ?? context.freshId("call_") };
}

function outputText(text: string): object {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

export function usage(reply: Reply): object | null {
  if (reply.noUsage) return null;
  const { input, cached, output, reasoning } = usageOf(reply);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

/** The response object repeats the request's settings. */
function echoOf({ n, body }: Context): Record<string, unknown> {
  return {
    id: `resp_${n}`, object: "response", created_at: now(), status: "in_progress", background: false, completed_at: null,
    error: null, incomplete_details: null, instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null, max_tool_calls: null, model: body["model"] ?? "scripted", output: [],
    parallel_tool_calls: body["parallel_tool_calls"] ?? true, previous_response_id: body["previous_response_id"] ?? null,
    prompt_cache_key: body["prompt_cache_key"] ?? null, reasoning: body["reasoning"] ?? { effort: null, summary: null },
    safety_identifier: null, service_tier: body["service_tier"] ?? "default", store: body["store"] ?? true,
    temperature: body["temperature"] ?? 1, text: body["text"] ?? { format: { type: "text" }, verbosity: "medium" },
    tool_choice: body["tool_choice"] ?? "auto", tools: body["tools"] ?? [], top_logprobs: 0, top_p: body["top_p"] ?? 1,
    truncation: "disabled", usage: null, user: null, metadata: body["metadata"] ?? {},
  };
}
