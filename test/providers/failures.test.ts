/** What servers and networks do wrong, and what becomes of it. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { httpFailure, retryAfter, streamFailure, type Target } from "../../src/providers/failure.ts";
import type { ProfileName } from "../model-server/profiles.ts";
import type { Reply, Wire } from "../model-server/script.ts";
import { asked, collect, providerAt, requestFor, WIRES, withServer } from "./given.ts";

describe.each(WIRES)("%s", (wire) => {
  test.each<[number, string, boolean, string]>([
    [400, "bad_request", false, ""],
    [401, "unauthorized", false, "Check the key in SCRIPTED_API_KEY."],
    [402, "insufficient_quota", false, "Check plan and billing"],
    [403, "forbidden", false, "The key in SCRIPTED_API_KEY may not use"],
    [404, "not_found", false, "Check the model's name (-m"],
    [408, "server_error", true, ""],
    [413, "context_length_exceeded", false, ""],
    [422, "bad_request", false, ""],
    [429, "rate_limited", true, ""],
    [500, "server_error", true, ""],
    [502, "server_error", true, ""],
    [503, "overloaded", true, ""],
    [529, "overloaded", true, ""],
  ])("HTTP %i is %s", async (status, code, retryable, advice) => {
    const { last, events } = await asked(wire, [{ status }]);
    expect(events).toHaveLength(1);
    expect(last).toMatchObject({ type: "failed", failure: { code, retryable, status } });
    expect(last?.type === "failed" && last.failure.message).toContain(advice);
    expect(last?.type === "failed" && last.failure.message).toContain(`scripted answered (${status}`);
  });

  test("a key that the server refuses names its variable", async () => {
    const { last } = await asked(wire, { key: "another" });
    expect(last).toMatchObject({ type: "failed", failure: { code: "unauthorized", retryable: false } });
    expect(last?.type === "failed" && last.failure.message).toContain("SCRIPTED_API_KEY");
  });

  test("the key is sent, and without one nothing is asked", async () => {
    const { last } = await asked(wire, { key: "the-key", script: [{ text: "Hello" }] });
    expect(last?.type).toBe("done");
    const { last: without, server } = await asked(wire, [{ text: "Hello" }], { options: { key: () => null } });
    expect(without).toEqual({ type: "failed", failure: { code: "missing_key", message: "scripted needs a key and SCRIPTED_API_KEY is not set. Set it with: export SCRIPTED_API_KEY=<your key>", retryable: false }, retryAfterMs: null });
    expect(server.requests).toEqual([]);
  });

  test.each<[string, Record<string, string>, number]>([
    ["seconds", { "retry-after": "2" }, 2000],
    ["milliseconds", { "retry-after": "60", "retry-after-ms": "1500" }, 1500],
  ])("retry-after in %s", async (_, headers, ms) => {
    expect((await asked(wire, [{ status: 429, headers }])).last).toMatchObject({ retryAfterMs: ms });
  });

  test("retry-after as a date", async () => {
    const { last } = await asked(wire, [{ status: 503, headers: { "retry-after": new Date(Date.now() + 5000).toUTCString() } }]);
    expect(last?.type === "failed" && last.retryAfterMs).toBeGreaterThan(2000);
    expect(last?.type === "failed" && last.retryAfterMs).toBeLessThanOrEqual(5000);
  });

  test.each<[string, Reply]>([
    ["HTML", { status: 200, raw: ["<html>"], headers: { "content-type": "text/html" } }],
    ["JSON without an error", { raw: ["{}"], headers: { "content-type": "application/json" } }],
  ])("%s instead of a stream", async (_, reply) => {
    expect((await asked(wire, [reply])).last).toMatchObject({ type: "failed", failure: { code: "not_a_stream", retryable: false } });
  });

  test("an error as JSON with status 200", async () => {
    const { last } = await asked(wire, [{ raw: ['{"error":{"message":"insufficient_quota","type":"insufficient_quota"}}'], headers: { "content-type": "application/json" } }]);
    expect(last).toMatchObject({ type: "failed", failure: { code: "insufficient_quota", retryable: false } });
  });

  test("an event that is not JSON", async () => {
    expect((await asked(wire, [{ raw: ["data: {oops\n\n"] }])).last).toMatchObject({ type: "failed", failure: { code: "server_error", retryable: true } });
  });

  test("the last event lacks its blank line", async () => {
    expect((await asked(wire, [{ raw: [LAST[wire]] }])).last?.type).toBe("done");
  });

  test.each([
    ["<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center><hr>nginx</body></html>", "scripted answered (502): 502 Bad Gateway."],
    ["<html><style>p { color: red }</style><body><p>Come\nback <b>later</b>!</p></body></html>", "scripted answered (502): Come back later !"],
  ])("a page is told in one line, once and without tags", async (body, message) => {
    expect((await asked(wire, [{ status: 502, body }])).last).toMatchObject({ failure: { message } });
  });

  test("a header of the config that cannot be sent is named, and nothing is asked", async () => {
    const { last, server } = await asked(wire, [{ text: "Hello" }], { options: { headers: { "X-Team": "a\nb" } } });
    expect(last).toMatchObject({ type: "failed", failure: { code: "bad_provider", message: expect.stringMatching(/^The header "X-Team" of the provider scripted cannot be sent: .*http_headers/u) as string, retryable: false } });
    expect(server.requests).toEqual([]);
  });

  test("a body that is cut short still tells the status", async () => {
    const { last } = await asked(wire, [{ status: 500, body: "x".repeat(1_000_000) }]);
    expect(last).toMatchObject({ type: "failed", failure: { code: "server_error", status: 500 } });
    expect(last?.type === "failed" && last.failure.message.length).toBeLessThan(1000);
  });
});

const LAST: Record<Wire, string> = {
  responses: 'event: response.completed\ndata: {"type":"response.completed","response":{"output":[],"usage":null}}',
  chat: 'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]',
  messages: 'event: message_stop\ndata: {"type":"message_stop"}',
};

describe("a conversation that is too long", () => {
  test.each<[Wire, ProfileName]>([
    ["responses", "openai"],
    ["messages", "openai"],
    ["chat", "openai"],
    ["chat", "ollama"],
    ["chat", "lmstudio"],
    ["chat", "llamacpp"],
    ["chat", "vllm"],
  ])("%s as %s says it", async (wire, profile) => {
    const { last } = await asked(wire, { maxTokens: 10, profile, script: [] });
    expect(last).toMatchObject({ type: "failed", failure: { code: "context_length_exceeded", retryable: false, status: 400 } });
  });

  test.each([
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
    "the input length exceeds the context length",
    "Input is too long for requested model.",
    "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Please reduce the length of the messages or completion.",
  ])("%s", (message) => {
    expect(http(400, { error: { message } })).toMatchObject({ code: "context_length_exceeded", retryable: false });
  });

  test("too many tokens a minute is something else", () => {
    expect(http(429, { error: { message: "Too many tokens, please wait before trying again." } })).toMatchObject({ code: "rate_limited", retryable: true });
  });
});

describe.each(WIRES)("what a failed answer cost: %s", (wire) => {
  const usage = { input: 1200, cached: 1000, output: 50 };

  test("is told where the server tells it", async () => {
    const { last } = await asked(wire, [{ text: "Hel", incomplete: "max_output_tokens", usage }]);
    expect(last).toMatchObject({ type: "failed", failure: { code: "max_output_tokens" }, usage: { input_tokens: 1200, cached_tokens: 1000 } });
  });

  test("is left out where nobody told", async () => {
    const { last } = await asked(wire, [{ status: 500 }]);
    expect(last).not.toHaveProperty("usage");
  });
});

test.each(["responses", "messages"] as const)("what an error in the stream cost: %s", async (wire) => {
  const usage = { input: 1200, cached: 1000, output: 50 };
  const { last } = await asked(wire, [{ text: "Hel", responseFailed: { code: "server_error", message: "Boom" }, usage }]);
  expect(last).toMatchObject({ type: "failed", failure: { code: "server_error" }, usage: { input_tokens: 1200, cached_tokens: 1000 } });
});

test("an answer that the server paused after its searches is kept and asked for again at once", async () => {
  const raw = ['event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"pause_turn"}}\n\n', 'event: message_stop\ndata: {"type":"message_stop"}\n\n'];
  expect((await asked("messages", [{ raw }])).last).toMatchObject({ type: "failed", failure: { code: "paused", retryable: true }, retryAfterMs: 0 });
});

describe("the network", () => {
  test("nothing listens: the message names the host and what to do", async () => {
    const url = await withServer({}, (server) => Promise.resolve(server.url));
    const [event] = await collect(providerAt("chat", url), requestFor("chat"));
    expect(event).toMatchObject({ type: "failed", failure: { code: "network", retryable: true } });
    expect(event?.type === "failed" && event.failure.message).toBe(`${new URL(url).host} cannot be reached (ECONNREFUSED). Nothing listens there: is the server running, and is base_url right?`);
  });

  test("a name that does not exist", async () => {
    const [event] = await collect(providerAt("chat", "http://nothing.invalid"), requestFor("chat"));
    expect(event).toMatchObject({ type: "failed", failure: { code: "network", retryable: true } });
    expect(event?.type === "failed" && event.failure.message).toMatch(/^nothing\.invalid cannot be reached \((?:ENOTFOUND|EAI_AGAIN)\)\./u);
  });

  test("no TLS where it is due", async () => {
    const [event] = await withServer({}, (server) => collect(providerAt("chat", server.url.replace("http:", "https:")), requestFor("chat")));
    expect(event).toMatchObject({ type: "failed", failure: { code: "network", retryable: true } });
    expect(event?.type === "failed" && event.failure.message).toContain("where the server speaks plain HTTP, base_url begins with http://");
  });

  test("something that is not HTTP", async () => {
    const odd = createServer((socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
    await new Promise<void>((resolve) => odd.listen(0, "127.0.0.1", resolve));
    const [event] = await collect(providerAt("chat", `http://127.0.0.1:${(odd.address() as AddressInfo).port}`), requestFor("chat"));
    odd.close();
    expect(event).toMatchObject({ type: "failed", failure: { code: "network", retryable: true } });
  });

  test("a key with a line break in it", async () => {
    const { last } = await asked("chat", [{ text: "Hello" }], { options: { key: () => "a\nb" } });
    expect(last).toMatchObject({ type: "failed", failure: { code: "unauthorized", retryable: false } });
    expect(last?.type === "failed" && last.failure.message).toContain("SCRIPTED_API_KEY");
  });

  test("a base URL that is none", async () => {
    for (const url of ["nonsense", "ftp://example.com"]) {
      const [event] = await collect(providerAt("chat", url), requestFor("chat"));
      expect(event).toMatchObject({ type: "failed", failure: { code: "bad_base_url", retryable: false } });
    }
  });

  test.each([
    ["used again", 1, 10],
    ["replaced, unnoticed, when the server has closed it", 2, 1],
  ])("a connection is %s", async (_, expected, answers) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      let answered = 0;
      socket.on("data", () => {
        if (answered++ < answers) socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${LAST.chat.length}\r\n\r\n${LAST.chat}`);
        else socket.destroy();
      });
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const provider = providerAt("chat", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    for (let n = 0; n < 2; n++) {
      expect((await collect(provider, requestFor("chat"))).at(-1)?.type).toBe("done");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(connections).toBe(expected);
    server.close();
  });

  test("nothing compressed is asked for, and headers and query of the config are sent", async () => {
    const { server } = await asked("chat", [{ text: "a" }], { options: { headers: { "X-Team": "red", Authorization: "Basic x" }, queryParams: { "api-version": "1" } } });
    const [{ headers, path }] = server.requests as [(typeof server.requests)[number]];
    expect({ path, team: headers["x-team"], authorization: headers["authorization"], encoding: headers["accept-encoding"] }).toEqual({ path: "/v1/chat/completions?api-version=1", team: "red", authorization: "Basic x", encoding: "identity" });
  });
});

const TARGET: Target = { provider: "p", host: "h", model: "m", envKey: "K" };
const http = (status: number, error: object) => httpFailure({ status, headers: {}, body: JSON.stringify(error) }, TARGET, 0).failure;

describe("errors by their words", () => {
  test.each<[string, number, object]>([
    ["context_length_exceeded", 400, { error: { message: "This model's maximum context length is 8192 tokens.", type: "invalid_request_error", code: "context_length_exceeded" } }],
    ["context_length_exceeded", 400, { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" } }],
    ["context_length_exceeded", 400, { error: { code: 400, message: "the request exceeds the available context size, try increasing it", type: "exceed_context_size_error" } }],
    ["context_length_exceeded", 400, { error: "Trying to keep the first 5000 tokens when context the overflows: The number of tokens to keep from the initial prompt is greater than the context length" }],
    ["context_length_exceeded", 413, { type: "error", error: { type: "request_too_large", message: "Request exceeds the maximum size" } }],
    ["insufficient_quota", 429, { error: { message: "You exceeded your current quota, please check your plan and billing details.", type: "insufficient_quota", code: "insufficient_quota" } }],
    ["insufficient_quota", 400, { type: "error", error: { type: "invalid_request_error", message: "Your credit balance is too low to access the Anthropic API." } }],
    ["bad_encrypted_content", 400, { error: { message: "The encrypted content gAAA...DQ== could not be verified.", type: "invalid_request_error", param: null, code: "invalid_encrypted_content" } }],
    ["bad_encrypted_content", 400, { type: "error", error: { type: "invalid_request_error", message: "messages.1.content.0: Invalid `signature` in `thinking` block" } }],
    ["bad_encrypted_content", 400, { type: "error", error: { type: "invalid_request_error", message: "messages.1.content.19: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified." } }],
    ["bad_image", 400, { error: { message: "The image data you provided does not represent a valid image.", type: "invalid_request_error", code: "invalid_image_format" } }],
    ["bad_image", 400, { type: "error", error: { type: "invalid_request_error", message: "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7000000 bytes > 5242880 bytes" } }],
    ["bad_image", 400, { type: "error", error: { type: "invalid_request_error", message: "Could not process image" } }],
    ["bad_image", 500, { error: { message: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj" } }],
    ["bad_request", 400, { error: { message: "Unknown parameter: 'foo'.", type: "invalid_request_error" } }],
    ["bad_request", 422, { detail: [{ msg: "field required" }] }],
  ])("%s, status %i", (code, status, error) => {
    expect(http(status, error)).toMatchObject({ code, retryable: false });
  });

  test.each<[string, string, boolean, number | null]>([
    ["rate_limit_exceeded", "rate_limited", true, 11_054],
    ["server_is_overloaded", "overloaded", true, 11_054],
    ["invalid_prompt", "invalid_prompt", false, null],
    ["something_new", "server_error", true, 11_054],
  ])("in a stream: %s", (code, name, retryable, wait) => {
    expect(streamFailure({ code, message: "Please try again in 11.054s." }, TARGET)).toMatchObject({ failure: { code: name, retryable }, retryAfterMs: wait });
  });

  test.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "1.5" }, 1500],
    [{ "retry-after": "-1" }, null],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after-ms": "x", "retry-after": "1" }, 1000],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:10 GMT" }, 10_000],
    [{ "retry-after": "Wed, 31 Dec 1969 23:59:50 GMT" }, 0],
  ])("retry-after %j is %s", (headers, ms) => {
    expect(retryAfter(headers, 0)).toBe(ms);
  });
});
