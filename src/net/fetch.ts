/**
 * As `fetch` does, for libraries that want one: through the proxy that the environment names, and to the configured server only: where it
 * sends a request on to another one, that fails, since nobody asked for that one.
 */
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { createExchange } from "./exchange.ts";
import type { Environment } from "./proxy.ts";

export type Fetch = (address: string | URL, init?: RequestInit) => Promise<Response>;

const MOST_REDIRECTS = 5;
const EMPTY = new Set([101, 204, 205, 304]);

export function createFetch(env: Environment): Fetch {
  const exchange = createExchange(env);
  return async (address, { method = "GET", headers, body = null, signal } = {}) => {
    if (body !== null && typeof body !== "string") throw new TypeError("Only a text can be sent.");
    let url = new URL(address);
    for (let redirects = 0; ; redirects++) {
      const answer = await exchange({ method, url, headers: Object.fromEntries(new Headers(headers)), body, signal: signal ?? new AbortController().signal });
      answer.on("error", () => {});
      const status = answer.statusCode ?? 0;
      const next = [301, 302, 307, 308].includes(status) && answer.headers.location !== undefined ? new URL(answer.headers.location, url) : null;
      if (next === null) {
        const told = new Headers(Object.entries(answer.headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]])));
        return new Response(EMPTY.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), { status, statusText: answer.statusMessage ?? "", headers: told });
      }
      answer.destroy();
      if (next.origin !== url.origin) throw new TypeError(`${url.host} sends on to ${next.host}, which is not configured.`);
      if (redirects === MOST_REDIRECTS) throw new TypeError(`${url.host} sends on and on.`);
      url = next;
    }
  };
}
