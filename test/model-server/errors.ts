/** The error bodies of the two makers, with what each says at a status when the script says nothing. */
import type { Failure } from "./script.ts";

interface OpenaiError {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
}

const openai: Readonly<Record<number, OpenaiError>> = {
  400: { message: "Invalid request.", type: "invalid_request_error", code: null },
  401: { message: "Incorrect API key provided.", type: "invalid_request_error", code: "invalid_api_key" },
  403: { message: "You are not allowed to use this model.", type: "invalid_request_error", code: "permission_denied" },
  404: { message: "The model does not exist or you do not have access to it.", type: "invalid_request_error", code: "model_not_found" },
  429: { message: "Rate limit reached.", type: "requests", code: "rate_limit_exceeded" },
  503: { message: "The engine is currently overloaded, please try again later.", type: "server_error", code: "server_is_overloaded" },
};

const anthropic: Readonly<Record<number, string>> = {
  400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
  413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
};

export function openaiError(status: number, { code, message }: Failure): object {
  const usual = openai[status] ?? { message: "The server had an error while processing your request.", type: "server_error", code: null };
  return { error: { message: message ?? usual.message, type: usual.type, param: null, code: code ?? usual.code } };
}

export function anthropicError(status: number, { code, message }: Failure): object {
  const type = code ?? anthropic[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  return { type: "error", error: { type, message: message ?? type }, request_id: "req_scripted" };
}
