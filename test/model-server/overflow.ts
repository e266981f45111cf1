/** How each server says that a conversation does not fit its model's context. Tokens are bytes of the body divided by four. */
import { anthropicError, openaiError } from "./errors.ts";
import type { ProfileName } from "./profiles.ts";
import type { Wire } from "./script.ts";

export interface Refusal {
  readonly status: number;
  readonly body: object;
}

export function overflow(wire: Wire, profile: ProfileName, { tokens, most }: { tokens: number; most: number }): Refusal {
  if (wire === "messages") return { status: 400, body: anthropicError(400, { message: `prompt is too long: ${tokens} tokens > ${most} maximum` }) };
  if (wire === "responses") return { status: 400, body: openaiError(400, { code: "context_length_exceeded", message: "Your input exceeds the context window of this model. Please adjust your input and try again." }) };
  switch (profile) {
    case "openai":
      return { status: 400, body: openaiError(400, { code: "context_length_exceeded", message: `This model's maximum context length is ${most} tokens. However, your messages resulted in ${tokens} tokens.` }) };
    case "ollama":
      return { status: 400, body: { error: { message: `prompt too long; exceeded max context length by ${tokens - most} tokens`, type: "api_error", param: null, code: null } } };
    case "lmstudio":
      return { status: 400, body: { error: `Trying to keep the first ${tokens} tokens when context the overflows. However, the model is loaded with context length of only ${most} tokens, which is not enough.` } };
    case "llamacpp":
      return { status: 400, body: { error: { code: 400, message: "the request exceeds the available context size, try increasing it", type: "exceed_context_size_error", n_prompt_tokens: tokens, n_ctx: most } } };
    case "vllm":
      return { status: 400, body: { object: "error", message: `The decoder prompt (length ${tokens}) is longer than the maximum model length of ${most}.`, type: "BadRequestError", param: null, code: 400 } };
  }
}
