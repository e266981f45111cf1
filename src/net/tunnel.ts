/**
 * Through a proxy: https by CONNECT, http by asking the proxy itself. Loaded only when the environment names a proxy.
 */
import { Agent, request, type AgentOptions } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { ProxyProblem, unreachable, type Proxy } from "./proxy.ts";

const CONNECT_MS = 30_000;

type Connected = (error: Error | null, socket?: Duplex) => void;
interface Goal {
  host?: string;
  port?: number | string;
  servername?: string;
}

export function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === "") return {};
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}

/** An agent whose connections run through the proxy to the server, encrypted end to end. */
export function createTunnel(proxy: Proxy, options: AgentOptions): HttpsAgent {
  return new Tunnel(proxy, options);
}

class Tunnel extends HttpsAgent {
  readonly #proxy: Proxy;
  constructor(proxy: Proxy, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  // Node calls this with a callback for sockets that take time; its types do not say so.
  override createConnection(goal: Goal, done: Connected): undefined {
    const { url } = this.#proxy;
    const authority = `${goal.host}:${goal.port ?? 443}`;
    const asked = request({
      ...placeOf(url),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...proxyAuthorization(url) },
      ...(url.protocol === "https:" ? { agent: proxyConnector(url, { keepAlive: false }) } : { agent: false }),
    });
    asked.once("connect", (response, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        done(refused(this.#proxy, response.statusCode ?? 0));
        return;
      }
      const encrypted: TLSSocket = connect({ ...(goal as ConnectionOptions), socket, ALPNProtocols: ["http/1.1"] });
      encrypted.once("secureConnect", () => {
        encrypted.removeListener("error", done);
        done(null, encrypted);
      });
      encrypted.once("error", done);
    });
    asked.once("response", (response) => {
      response.resume();
      done(refused(this.#proxy, response.statusCode ?? 0));
    });
    asked.once("error", (error) => done(unreachable(this.#proxy, error)));
    asked.setTimeout(CONNECT_MS, () => asked.destroy(Object.assign(new Error("no answer"), { code: "ETIMEDOUT" })));
    asked.end();
    return undefined;
  }
}

/** An agent that connects to the proxy instead of the server. */
export function proxyConnector(proxy: URL, options: AgentOptions): Agent {
  return new Connector(proxy, options);
}

class Connector extends Agent {
  readonly #proxy: URL;
  constructor(proxy: URL, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(): Socket {
    const place = placeOf(this.#proxy);
    return this.#proxy.protocol === "http:" ? connectPlain(place) : connect({ ...place, servername: place.host, ALPNProtocols: ["http/1.1"] });
  }
}

function placeOf(proxy: URL): { host: string; port: number } {
  const host = proxy.hostname.replace(/^\[|\]$/gu, "");
  return { host, port: Number(proxy.port || (proxy.protocol === "https:" ? 443 : 80)) };
}

function refused({ url, variable }: Proxy, status: number): Error {
  const why = status === 407 ? "wants other credentials" : "refused the connection";
  return new ProxyProblem("PROXY_REFUSED", `The proxy ${url.host}, which ${variable} names, ${why} (${status}).`);
}
