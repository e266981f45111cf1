/**
 * HTTP: an MCP server at an address. The library's transport, with what it lacks: an answer that never comes because its stream ended is
 * told at once (as an error with the code LOST), no message may have more than MESSAGE_BYTES, and floods of small ones are read slowly.
 */
import { setTimeout as delay } from "node:timers/promises";
import { StreamableHTTPClientTransport, type FetchLike, type JSONRPCMessage, type TransportSendOptions } from "@modelcontextprotocol/client";
import type { Fetch } from "../../net/fetch.ts";
import { MANY_MESSAGES, MESSAGE_BYTES, REST_MS, type Connecting } from "./stdio.ts";

/** Of our own making: no server sends it. */
export const LOST = -39_001;

interface Given {
  url: string;
  headers: Readonly<Record<string, string>>;
  fetch: Fetch;
}

export function createHttp({ url, headers, fetch }: Given): Connecting {
  return new Http(new URL(url), { requestInit: { headers }, fetch: bounded(fetch) });
}

class Http extends StreamableHTTPClientTransport implements Connecting {
  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: TransportSendOptions): Promise<void> {
    const id = "id" in message && "method" in message ? message.id : undefined;
    const ended = (): void => {
      // Unless it was answered: then nobody waits for this id any more.
      if (id !== undefined) this.onmessage?.({ jsonrpc: "2.0", id, error: { code: LOST, message: "the connection ended before the answer came" } });
    };
    return super.send(message, { ...options, onRequestStreamEnd: ended });
  }
  why(): string | null {
    return null;
  }
  lastWords(): string {
    return "";
  }
  override async close(): Promise<void> {
    // Those who wait for it do so for a moment only: a server need not know sessions.
    await Promise.race([this.terminateSession().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 300).unref())]);
    await super.close();
  }
}

function bounded(given: Fetch): FetchLike {
  return async (url, init) => {
    const response = await given(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
    return new Response(response.body.pipeThrough(limit(isStream)), { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

/** Of a stream of events each may have so many bytes (an empty line ends it), of anything else the whole. */
function limit(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  let line = 0;
  return new TransformStream({
    async transform(chunk, controller) {
      total += chunk.length;
      let events = 0;
      if (isStream) {
        for (const [index, byte] of chunk.entries()) {
          if (byte !== 10) line += byte === 13 ? 0 : 1;
          else if (line > 0) line = 0;
          else {
            events += 1;
            total = chunk.length - index - 1;
          }
        }
      }
      if (total > MESSAGE_BYTES) controller.error(new Error(`it sent a message of more than ${MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
      if (events > MANY_MESSAGES) await delay(REST_MS);
    },
  });
}
