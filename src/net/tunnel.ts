/**
 * Through a proxy: https by CONNECT, http by asking the proxy itself. Loaded only when the environment names a proxy.
 */
import { Agent, request, type AgentOptions } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";

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
export function createTunnel(proxy: URL, options: AgentOptions): HttpsAgent {
  return new Tunnel(proxy, options);
}

class Tunnel extends HttpsAgent {
  readonly #proxy: URL;
  constructor(proxy: URL, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  // Node calls this with a callback for sockets that take time; its types do not say so.
  override createConnection(goal: Goal, done: Connected): undefined {
    const authority = `${goal.host}:${goal.port ?? 443}`;
    const asked = request({
      ...placeOf(this.#proxy),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...proxyAuthorization(this.#proxy) },
      ...(this.#proxy.protocol === "https:" ? { agent: proxyConnector(this.#proxy, { keepAlive: false }) } : { agent: false }),
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
    asked.once("error", (error) => done(error));
    asked.setTimeout(CONNECT_MS, () => asked.destroy(Object.assign(new Error(`The proxy ${this.#proxy.host} does not answer.`), { code: "ETIMEDOUT" })));
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

  override createConnection(_goal: Goal, done: Connected): Socket | undefined {
    const place = placeOf(this.#proxy);
    if (this.#proxy.protocol === "http:") return connectPlain(place);
    if (this.#proxy.protocol === "https:") return connect({ ...place, servername: place.host, ALPNProtocols: ["http/1.1"] });
    done(Object.assign(new Error(`A proxy of the kind ${this.#proxy.protocol}// is not supported; use http:// or https://.`), { code: "PROXY_REFUSED" }));
    return undefined;
  }
}

function placeOf(proxy: URL): { host: string; port: number } {
  const host = proxy.hostname.replace(/^\[|\]$/gu, "");
  return { host, port: Number(proxy.port || (proxy.protocol === "https:" ? 443 : 80)) };
}

function refused(proxy: URL, status: number): Error {
  return Object.assign(new Error(`The proxy ${proxy.host} refused the connection (${status}).`), { code: "PROXY_REFUSED" });
}
