/** What the three wires share: a provider is its options, the wire's way to build a request, and the wire's way to read an answer. */
import type { Origin } from "../protocol/item.ts";
import type { ModelEvent, ModelRequest, Provider, RequestHost } from "../core/provider.ts";
import { answerIds } from "./calls.ts";
import type { Images } from "./content.ts";
import { failed, missingKey, type Failed, type Target } from "./failure.ts";
import { isHeader, type Post } from "../net/post.ts";
import { toJson } from "./json.ts";
import { loadImages, type ImageLimits } from "./images.ts";
import { createNotices } from "./limits.ts";
import { accountOf } from "./origin.ts";
import { exchange, type AnswerReader } from "./sse.ts";

export interface WireOptions {
  /** The provider's name, as in the config. */
  name: string;
  baseUrl: string;
  key: () => string | null;
  /** The variable that the key comes from; null: no key is needed. */
  envKey: string | null;
  headers: Readonly<Record<string, string>>;
  queryParams: Readonly<Record<string, string>>;
  /** How often a stream that failed is worth trying again. */
  retries: number;
  /** How often a request that was not answered by a stream is. */
  requestRetries: number;
  idleTimeoutMs: number;
  post: Post;
}

export interface WireProvider extends Provider {
  readonly requestRetries: number;
}

/** What a request is built with, beside itself. */
export interface Building {
  images: Images;
  /** Who is asked. Opaque items made elsewhere are left out. */
  origin: Origin;
}

export interface Reading {
  target: Target;
  /** The id for a call of this answer, given what the server sent. */
  callId: (given: unknown) => string;
}

export interface Wire {
  name: Origin["wire"];
  path: string;
  images: ImageLimits;
  authorize(key: string): Record<string, string>;
  /** Pure; the same request gives the same bytes. */
  toRequest(request: ModelRequest, building: Building): object;
  createReader(reading: Reading): AnswerReader;
}

export function createProvider(wire: Wire, options: WireOptions): WireProvider {
  const { name } = options;
  const notices = createNotices(name);

  async function* stream(request: ModelRequest, host: RequestHost): AsyncGenerator<ModelEvent> {
    try {
      const ready = await prepare({ wire, options, request, host });
      if (!ready.ok) {
        yield ready.failed;
        return;
      }
      yield* exchange({
        ...ready,
        post: options.post,
        headers: { accept: "text/event-stream", ...ready.headers },
        reader: wire.createReader({ target: ready.target, callId: answerIds(request.input) }),
        notices,
        idleTimeoutMs: options.idleTimeoutMs,
        signal: host.signal,
      });
    } catch (error) {
      if (!host.signal.aborted) yield failed("internal_error", `The request to ${name} could not be made: ${String(error)}`, { retryable: false });
    }
  }

  return { name, retries: options.retries, requestRetries: options.requestRetries, origin: originOf(wire, options), stream, remoteCompact: null };
}

type Prepared = { ok: true; url: URL; headers: Record<string, string>; body: string; target: Target } | { ok: false; failed: Failed };

interface Asking {
  wire: Omit<Wire, "createReader">;
  options: WireOptions;
  request: ModelRequest;
  host: RequestHost;
}

/** All that is needed to ask, or why it cannot be asked. */
export async function prepare({ wire, options, request, host }: Asking): Promise<Prepared> {
  const { name, envKey, baseUrl } = options;
  const key = options.key();
  if (key === null && envKey !== null) {
    const { code, message } = missingKey({ provider: name, envKey });
    return { ok: false, failed: failed(code, message, { retryable: false }) };
  }
  const url = urlOf(options, wire.path);
  if (url === null) return { ok: false, failed: failed("bad_base_url", `base_url of the provider ${name} is not an address: ${baseUrl}`, { retryable: false }) };
  const unsendable = Object.entries(options.headers).find(([header, value]) => !isHeader(header, value));
  if (unsendable) return { ok: false, failed: failed("bad_provider", `The header "${unsendable[0]}" of the provider ${name} cannot be sent: look for line breaks or other odd characters in http_headers, or in the variable that env_http_headers names.`, { retryable: false }) };
  const images = await loadImages(request, { ...host, limits: wire.images });
  const body = toJson(wire.toRequest(request, { images, origin: originOf(wire, options)(request.model) }));
  const headers = { ...(key === null ? {} : wire.authorize(key)), ...lowerCased(options.headers) };
  return { ok: true, url, headers, body, target: { provider: name, host: url.host, model: request.model, envKey } };
}

function originOf(wire: Pick<Wire, "name">, options: WireOptions): (model: string) => Origin {
  return (model) => {
    const key = options.key();
    return { wire: wire.name, provider: options.name, model, ...(key === null ? {} : { account: accountOf(key) }) };
  };
}

function urlOf({ baseUrl, queryParams }: WireOptions, path: string): URL | null {
  if (!URL.canParse(baseUrl)) return null;
  const url = new URL(baseUrl);
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  url.pathname = url.pathname.replace(/\/+$/u, "") + path;
  for (const [name, value] of Object.entries(queryParams)) url.searchParams.set(name, value);
  return url;
}

/** So that a header from the config replaces one of ours, however it is spelt. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
