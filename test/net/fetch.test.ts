/** Our own fetch, with real servers: a proxy, one that sends on, one that answers slowly. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFetch } from "../../src/net/fetch.ts";
import { hostileServer, source } from "../tools/mcp/given.ts";
import { withProxy } from "./with-proxy.ts";

async function serve(answer: (asked: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((asked, response) => void answer(asked, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("an MCP server is reached through the proxy that the environment names", async () => {
  const server = await hostileServer("http", "normal");
  await withProxy(Number(new URL(server.url!).port), "user:secret", async (proxy) => {
    const mcp = source({ far: { ...server, url: "http://mcp.test/mcp" } }, { env: { ...process.env, http_proxy: proxy.url.replace("//", "//user:secret@") } });
    await mcp.ready();
    expect((await mcp.tools()).length).toBeGreaterThan(0);
    await vi.waitFor(() => expect(proxy.seen[0]).toEqual({ method: "POST", target: "http://mcp.test/mcp", authorized: true }));
  });
});

test("a request that is sent on to another place of the same server arrives there whole", async () => {
  const url = await serve(async (asked, response) => {
    if (asked.url === "/mcp") response.writeHead(307, { location: "/mcp/" }).end();
    else response.end([asked.method, asked.url, asked.headers["x-name"], await text(asked)].join(" "));
  });
  const response = await createFetch({})(`${url}/mcp`, { method: "POST", body: "über", headers: { "x-name": "a" } });
  expect([response.status, await response.text()]).toEqual([200, "POST /mcp/ a über"]);
});

test("a server that sends on to another one, or for ever, is refused", async () => {
  const other = await serve((_, response) => response.end("not asked for"));
  const url = await serve((asked, response) => response.writeHead(308, { location: asked.url === "/away" ? other : "/" }).end());
  const fetch = createFetch({});
  await expect(fetch(`${url}/away`)).rejects.toThrow(`${new URL(url).host} sends on to ${new URL(other).host}, which is not configured.`);
  await expect(fetch(url)).rejects.toThrow("sends on and on");
});

test("an answer that is no longer wanted ends on both sides", async () => {
  let gone = false;
  const url = await serve((_, response) => {
    response.on("close", () => (gone = true));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n");
  });
  const controller = new AbortController();
  const response = await createFetch({})(url, { signal: controller.signal });
  const reader = response.body!.getReader();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe("data: 1\n\n");
  controller.abort();
  await expect(reader.read()).rejects.toThrow();
  await vi.waitFor(() => expect(gone).toBe(true));
});

test("an answer without a body has none", async () => {
  const url = await serve((_, response) => response.writeHead(204).end());
  const response = await createFetch({})(url, { method: "DELETE" });
  expect([response.status, response.body]).toEqual([204, null]);
});
