/** Proxies by the environment, on every version of Node: through a real proxy that runs as a process of its own. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createPost } from "../../src/net/post.ts";
import { proxyFor } from "../../src/net/proxy.ts";
import { withProxy, type Proxy } from "../net/with-proxy.ts";
import { collect, providerAt, requestFor, withServer } from "./given.ts";

/** TLS in front of the model server. */
async function withTls<T>(upstream: number, use: (port: number) => Promise<T>): Promise<T> {
  const pem = readFileSync(join(import.meta.dirname, "tls/model.test.pem"));
  const front: Server = createServer({ key: pem, cert: pem });
  front.removeAllListeners("secureConnection");
  front.on("secureConnection", (socket) => {
    const onward = connect(upstream, "127.0.0.1");
    socket.pipe(onward).pipe(socket);
    for (const each of [socket, onward]) each.on("error", () => {});
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  try {
    return await use((front.address() as AddressInfo).port);
  } finally {
    front.close();
  }
}

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What the proxy prints arrives a moment later. */
const soon = (proxy: Proxy, count: number) => vi.waitFor(() => expect(proxy.seen).toHaveLength(count), { timeout: 10_000 });

test("http goes to the proxy, with its credentials", async () => {
  await withServer({ script: [{ text: "a" }, { text: "b" }] }, (server) =>
    withProxy(server.port, "user:p@ss", async (proxy) => {
      const provider = providerAt("chat", "http://model.test:8080", { post: createPost({ HTTP_PROXY: proxy.url.replace("//", "//user:p%40ss@") }) });
      for (const _ of [1, 2]) expect((await collect(provider, requestFor("chat"))).at(-1)?.type).toBe("done");
      await soon(proxy, 2);
      expect(proxy.seen).toEqual(Array.from({ length: 2 }, () => ({ method: "POST", target: "http://model.test:8080/v1/chat/completions", authorized: true })));
      expect(server.requests[0]!.headers["host"]).toBe("model.test:8080");
    }),
  );
});

test("https goes through a tunnel that is used again, and the certificate is checked", async () => {
  await withServer({ script: [{ text: "a" }, { text: "b" }, { text: "c" }], key: "the-key" }, (server) =>
    withTls(server.port, (port) =>
      withProxy(port, null, async (proxy) => {
        const provider = providerAt("responses", "https://model.test", { post: createPost({ https_proxy: proxy.url }) });
        const [untrusted] = await collect(provider, requestFor("responses"));
        expect(untrusted).toMatchObject({ type: "failed", failure: { code: "network", retryable: false } });
        expect(untrusted?.type === "failed" && untrusted.failure.message).toMatch(/^model\.test cannot be reached \(\w*CERT\w*\)\. Its certificate is not trusted/u);

        vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
        for (const _ of [1, 2]) {
          expect((await collect(provider, requestFor("responses"))).at(-1)?.type).toBe("done");
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        await soon(proxy, 2);
        expect(proxy.seen).toEqual(Array.from({ length: 2 }, () => ({ method: "CONNECT", target: "model.test:443", authorized: true })));
        expect(server.requests).toHaveLength(2);
      }),
    ),
  );
});

test.each(["http", "https"])("a proxy that refuses, for %s", async (scheme) => {
  await withProxy(1, "user:right", async (proxy) => {
    const provider = providerAt("chat", `${scheme}://model.test`, { post: createPost({ ALL_PROXY: proxy.url.replace("//", "//user:wrong@") }) });
    const [event] = await collect(provider, requestFor("chat"));
    const message = scheme === "https" ? `The proxy ${new URL(proxy.url).host}, which ALL_PROXY names, wants other credentials (407).` : "The proxy on the way to model.test wants other credentials (407): check HTTP_PROXY.";
    expect(event?.type === "failed" && event.failure).toMatchObject({ code: "network", message, retryable: false });
  });
});

test.each(["http", "https"])("a proxy that is not there, for %s", async (scheme) => {
  const provider = providerAt("chat", `${scheme}://model.test`, { post: createPost({ ALL_PROXY: "127.0.0.1:1" }) });
  const message = "The proxy 127.0.0.1:1, which ALL_PROXY names, cannot be reached (ECONNREFUSED).";
  expect(await collect(provider, requestFor("chat"))).toMatchObject([{ type: "failed", failure: { code: "network", message, retryable: true } }]);
});

test.each([
  ["http", "socks5://me:secret@127.0.0.1:1", "http_proxy names a proxy of the kind socks5://, which is not supported; use one of http:// or https://."],
  ["https", "socks5://me:secret@127.0.0.1:1", "https_proxy names a proxy of the kind socks5://, which is not supported; use one of http:// or https://."],
  ["https", "http://me:secret@:::", "What https_proxy holds is not the address of a proxy."],
])("for %s, %s is refused in words and not gone around", async (scheme, value, message) => {
  const provider = providerAt("chat", `${scheme}://model.test`, { post: createPost({ [`${scheme}_proxy`]: value }) });
  expect(await collect(provider, requestFor("chat"))).toMatchObject([{ type: "failed", failure: { code: "network", message, retryable: false } }]);
});

describe("which proxy", () => {
  const env = { HTTP_PROXY: "http://plain:1", HTTPS_PROXY: "secure:2", NO_PROXY: "internal.test, .dotted.test,*.starred.test ported.test:8443,10.0.0.1,[fd00::1]:443" };
  test.each([
    ["http://example.com/", "http://plain:1/"],
    ["https://example.com/", "http://secure:2/"],
    ["https://internal.test/", null],
    ["https://a.internal.test/", null],
    ["https://notinternal.test/", "http://secure:2/"],
    ["https://a.dotted.test/", null],
    ["https://a.starred.test/", null],
    ["https://ported.test/", "http://secure:2/"],
    ["https://ported.test:8443/", null],
    ["http://10.0.0.1/", null],
    ["https://[fd00::1]/", null],
    ["http://localhost:11434/", null],
    ["http://127.0.0.1:1234/", null],
    ["http://[::1]:1234/", null],
  ])("%s → %s", (url, proxy) => {
    expect(proxyFor(new URL(url), env)?.url.href ?? null).toBe(proxy);
  });
  test("the lower case wins, everything may be exempt, and no variable means no proxy", () => {
    expect(proxyFor(new URL("http://a.test"), { http_proxy: "low:1", HTTP_PROXY: "high:1" })).toEqual({ url: new URL("http://low:1"), variable: "http_proxy" });
    expect(proxyFor(new URL("http://a.test"), { HTTP_PROXY: "high:1", no_proxy: "*" })).toBeNull();
    expect(proxyFor(new URL("http://a.test"), { HTTPS_PROXY: "high:1", HTTP_PROXY: " " })).toBeNull();
  });
});
