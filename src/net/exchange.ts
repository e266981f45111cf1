/**
 * One request and the beginning of its answer: the only place that talks to servers over HTTP, and so the only one that knows proxies.
 *
 * Built on node:http and node:https rather than fetch: on Node 20 the first fetch of a process costs tens of milliseconds and some
 * 15 MB, which is more than all the rest of a turn, and it knows no proxies. Connections are kept alive and used again; one that the
 * server had closed meanwhile is replaced, unnoticed. Nothing is compressed, since a compressed stream arrives in lumps.
 */
import { channel } from "node:diagnostics_channel";
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { proxyFor, unreachable, type Environment, type Proxy } from "./proxy.ts";

export interface Asked {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  signal: AbortSignal;
}
/** Rejects with the error of node:http when there is no answer at all. */
export type Exchange = (asked: Asked) => Promise<IncomingMessage>;

/** Where each request is told: `method`, `url` without its query, `status` or `error`, `ms`. */
export const REQUESTS = "skein:request";
const requests = channel(REQUESTS);

const KEEP_MS = 60_000;
/** Several kept connections may have been closed at the same time. */
const MOST_ATTEMPTS = 4;

interface Route {
  send: typeof httpRequest;
  agent: Agent | HttpsAgent;
  /** The request target and headers that a proxy wants instead. */
  path?: string;
  headers?: Readonly<Record<string, string>>;
  /** Where whoever is connected to is this proxy, not the server. */
  proxy?: Proxy;
}

export function createExchange(env: Environment): Exchange {
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
    if (secure) return { send: https.request, agent: await agentFor(`tunnel ${proxy.url.href}`, () => createTunnel(proxy, options)) };
    const agent = await agentFor(`proxy ${proxy.url.href}`, () => proxyConnector(proxy.url, options));
    return { send: httpRequest, agent, path: url.href, headers: proxyAuthorization(proxy.url), proxy };
  }

  async function send(asked: Asked): Promise<IncomingMessage> {
    const route = await routeTo(asked.url);
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(asked, route);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
        if (attempt === MOST_ATTEMPTS) throw error.cause;
      }
    }
  }

  return (asked) => (requests.hasSubscribers ? told(asked, send(asked)) : send(asked));
}

async function told({ method, url }: Asked, answer: Promise<IncomingMessage>): Promise<IncomingMessage> {
  const began = performance.now();
  const tell = (outcome: object): void => requests.publish({ method, url: `${url.origin}${url.pathname}`, ...outcome, ms: Math.round(performance.now() - began) });
  try {
    const response = await answer;
    tell({ status: response.statusCode });
    return response;
  } catch (error) {
    tell({ error: (error as NodeJS.ErrnoException).code ?? String(error) });
    throw error;
  }
}

/** A kept connection turned out to be closed: the server has not seen the request. */
class StaleConnection extends Error {}

function once({ method, url, headers, body, signal }: Asked, route: Route): Promise<IncomingMessage> {
  const bytes = body === null ? null : Buffer.from(body);
  return new Promise((resolve, reject) => {
    const request: ClientRequest = route.send(url, {
      method,
      agent: route.agent,
      signal,
      ...(route.path === undefined ? {} : { path: route.path }),
      headers: { host: url.host, ...headers, ...route.headers, "accept-encoding": "identity", ...(bytes ? { "content-length": bytes.length } : {}) },
    });
    request.once("response", resolve);
    request.on("error", (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE") && !signal.aborted;
      reject(stale ? new StaleConnection("closed", { cause: error }) : route.proxy && !signal.aborted ? unreachable(route.proxy, error) : error);
    });
    request.end(bytes ?? undefined);
  });
}
