/**
 * Chat Completions: https://platform.openai.com/docs/api-reference/chat-streaming
 *
 * `data:` lines only. The role, content deltas, tool calls by index (id and name first, then arguments), a chunk with the
 * finish reason, usage with empty `choices` when asked for, `[DONE]`. A profile changes what other servers do otherwise.
 */
import { functionArguments, hasText, listOf, pieces, reasoningOf, textDeltas, usageOf } from "./content.ts";
import { openaiError } from "./errors.ts";
import type { Profile } from "./profiles.ts";
import type { Call, Failure, Reply } from "./script.ts";
import { validate } from "./validate/chat.ts";
import { withFailure } from "./wire.ts";
import type { Context, WireModule } from "./wire.ts";

export const chat: WireModule = { path: "/chat/completions", frames, errorBody: openaiError, validate };

type Finish = "stop" | "length" | "tool_calls" | "content_filter";

function* frames(reply: Reply, context: Context): Generator<string> {
  const profile = profileOf(reply, context.profile);
  const options = context.body["stream_options"];
  const asked = typeof options === "object" && options !== null && (options as { include_usage?: unknown }).include_usage === true;
  const withUsage = asked && profile.usage === "asked";
  const head = JSON.stringify({
    id: `chatcmpl-${context.n}`,
    object: "chat.completion.chunk",
    created: Math.floor(Date.now() / 1000),
    model: context.body["model"] ?? "scripted",
    service_tier: "default",
    system_fingerprint: "fp_scripted",
  }).slice(0, -1);
  const tail = withUsage ? `,"usage":null}\n\n` : "}\n\n";
  const role = profile.role === "every" ? `"role":"assistant",` : "";
  const last = profile.usage === "last" ? `,"usage":${JSON.stringify(usage(reply))},"timings":{"prompt_n":1,"predicted_n":1}}\n\n` : tail;
  const write: Writer = {
    delta: (fields, finish) => chunk(role + fields, finish ?? null),
    done: () => (profile.done ? ["data: [DONE]\n\n"] : []),
    usage: () => (withUsage ? [`data: ${head},"choices":[],"usage":${JSON.stringify(usage(reply))}}\n\n`] : []),
  };

  function chunk(fields: string, finish: Finish | null): string {
    const trimmed = fields.endsWith(",") ? fields.slice(0, -1) : fields;
    const reason = finish === null ? "null" : `"${finish}"`;
    return `data: ${head},"choices":[{"index":0,"delta":{${trimmed}},"logprobs":null,"finish_reason":${reason}}]${finish === null ? tail : last}`;
  }

  yield* withFailure({
    reply,
    content: finishing({ deltas: content({ reply, context, profile }), write, reply, profile }),
    failure: (failure) => failureFrames(failure, profile, write),
    end: () => [...write.usage(), ...write.done()],
  });
}

interface Writer {
  delta(fields: string, finish?: Finish): string;
  usage(): string[];
  done(): string[];
}

/** Fields of one delta, as JSON text without the braces. */
type Fields = string;

/** Holds each delta back by one, since some servers put the finish reason on the last. A reply that fails has none. */
function* finishing(parts: { deltas: Iterable<Fields>; write: Writer; reply: Reply; profile: Profile }): Generator<string> {
  const { deltas, write, reply, profile } = parts;
  let held: Fields | null = null;
  for (const fields of deltas) {
    if (held !== null) yield write.delta(held);
    held = fields;
  }
  const finish = reply.responseFailed ? undefined : finishOf(reply, profile);
  if (finish !== undefined && profile.finish === "last piece") {
    yield write.delta(held ?? "", finish);
    return;
  }
  if (held !== null) yield write.delta(held);
  if (finish !== undefined) yield write.delta("", finish);
}

function* content(parts: { reply: Reply; context: Context; profile: Profile }): Generator<Fields> {
  const { reply, context, profile } = parts;
  const calls = reply.calls ?? [];
  const empty = hasText(reply) || calls.length === 0 ? `""` : "null";
  if (profile.role === "first") yield `"role":"assistant","content":${empty},"refusal":null`;
  for (const text of listOf(reply.reasoningContent)) yield `"reasoning_content":${JSON.stringify(text)}`;
  const reasoning = reasoningOf(reply, context.n);
  if (reasoning && profile.reasoning) {
    for (const text of reasoning.summary) {
      for (const piece of pieces(text, 40)) yield `"${profile.reasoning}":${JSON.stringify(piece)}`;
    }
  }
  for (const delta of textDeltas(reply)) yield `"content":${JSON.stringify(delta)}`;
  for (const [place, call] of calls.entries()) yield* callFields({ call, place, reply, context, profile });
}

function* callFields(parts: { call: Call; place: number; reply: Reply; context: Context; profile: Profile }): Generator<Fields> {
  const { call, place, reply, context, profile } = parts;
  const args = functionArguments(call);
  const index = profile.callIndex === "zero" ? 0 : place;
  const id = reply.noCallIds || profile.callIds === null ? {} : { id: call.id ?? context.freshId(profile.callIds) };
  const first = profile.calls === "whole" ? args : "";
  yield toolCall({ index, ...id, type: "function", function: { name: call.name, arguments: first } });
  if (profile.calls === "whole") return;
  for (const piece of pieces(args)) {
    yield toolCall({ index, function: profile.laterPieces === "empty name" ? { name: "", arguments: piece } : { arguments: piece } });
  }
}

function toolCall(call: object): Fields {
  return `"tool_calls":[${JSON.stringify(call)}]`;
}

function failureFrames(failure: Failure, profile: Profile, write: Writer): string[] {
  const error = { message: failure.message ?? "The server had an error while processing your request.", type: "server_error", param: null, code: failure.code ?? null };
  const json = JSON.stringify({ error });
  switch (profile.error) {
    case "data": return [`data: ${json}\n\n`];
    case "data and done": return [`data: ${json}\n\n`, ...write.done()];
    case "event": return [`event: error\ndata: ${json}\n\n`];
    case "field": return [`error: ${JSON.stringify({ code: 500, message: error.message, type: error.type })}\n\n`];
  }
}

function finishOf(reply: Reply, profile: Profile): Finish {
  if (reply.incomplete === "max_output_tokens") return "length";
  if (reply.incomplete === "content_filter") return "content_filter";
  return reply.calls?.length ? profile.callsFinish : "stop";
}

function profileOf(reply: Reply, profile: Profile): Profile {
  return { ...profile, ...(reply.noUsage ? { usage: "never" as const } : {}), ...(reply.noDone ? { done: false } : {}) };
}

function usage(reply: Reply): object {
  const { input, cached, output, reasoning } = usageOf(reply);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
  };
}
