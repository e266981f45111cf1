/**
 * How servers that speak Chat Completions differ from OpenAI. Each profile collects deviations that users reported of that
 * server, not all of one version: a client that works with these works with the milder ones too.
 *
 *  - ollama: every parallel call has index 0 (ollama#15457) and comes whole in one chunk; `reasoning`, not
 *    `reasoning_content`; the role in every chunk; calls end with `stop` (ollama#7963); no usage.
 *  - lmstudio: numeric call ids; later pieces of a call repeat an empty name (bug tracker #649); `reasoning_content`; errors
 *    as an SSE event named `error`.
 *  - llamacpp: calls without ids (llama.cpp#11992); usage and timings in the last chunk, asked or not; no `[DONE]`; errors
 *    in an SSE field named `error` instead of `data`.
 *  - vllm: long call ids; `finish_reason` in the chunk of the last piece; `reasoning_content`; an error is followed by `[DONE]`.
 */
export interface Profile {
  /** `asked`: when stream_options.include_usage is set; `last`: in the chunk with the finish reason. */
  readonly usage: "asked" | "never" | "last";
  /** A prefix for made-up ids; null sends calls without an id. */
  readonly callIds: string | null;
  readonly callIndex: "counted" | "zero";
  readonly calls: "pieces" | "whole";
  /** What later pieces of a call carry beside their arguments. */
  readonly laterPieces: "bare" | "empty name";
  /** The delta field for reasoning; null: none, as on OpenAI. */
  readonly reasoning: "reasoning_content" | "reasoning" | null;
  readonly callsFinish: "tool_calls" | "stop";
  readonly finish: "own chunk" | "last piece";
  readonly role: "first" | "every";
  readonly done: boolean;
  readonly error: "data" | "data and done" | "event" | "field";
}

const openai: Profile = {
  usage: "asked", callIds: "call_", callIndex: "counted", calls: "pieces", laterPieces: "bare", reasoning: null,
  callsFinish: "tool_calls", finish: "own chunk", role: "first", done: true, error: "data",
};

export const profiles = {
  openai,
  ollama: { ...openai, usage: "never", callIndex: "zero", calls: "whole", reasoning: "reasoning", callsFinish: "stop", role: "every" },
  lmstudio: { ...openai, callIds: "193", laterPieces: "empty name", reasoning: "reasoning_content", error: "event" },
  llamacpp: { ...openai, usage: "last", callIds: null, calls: "whole", reasoning: "reasoning_content", done: false, error: "field" },
  vllm: { ...openai, callIds: "chatcmpl-tool-00000000000000000000", reasoning: "reasoning_content", finish: "last piece", error: "data and done" },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof profiles;
