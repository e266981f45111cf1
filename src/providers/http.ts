/**
 * One POST whose answer is read as it comes: the only place that talks to the network.
 *
 * Built on node:http and node:https rather than fetch: on Node 20 the first fetch of a process costs tens of milliseconds and some
 * 15 MB, which is more than all the rest of a turn, and it knows no proxies. Connections are kept alive and used again; one that the
 * server had closed meanwhile is replaced, unnoticed. Nothing is compressed, since a compressed stream arrives in lumps.
 */
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { proxyFor, type Environment } from "./proxy.ts";

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

const KEEP_MS = 60_000;
const RELEASE_MS = 1000;
/** Several kept connections may have been closed at the same time. */
const MOST_ATTEMPTS = 4;

interface Route {
  send: typeof httpRequest;
  agent: Agent | HttpsAgent;
  /** The request target and headers that a proxy wants instead. */
  path?: string;
  headers?: Readonly<Record<string, string>>;
}

export function createPost(env: Environment): Post {
  const agents = new Map<string, Promise<Agent | HttpsAgent>>();
  const agentFor = (name: string, make: () => Agent | HttpsAgent | Promise<Agent | HttpsAgent>): Promise<Agent | HttpsAgent> => {
    const found = agents.get(name) ?? Promise.resolve(make());
    agents.set(name, found);
    return found;
  };

  async function routeTo(url: URL): Promise<Route> {
    const proxy = proxyFor(url, env);
    const secure = url.protocol === "https:";
    const options = { keepAlive: true, timeout: KEEP_MS };
    if (!secure && !proxy) return { send: httpRequest, agent: await agentFor("http", () => new Agent(options)) };
    const https = await import("node:https");
    if (!proxy) return { send: https.request, agent: await agentFor("https", () => new https.Agent(options)) };
    const { createTunnel, proxyAuthorization, proxyConnector } = await import("./tunnel.ts");
    if (secure) return { send: https.request, agent: await agentFor(`tunnel ${proxy.href}`, () => createTunnel(proxy, options)) };
    const agent = await agentFor(`proxy ${proxy.href}`, () => proxyConnector(proxy, options));
    return { send: httpRequest, agent, path: url.href, headers: proxyAuthorization(proxy) };
  }

  return async (request) => {
    const route = await routeTo(request.url);
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(request, route);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
        if (attempt === MOST_ATTEMPTS) throw error.cause;
      }
    }
  };
}

/** A kept connection turned out to be closed: the server has not seen the request. */
class StaleConnection extends Error {}

function once({ url, headers, body, signal }: PostRequest, route: Route): Promise<PostResponse> {
  const bytes = Buffer.from(body);
  return new Promise((resolve, reject) => {
    const request: ClientRequest = route.send(url, {
      method: "POST",
      agent: route.agent,
      signal,
      ...(route.path === undefined ? {} : { path: route.path }),
      headers: { host: url.host, ...headers, ...route.headers, "content-type": "application/json", "accept-encoding": "identity", "content-length": bytes.length },
    });
    request.once("response", (response) => resolve(asResponse(response)));
    request.on("error", (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE") && !signal.aborted;
      reject(stale ? new StaleConnection("closed", { cause: error }) : error);
    });
    request.end(bytes);
  });
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
