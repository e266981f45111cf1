/** One POST of JSON whose answer is read as it comes: how models are asked. */
import { validateHeaderName, validateHeaderValue, type IncomingMessage } from "node:http";
import { createExchange } from "./exchange.ts";
import type { Environment } from "./proxy.ts";

export type Headers = Readonly<Record<string, string | undefined>>;

export interface PostRequest {
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
}
export interface PostResponse {
  status: number;
  /** Names in lower case. */
  headers: Headers;
  chunks: AsyncIterator<Uint8Array>;
  /** Everything of interest has come: what is left is read away so that the connection can be used again. */
  release(): void;
  /** Nobody wants the rest: the connection goes. */
  cancel(): void;
}
/** Rejects with the error of node:http when there is no answer at all. */
export type Post = (request: PostRequest) => Promise<PostResponse>;

const RELEASE_MS = 1000;

export function createPost(env: Environment): Post {
  const exchange = createExchange(env);
  return async ({ headers, ...request }) => asResponse(await exchange({ method: "POST", headers: { ...headers, "content-type": "application/json" }, ...request }));
}

export function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

function asResponse(response: IncomingMessage): PostResponse {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(response.headers)) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  const chunks = response.iterator({ destroyOnReturn: false }) as AsyncGenerator<Uint8Array>;
  response.on("error", () => {});
  return {
    status: response.statusCode ?? 0,
    headers,
    chunks,
    release() {
      const timer = setTimeout(() => response.destroy(), RELEASE_MS);
      timer.unref();
      response.once("close", () => clearTimeout(timer));
      // The iterator must let go first: nothing flows while it listens.
      void chunks.return(undefined).then(() => response.resume());
    },
    cancel() {
      response.destroy();
    },
  };
}
