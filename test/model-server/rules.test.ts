/** What the scripted server does for conversations that grow too long: rules, overflow, prefixes, compaction. */
import { afterEach, describe, expect, test } from "vitest";
import { bodies, events, paths, post, textOf } from "./fetch-events.ts";
import type { ProfileName } from "./profiles.ts";
import { startModelServer, type ModelServer, type ModelServerOptions } from "./server.ts";

const open: ModelServer[] = [];
async function serve(options: ModelServerOptions): Promise<ModelServer> {
  const server = await startModelServer(options);
  open.push(server);
  return server;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

type Wire = keyof typeof bodies;
const WIRES = ["responses", "chat", "messages"] as const;
const TOOLS: Record<Wire, object> = {
  responses: { tools: [{ type: "function", name: "read", parameters: { type: "object", properties: {} } }] },
  chat: { tools: [{ type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } }] },
  messages: { tools: [{ name: "read", input_schema: { type: "object", properties: {} } }] },
};
const saying = (wire: Wire, ...texts: string[]): object => ({
  ...bodies[wire],
  [wire === "responses" ? "input" : "messages"]: texts.map((content) => ({ role: "user", content })),
});
const toolsOff = (wire: Wire): object => ({ ...bodies[wire], ...TOOLS[wire], tool_choice: wire === "messages" ? { type: "none" } : "none" });

describe.each(WIRES)("%s", (wire) => {
  test("a reply with a condition answers whatever fits it, and the others stay in order", async () => {
    const server = await serve({ script: [{ text: "one" }, { when: "weather", text: "sunny" }, { text: "two" }] });
    const said: string[] = [];
    for (const text of ["hi", "the weather?", "and?", "weather again"]) said.push(textOf(await events(server, wire, saying(wire, text))));
    expect(said).toEqual(["one", "sunny", "two", "sunny"]);
    expect(server.problems).toEqual([]);
    expect(server.requests.map((request) => request.said)).toEqual(["hi", "the weather?", "and?", "weather again"]);
  });

  test("a request for a summary is told by the tools that it must not call", async () => {
    const server = await serve({ script: [{ when: { toolsOff: true }, text: "a summary" }, { text: "an answer" }] });
    expect(textOf(await events(server, wire, toolsOff(wire)))).toBe("a summary");
    expect(textOf(await events(server, wire))).toBe("an answer");
    expect(server.requests.map((request) => request.toolsOff)).toEqual([true, false]);
  });

  test("requests of one conversation tell how much of them was there before", async () => {
    const server = await serve({ script: () => ({ text: "ok" }) });
    const key = wire === "responses" ? { prompt_cache_key: "t1" } : {};
    await events(server, wire, { ...saying(wire, "hi"), ...key });
    await events(server, wire, { ...saying(wire, "hi", "more"), ...key });
    await events(server, wire, { ...saying(wire, "other"), ...(wire === "responses" ? { prompt_cache_key: "t2" } : {}) });
    const [first, second] = server.requests.map(({ raw }) => raw.toString()) as [string, string];
    expect(server.requests.map(({ prefix }) => prefix)).toEqual([null, first.indexOf(`"hi"}`) + `"hi"}`.length, null]);
    expect(second.startsWith(first.slice(0, server.requests[1]!.prefix!))).toBe(true);
  });

  test("a body over the limit is refused in the wire's own words and takes no reply", async () => {
    const server = await serve({ maxTokens: 200, script: [{ text: "ok" }] });
    const long = await post(server, wire, { body: saying(wire, "x".repeat(1000)) });
    expect([long.status, /context|too long/u.test(await long.text())]).toEqual([400, true]);
    expect(textOf(await events(server, wire))).toBe("ok");
    expect(server.requests.map(({ overflowed }) => overflowed)).toEqual([true, false]);
    expect(server.problems).toEqual([]);
  });
});

test.each<[ProfileName, string]>([
  ["openai", "maximum context length"],
  ["ollama", "exceeded max context length"],
  ["lmstudio", "context the overflows"],
  ["llamacpp", "exceed_context_size_error"],
  ["vllm", "maximum model length"],
])("%s says of a long chat: %s", async (profile, words) => {
  const server = await serve({ profile, maxTokens: 10, script: [] });
  expect(await (await post(server, "chat")).text()).toContain(words);
});

test("a search is a call of its own, or a pair of blocks, and the text after it cites", async () => {
  const search = { query: "weather", results: [{ title: "Weather", url: "https://weather.test/" }] };
  const server = await serve({ script: () => ({ search, text: "Sunny." }) });
  const done = (await events(server, "responses")).filter(({ event }) => event === "response.output_item.done").map(({ data }) => data.item);
  expect(done[0]).toEqual({ id: "ws_0_0", type: "web_search_call", status: "completed", action: { type: "search", query: "weather" } });
  const blocks = (await events(server, "messages")).filter(({ event }) => event === "content_block_start").map(({ data }) => data.content_block.type);
  expect(blocks).toEqual(["server_tool_use", "web_search_tool_result", "text"]);
  expect(textOf(await events(server, "chat"))).toBe("Sunny.");
});

test("/responses/compact keeps the user's messages and gives one opaque item for the rest", async () => {
  const server = await serve({ script: [{ usage: { input: 50, output: 5 } }] });
  const answer = await fetch(`${server.url}${paths.responses}/compact`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: [{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }] }),
  });
  expect(await answer.json()).toMatchObject({ object: "response.compaction", output: [{ role: "user", content: "hi" }, { id: "cmp_0", type: "compaction", encrypted_content: "opaque-compaction-0" }], usage: { input_tokens: 50, output_tokens: 5 } });
  expect(server.requests[0]).toMatchObject({ compact: true, wire: "responses" });
});
