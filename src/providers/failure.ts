/**
 * Failure: what a server's or the network's trouble means. One place decides whether a request is worth trying again, and says to people
 * what happened and what to do. Codes that the loop knows: `context_length_exceeded` (compact), `bad_encrypted_content` and `bad_image` (drop
 * the items and go on), `missing_key`, `unauthorized`, `insufficient_quota` (the user must act).
 */
import type { Usage } from "../protocol/record.ts";
import type { ModelEvent } from "../core/provider.ts";
import type { Headers } from "../net/post.ts";
import { asObject, asText, isObject, parsed } from "./json.ts";

/** With what the failed answer cost, where the server told. */
export type Failed = Extract<ModelEvent, { type: "failed" }> & { usage?: Usage };

/** Where the request went, for the message. */
export interface Target {
  provider: string;
  host: string;
  model: string;
  envKey: string | null;
}

/** What a server says of an error, whichever shape it says it in. */
export interface ServerError {
  code: string;
  message: string;
}

export function failed(code: string, message: string, more: { retryable: boolean; status?: number; retryAfterMs?: number | null }): Failed {
  const { retryable, status, retryAfterMs = null } = more;
  return { type: "failed", failure: { code, message, retryable, ...(status === undefined ? {} : { status }) }, retryAfterMs: retryable ? retryAfterMs : null };
}

export function missingKey({ provider, envKey }: Pick<Target, "provider" | "envKey">): { code: string; message: string } {
  return { code: "missing_key", message: `${provider} needs a key and ${envKey} is not set. Set it with: export ${envKey}=<your key>` };
}

export function dropped({ host }: Target): Failed {
  return failed("stream_dropped", `The connection to ${host} broke off in the middle of the answer.`, { retryable: true });
}

export function idle({ host }: Target, ms: number): Failed {
  return failed("idle_timeout", `${host} sent nothing for ${ms >= 1000 ? `${Math.round(ms / 1000)} s` : `${ms} ms`}.`, { retryable: true });
}

export function notAStream({ host }: Target, contentType: string): Failed {
  return failed("not_a_stream", `${host} answered with ${contentType || "no content type"} where a stream of events was due. Check base_url.`, { retryable: false });
}

export function networkFailure(error: unknown, { host, envKey }: Target): Failed {
  const code = asText(asObject(error)["code"]);
  const why = error instanceof Error ? error.message : String(error);
  if (code === "ERR_INVALID_CHAR") return failed("unauthorized", `A header value cannot be sent: look for line breaks or other odd characters${envKey ? ` in ${envKey}` : ""}.`, { retryable: false });
  if (code.startsWith("PROXY_")) return failed("network", why, { retryable: code === "PROXY_UNREACHABLE" });
  if (isCertificate(code)) return failed("network", `${host} cannot be reached (${code}). ${CERTIFICATE_HINT}`, { retryable: false });
  if (code === "ERR_INVALID_URL" || code === "ERR_INVALID_PROTOCOL") return failed("bad_base_url", `${host} is not an address that Skein can reach: ${why}. Check base_url.`, { retryable: false });
  return failed("network", `${host} cannot be reached (${code || why}). ${HINTS[code] ?? (isTls(code) ? TLS_HINT : "Check the network.")}`, { retryable: true });
}

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Nothing listens there: is the server running, and is base_url right?",
  ENOTFOUND: "The name is not known: check base_url and the network.",
  EAI_AGAIN: "The name cannot be looked up now: check the network.",
};
const CERTIFICATE_HINT = "Its certificate is not trusted: set NODE_EXTRA_CA_CERTS to your company's certificates, or check base_url.";
const TLS_HINT = "No encrypted connection came about: where the server speaks plain HTTP, base_url begins with http://.";

function isCertificate(code: string): boolean {
  return /CERT|UNABLE_TO_/u.test(code);
}

function isTls(code: string): boolean {
  return /TLS|SSL|EPROTO/u.test(code);
}

/** An HTTP status other than success. */
export function httpFailure(answer: { status: number; headers: Headers; body: string }, target: Target, now: number): Failed {
  const { status, headers, body } = answer;
  const error = serverError(parsed(body)) ?? { code: "", message: isHtml(body) ? htmlText(body) : body };
  const known = knownError(error, target, status) ?? byStatus(status, error, target);
  const { failure } = known;
  const retryAfterMs = retryAfter(headers, now) ?? waitIn(error.message);
  return failed(failure.code, failure.message, { retryable: failure.retryable === true, status, retryAfterMs });
}

function isHtml(body: string): boolean {
  return /^\s*<(?:!doctype|html|head|body)\b/iu.test(body);
}

/** The title of a page says what the page says. */
function htmlText(page: string): string {
  const [, title = ""] = /<title[^>]*>([^<]*)/iu.exec(page) ?? [];
  return title.trim() || page.replace(/<(style|script)\b.*?<\/\1>|<[^>]*>/gisu, " ").trim();
}

/** An error inside a stream. What is not known to be final is worth another try. */
export function streamFailure(error: ServerError, target: Target): Failed {
  const known = knownError(error, target);
  if (known) return known;
  const { code } = error;
  const said = sentence(error, target);
  if (/^(?:invalid_|bad_request|not_found|permission|authentication)/u.test(code)) return failed(code, said, { retryable: false });
  const name = /overloaded|slow_down/u.test(code) ? "overloaded" : /rate_limit/u.test(code) ? "rate_limited" : "server_error";
  return failed(name, said, { retryable: true, retryAfterMs: waitIn(error.message) });
}

/** `{error: {…}}`, `{error: "…"}`, `{type: "error", error: {…}}`, `{message}`, `{detail}`: null when it tells of no error. */
export function serverError(body: unknown): ServerError | null {
  if (!isObject(body)) return null;
  const { error } = body;
  if (typeof error === "string") return { code: asText(body["code"]), message: error };
  const source = isObject(error) ? error : body;
  const message = asText(source["message"]) || textOf(source["detail"]);
  const code = asText(source["code"]) || asText(source["type"]);
  return message === "" && !isObject(error) ? null : { code, message };
}

function textOf(detail: unknown): string {
  if (typeof detail === "string") return detail;
  return detail === undefined ? "" : JSON.stringify(detail);
}

/** Errors that mean the same at any status, told by their code or, where servers have none, by their words. */
function knownError(error: ServerError, target: Target, status?: number): Failed | null {
  const { code, message } = error;
  const final = (name: string, advice: string): Failed => failed(name, `${sentence(error, target, status)} ${advice}`.trimEnd(), { retryable: false });
  // "Too many tokens" may also mean: a minute.
  if (CONTEXT.test(code) || (status !== 429 && CONTEXT.test(message))) return final("context_length_exceeded", "");
  if (QUOTA.test(code) || QUOTA.test(message)) return final("insufficient_quota", "Check plan and billing of this account.");
  if (ENCRYPTED.test(code) || ENCRYPTED.test(message)) return final("bad_encrypted_content", "");
  if (IMAGE_CODE.test(code) || IMAGE.test(message)) return final("bad_image", "");
  return null;
}

// In order: OpenAI and those who use its code; llama.cpp; Anthropic; then words of Ollama, vLLM, LM Studio and gateways.
const CONTEXT =
  /context_length_exceeded|exceed_context_size|request_too_large|(?:prompt|input) (?:is )?too long|max_tokens` exceed context|context (?:length|window|size|limit)|maximum (?:model|prompt|input) length|tokens to keep from the initial prompt|when context the overflows|too many (?:input )?tokens|token count.{0,40}exceeds|reduce the length of the messages/iu;
const QUOTA = /insufficient_quota|billing_hard_limit|billing_error|usage_limit_reached|usage_not_included|credit balance is too low|exceeded your current quota/iu;
const ENCRYPTED = /invalid_encrypted_content|encrypted content .{0,200}could not be|invalid `?signature`? in `?(?:redacted_)?thinking|thinking`? blocks.{0,100}cannot be modified/iu;
const IMAGE_CODE = /^(?:invalid_image|image_|unsupported_image|empty_image|failed_to_download_image)/u;
const IMAGE =
  /could not process image|(?:invalid|unsupported|unreadable|corrupt\w*) (?:base64 )?image|image (?:data|file|url|exceeds|size|dimensions)|image.{0,60}(?:too large|exceeds?|not supported|not valid|unsupported)|image input|multimodal|does not support images?|mmproj/iu;

function byStatus(status: number, error: ServerError, target: Target): Failed {
  const { provider, host, model, envKey } = target;
  const said = sentence(error, target, status);
  const check = envKey ? `Check the key in ${envKey}.` : "This provider was used without a key: name its variable in env_key.";
  if (status === 401) return failed("unauthorized", `${said} ${check}`, { retryable: false });
  if (status === 403) return failed("forbidden", `${said} ${envKey ? `The key in ${envKey} may not use ${model}` : `${model} may not be used`} at ${provider}: check its permissions, or choose another model with -m.`, { retryable: false });
  if (status === 407) return failed("network", `The proxy on the way to ${host} wants other credentials (407): check HTTP_PROXY.`, { retryable: false });
  if (status === 404) return failed("not_found", `${said} Check the model's name (-m ${model}) and base_url.`, { retryable: false });
  if (status === 402) return failed("insufficient_quota", `${said} Check plan and billing of this account.`, { retryable: false });
  if (status === 413) return failed("context_length_exceeded", said, { retryable: false });
  if (status === 429) return failed("rate_limited", said, { retryable: true });
  if (status === 503 || status === 529) return failed("overloaded", said, { retryable: true });
  if (status === 408 || status === 409 || status === 425 || status >= 500) return failed("server_error", said, { retryable: true });
  if (status >= 300 && status < 400) return failed("redirected", `${host} points elsewhere (${status}). Check base_url.`, { retryable: false });
  return failed("bad_request", said, { retryable: false });
}

function sentence({ code, message }: ServerError, { provider }: Target, status?: number): string {
  const text = message.replace(/\s+/gu, " ").trim();
  const short = text.length > 600 ? `${text.slice(0, 600)}…` : text;
  const why = [status, short === "" ? "" : code].filter((part) => part !== undefined && part !== "").join(" ");
  const end = /[.!?…]$/u.test(short) ? "" : ".";
  return `${provider} answered${why === "" ? "" : ` (${why})`}: ${short === "" ? code || "no reason given" : short}${end}`;
}

/** Milliseconds to wait, as the headers ask: retry-after-ms, or retry-after in seconds or as a date. */
export function retryAfter(headers: Headers, now: number): number | null {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms);
  const value = headers["retry-after"]?.trim() ?? "";
  if (value === "") return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1000) : null;
  const date = Date.parse(value);
  return Number.isFinite(date) ? Math.max(0, date - now) : null;
}

/** "Please try again in 11.054s", as the Responses API says it inside a stream. */
function waitIn(message: string): number | null {
  const match = /try again in (\d{1,9}(?:\.\d{1,9})?) ?(ms|s|second|minute|m\b)/iu.exec(message);
  if (!match) return null;
  const unit = match[2]!.toLowerCase();
  return Math.ceil(Number(match[1]) * (unit === "ms" ? 1 : unit.startsWith("s") ? 1000 : 60_000));
}
