/** OpenAI's own compaction, and what becomes of its opaque item. */
import { expect, test } from "vitest";
import { outputFor, userText, type CallItem, type Item } from "../../src/protocol/item.ts";
import { createProviders } from "../../src/providers/registry.ts";
import type { WireProvider } from "../../src/providers/wire.ts";
import type { Reply } from "../model-server/script.ts";
import type { ModelServer } from "../model-server/server.ts";
import { collect, madeBy, requestFor, shown, withServer } from "./given.ts";

const call: CallItem = { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: "*** Begin" };
const request = (provider: WireProvider) => requestFor("responses", { input: [...shown(userText("hi")), ...madeBy(provider.origin("gpt-5"), call), ...shown(outputFor(call, "done"))] });
const host = { signal: new AbortController().signal, blobs: { get: () => Promise.resolve(null) } };

async function openai<T>(replies: Reply[], use: (provider: WireProvider, server: ModelServer) => Promise<T>): Promise<T> {
  return withServer({ script: replies, key: "k" }, async (server) => {
    const found = await createProviders({ env: { OPENAI_API_KEY: "k" }, tables: {}, openaiBaseUrl: `${server.url}/v1` }).get("openai");
    if (!found.ok) throw new Error(found.message);
    return use(found.provider, server);
  });
}

test("the conversation goes once, and the items that stand for it come back", async () => {
  await openai([{ usage: { input: 900, cached: 800, output: 30 } }, { text: "Hello." }], async (provider, server) => {
    const compacted = await provider.remoteCompact!(request(provider), host);
    expect(compacted).toEqual({
      ok: true,
      items: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
        { id: "cmp_0", type: "compaction", encrypted_content: "opaque-compaction-0" },
      ],
      usage: { input_tokens: 900, cached_tokens: 800, output_tokens: 30, reasoning_tokens: 0, total_tokens: 930 },
    });
    expect([server.requests[0]!.path, Object.keys(server.requests[0]!.body as object)]).toEqual(["/v1/responses/compact", ["model", "instructions", "input", "prompt_cache_key"]]);

    // The next request holds them in place of the conversation.
    const items = (compacted as { items: Item[] }).items;
    await collect(provider, requestFor("responses", { input: [...madeBy(provider.origin("gpt-5"), ...items), ...shown(userText("and?"))] }));
    expect((server.requests[1]!.body as { input: Item[] }).input[1]).toEqual({ type: "compaction", encrypted_content: "opaque-compaction-0" });
    expect(server.problems).toEqual([]);
  });
});

test.each<[string, Reply, string, boolean]>([
  ["an endpoint that does not exist", { status: 404 }, "not_found", false],
  ["a server in trouble", { status: 500 }, "server_error", true],
  ["too many requests", { status: 429, headers: { "retry-after": "2" } }, "rate_limited", true],
  ["a connection that breaks", { drop: { beforeHeaders: true } }, "network", true],
])("%s is a failure, not an exception", async (_, reply, code, retryable) => {
  const failed = await openai([reply], (provider) => provider.remoteCompact!(request(provider), host));
  expect(failed).toMatchObject({ ok: false, failure: { code, retryable }, retryAfterMs: code === "rate_limited" ? 2000 : null });
});

test("stopping it ends the connection", async () => {
  await openai([{ hang: true }], async (provider, server) => {
    const abort = new AbortController();
    const answer = provider.remoteCompact!(request(provider), { ...host, signal: abort.signal });
    await server.waitForRequest(0);
    abort.abort();
    expect(await answer).toMatchObject({ ok: false, failure: { code: "aborted", retryable: false } });
    expect(await server.requests[0]!.ended).toBe("aborted");
  });
});

test("nobody but OpenAI is asked", async () => {
  const tables = { mine: { base_url: "http://127.0.0.1:1/v1", wire_api: "responses" } };
  const found = await Promise.all(["anthropic", "ollama", "mine"].map((name) => createProviders({ env: { ANTHROPIC_API_KEY: "k" }, tables }).get(name)));
  expect(found.map((each) => each.ok && each.provider.remoteCompact)).toEqual([null, null, null]);
});
