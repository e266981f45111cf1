/** The exact bodies: what each wire makes of the same conversation. */
import { describe, expect, test } from "vitest";
import { userText, type Item, type Origin } from "../../src/protocol/item.ts";
import type { ModelRequest } from "../../src/core/provider.ts";
import { toRequest as toChat } from "../../src/providers/chat-request.ts";
import { loadImages, OPENAI_IMAGES } from "../../src/providers/images.ts";
import { toJson } from "../../src/providers/json.ts";
import { toRequest as toMessages } from "../../src/providers/messages-request.ts";
import { toRequest as toResponses } from "../../src/providers/responses-request.ts";
import { thinkingOf } from "../../src/providers/thinking.ts";
import { validate as validateMessages } from "../model-server/validate/messages.ts";
import { validate as validateResponses } from "../model-server/validate/responses.ts";
import { madeBy, MODEL, NO_IMAGES, PATCH_TOOL, requestFor, shown, TOOL, WIRES } from "./given.ts";

type Wire = (typeof WIRES)[number];
const BUILD = { responses: toResponses, chat: toChat, messages: toMessages };
const here = (wire: Wire): Origin => ({ wire, provider: "p", model: MODEL[wire], account: "abc" });
const PNG = "data:image/png;base64,iVBORw0KGgo=";
const HOST = { signal: new AbortController().signal, limits: OPENAI_IMAGES };
const EPHEMERAL = { cache_control: { type: "ephemeral" } };

function bodyOf(wire: Wire, changes: Partial<ModelRequest>, urls = new Map<string, string>()): Record<string, unknown> {
  return JSON.parse(toJson(BUILD[wire](requestFor(wire, changes), { images: { ...NO_IMAGES, urls }, origin: { ...here(wire), model: changes.model ?? MODEL[wire] } }))) as Record<string, unknown>;
}

const developer = (text: string): Item => ({ type: "message", role: "developer", content: [{ type: "input_text", text }] });
const says = (text: string): Item => ({ type: "message", id: "msg_1", status: "completed", role: "assistant", content: [{ type: "output_text", annotations: [], text }] });
const thinks = (text: string, encrypted: string): Item => ({ type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text }], content: [{ type: "reasoning_text", text }], encrypted_content: encrypted });
const calls = (call_id: string, args: string): Item => ({ type: "function_call", id: "fc_1", call_id, name: "exec_command", arguments: args, phase: "x" });
const patches = (call_id: string, input: string): Item => ({ type: "custom_tool_call", call_id, name: "apply_patch", input });
const output = (call_id: string, text: string, type = "function_call_output"): Item => ({ type, call_id, output: text });

function conversation(wire: Wire) {
  return [
    ...shown(developer("Rules."), userText("List the files.")),
    ...madeBy(here(wire), thinks("hm", "sig"), says("I look."), calls("call:1", '{"cmd": "ls"}'), patches("c2", "*** Begin")),
    ...shown(output("call:1", "a.txt"), output("c2", "", "custom_tool_call_output"), developer("Be brief."), userText("And?")),
  ];
}

describe("Responses", () => {
  test("what this provider made goes back verbatim without ids", () => {
    expect(bodyOf("responses", { input: conversation("responses"), effort: "high" })).toEqual({
      model: "gpt-5",
      instructions: "Be good.",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Rules." }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "List the files." }] },
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], content: [{ type: "reasoning_text", text: "hm" }], encrypted_content: "sig" },
        { type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", annotations: [], text: "I look." }] },
        { type: "function_call", call_id: "call_1", name: "exec_command", arguments: '{"cmd": "ls"}', phase: "x" },
        { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "*** Begin" },
        { type: "function_call_output", call_id: "call_1", output: "a.txt" },
        { type: "custom_tool_call_output", call_id: "c2", output: "" },
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "And?" }] },
      ],
      tools: [{ type: "function", name: "exec_command", description: "Runs a command.", strict: false, parameters: TOOL.parameters }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "high", summary: "auto" },
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "01900000-0000-7000-8000-000000000000",
    });
  });

  test("what another made goes with the fields that the API knows, and its reasoning not at all", () => {
    const { input } = bodyOf("responses", { input: conversation("messages") });
    expect((input as Item[]).slice(2, 5)).toEqual([
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
      { type: "function_call", call_id: "call_1", name: "exec_command", arguments: '{"cmd": "ls"}' },
      { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "*** Begin" },
    ]);
  });

  test.each([
    ["another account", { account: "def" }],
    ["another model", { model: "gpt-4.1" }],
    ["another provider of the same wire", { provider: "azure" }],
  ])("reasoning of %s is left out", (_, change) => {
    const input = [...shown(userText("hi")), ...madeBy({ ...here("responses"), ...change }, thinks("hm", "sig"), says("Hello."))];
    expect((bodyOf("responses", { input })["input"] as Item[]).map(({ type }) => type)).toEqual(["message", "message"]);
  });

  test("reasoning of the same model under a dated name stays", () => {
    const input = [...shown(userText("hi")), ...madeBy({ ...here("responses"), model: "gpt-5-2025-08-07" }, thinks("hm", "sig"), says("Hello."))];
    expect((bodyOf("responses", { input })["input"] as Item[]).map(({ type }) => type)).toEqual(["message", "reasoning", "message"]);
  });

  test("reasoning without what it led to is left out", () => {
    const input = [...shown(userText("hi")), ...madeBy(here("responses"), thinks("a", "1")), ...shown(userText("again")), ...madeBy(here("responses"), thinks("b", "2"), thinks("c", "3"))];
    expect((bodyOf("responses", { input })["input"] as Item[]).map(({ type }) => type)).toEqual(["message", "message"]);
  });

  test("models that do not reason are not asked for encrypted reasoning", () => {
    expect(bodyOf("responses", { model: "gpt-4.1" })["include"]).toBeUndefined();
  });

  test("a schema is followed strictly where it can be", () => {
    const closed = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
    expect(bodyOf("responses", { schema: closed })["text"]).toEqual({ format: { type: "json_schema", name: "answer", strict: true, schema: closed } });
    expect(bodyOf("responses", { schema: { type: "object", properties: {} } })["text"]).toMatchObject({ format: { strict: false } });
  });
});

describe("free-form tools", () => {
  const custom = { type: "custom", name: "apply_patch", description: "Changes files.", format: { type: "grammar", syntax: "lark", definition: "start: /.+/" } };
  const plain = { type: "function", name: "apply_patch", description: "Changes files.", strict: false, parameters: PATCH_TOOL.parameters };

  test.each([
    ["gpt-5", custom],
    ["gpt-5.1-codex-max", custom],
    ["gpt-6-mini", custom],
    ["gpt-10", custom],
    ["codex-next", custom],
    ["gpt-4.1", plain],
    ["o4-mini", plain],
    ["codex-mini-latest", plain],
    ["openai/gpt-oss-120b", plain],
  ])("%s", (model, shape) => {
    expect(bodyOf("responses", { model, tools: [PATCH_TOOL] })["tools"]).toEqual([shape]);
  });

  test("on the other wires they are functions", () => {
    expect(bodyOf("chat", { tools: [PATCH_TOOL] })["tools"]).toEqual([{ type: "function", function: { name: "apply_patch", description: "Changes files.", parameters: PATCH_TOOL.parameters } }]);
    expect(bodyOf("messages", { tools: [PATCH_TOOL] })["tools"]).toEqual([{ name: "apply_patch", description: "Changes files.", input_schema: PATCH_TOOL.parameters, ...EPHEMERAL }]);
  });

  test("calls and outputs made before the model changed go as functions to one that has no others", () => {
    const made = { ...here("responses"), model: "gpt-5" };
    const input = [...shown(userText("hi")), ...madeBy(made, patches("a", "*** Begin")), ...shown(output("a", "done", "custom_tool_call_output"))];
    const body = bodyOf("responses", { model: "gpt-4.1", tools: [PATCH_TOOL], input });
    expect((body["input"] as Item[]).slice(1)).toEqual([
      { type: "function_call", call_id: "a", name: "apply_patch", arguments: '{"input":"*** Begin"}' },
      { type: "function_call_output", call_id: "a", output: "done" },
    ]);
    expect(validateResponses(body)).toEqual([]);
    // And back: the model that made it gets it as it was.
    expect((bodyOf("responses", { model: "gpt-5", tools: [PATCH_TOOL], input })["input"] as Item[]).slice(1)).toEqual([patches("a", "*** Begin"), output("a", "done", "custom_tool_call_output")]);
  });

  test("a function call made elsewhere stays one where free-form tools are", () => {
    const input = [...shown(userText("hi")), ...madeBy(here("messages"), { ...calls("a", '{"input":"*** Begin"}'), name: "apply_patch" }), ...shown(output("a", "done"))];
    const body = bodyOf("responses", { tools: [PATCH_TOOL], input });
    expect((body["input"] as Item[])[1]).toEqual({ type: "function_call", call_id: "a", name: "apply_patch", arguments: '{"input":"*** Begin"}' });
    expect(validateResponses(body)).toEqual([]);
  });
});

test.each([
  ["responses", "none"],
  ["chat", "none"],
  ["messages", { type: "none" }],
] as const)("%s: tools that must not be called stay in the request", (wire, choice) => {
  const without = bodyOf(wire, {});
  expect(bodyOf(wire, { toolChoice: "none" })).toEqual({ ...without, tool_choice: choice });
  if (wire !== "responses") expect(bodyOf(wire, { toolChoice: "none", tools: [] })["tool_choice"]).toBeUndefined();
});

describe("the provider's own search", () => {
  const use = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "weather" } };
  const result = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://w.test/", title: "Weather", encrypted_content: "opaque", page_age: null }] };
  const search = { type: "web_search_call", status: "completed", action: { type: "search", query: "weather" }, blocks: [use, result] };
  const cites = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Sunny.", citations: [{ type: "web_search_result_location", encrypted_index: "opaque" }] }] };
  const searched = (origin: Origin) => [...shown(userText("hi")), ...madeBy(origin, search, cites), ...shown(userText("and?"))];

  test.each([
    ["responses", "live", { type: "web_search" }],
    ["responses", "cached", { type: "web_search", external_web_access: false }],
    ["messages", "live", { type: "web_search_20250305", name: "web_search", ...EPHEMERAL }],
    ["messages", "cached", { type: "web_search_20250305", name: "web_search", ...EPHEMERAL }],
  ] as const)("%s, %s", (wire, webSearch, shape) => {
    const tools = bodyOf(wire, { webSearch })["tools"] as object[];
    expect([tools.length, tools.at(-1)]).toEqual([2, shape]);
  });

  test("chat has none, and a tool of the same name stands in its place", () => {
    expect(bodyOf("chat", { webSearch: "live" })["tools"]).toHaveLength(1);
    expect(bodyOf("messages", { webSearch: "live", tools: [{ ...TOOL, name: "web_search" }] })["tools"]).toHaveLength(1);
  });

  test("blocks and citations go back as they came, to where they were made", () => {
    const body = bodyOf("messages", { webSearch: "live", input: searched(here("messages")) });
    expect((body["messages"] as { content: object[] }[])[1]?.content).toEqual([use, result, { type: "text", text: "Sunny.", citations: cites.content[0]!.citations }]);
    expect(validateMessages(body)).toEqual([]);
  });

  test.each<[string, Partial<Origin>, "live" | null]>([
    ["another account", { account: "def" }, "live"],
    ["another model", { model: "claude-opus-5" }, "live"],
    ["search being off", {}, null],
  ])("with %s they go as text, without opaque parts", (_, change, webSearch) => {
    const body = bodyOf("messages", { webSearch, input: searched({ ...here("messages"), ...change }) });
    expect((body["messages"] as { content: object[] }[])[1]?.content).toEqual([
      { type: "text", text: "[Searched the web: weather]\n- Weather: https://w.test/" },
      { type: "text", text: "Sunny." },
    ]);
    expect(JSON.stringify(body)).not.toContain("opaque");
  });

  test("other wires get text", () => {
    for (const wire of ["responses", "chat"] as const) {
      const body = JSON.stringify(bodyOf(wire, { webSearch: "live", input: searched(here("messages")) }));
      expect(body).toContain("[Searched the web: weather]\\n- Weather: https://w.test/");
      expect(body).not.toContain("opaque");
    }
  });

  test("an item for all that was compacted goes back to where it was made only", () => {
    const compaction: Item = { type: "compaction", id: "cmp_1", encrypted_content: "opaque" };
    const input = (origin: Origin) => [...madeBy(origin, compaction), ...shown(userText("hi"))];
    expect((bodyOf("responses", { input: input(here("responses")) })["input"] as Item[])[0]).toEqual({ type: "compaction", encrypted_content: "opaque" });
    for (const wire of WIRES) expect(JSON.stringify(bodyOf(wire, { input: input({ ...here("responses"), account: "def" }) }))).not.toContain("opaque");
  });
});

describe("Chat Completions", () => {
  test("the conversation", () => {
    expect(bodyOf("chat", { input: conversation("responses"), effort: "high" })).toEqual({
      model: "local",
      messages: [
        { role: "system", content: "Be good.\n\nRules." },
        { role: "user", content: "List the files." },
        {
          role: "assistant",
          content: "I look.",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "exec_command", arguments: '{"cmd": "ls"}' } },
            { id: "c2", type: "function", function: { name: "apply_patch", arguments: '{"input":"*** Begin"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "a.txt" },
        { role: "tool", tool_call_id: "c2", content: "" },
        { role: "user", content: "<developer>\nBe brief.\n</developer>\n\nAnd?" },
      ],
      tools: [{ type: "function", function: TOOL }],
      reasoning_effort: "high",
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("shell calls and arguments that are no object are wrapped", () => {
    const action = { type: "exec", command: ["ls"] };
    const input = shown(userText("hi"), { type: "local_shell_call", call_id: "a", action }, calls("b", "oops"), output("a", "1"), output("b", "2"));
    const [, , assistant] = bodyOf("chat", { input })["messages"] as { tool_calls?: object[] }[];
    expect(assistant?.tool_calls).toEqual([
      { id: "a", type: "function", function: { name: "local_shell", arguments: JSON.stringify(action) } },
      { id: "b", type: "function", function: { name: "exec_command", arguments: '{"input":"oops"}' } },
    ]);
  });

  test("missing, repeated and long ids become unique, and each output keeps its call", () => {
    const long = "x".repeat(50);
    const input = shown(userText("hi"), calls("", "{}"), output("", "1"), calls("", "{}"), output("", "2"), calls("same", "{}"), output("same", "3"), calls("same", "{}"), output("same", "4"), calls(long, "{}"), output(long, "5"));
    const messages = bodyOf("chat", { input })["messages"] as { role: string; tool_call_id?: string; content: string }[];
    expect(messages.filter(({ role }) => role === "tool").map(({ tool_call_id: id, content }) => [id, content])).toEqual([
      ["call_1", "1"],
      ["call_2", "2"],
      ["same", "3"],
      ["same_1", "4"],
      [`${"x".repeat(38)}_1`, "5"],
    ]);
  });

  test("a hosted call is told as text", () => {
    const input = [...shown(userText("hi")), ...madeBy(here("responses"), { type: "web_search_call", id: "ws_1", action: { type: "search", query: "weather" } }, says("Sunny."))];
    expect((bodyOf("chat", { input })["messages"] as object[]).at(-1)).toEqual({ role: "assistant", content: "[Searched the web: weather]\n\nSunny." });
  });
});

describe("Messages", () => {
  test("the conversation", () => {
    expect(bodyOf("messages", { input: conversation("messages"), effort: "high" })).toEqual({
      model: "claude-sonnet-4-6",
      max_tokens: 64_000,
      system: [{ type: "text", text: "Be good.", ...EPHEMERAL }],
      tools: [{ name: "exec_command", description: "Runs a command.", input_schema: TOOL.parameters, ...EPHEMERAL }],
      messages: [
        { role: "user", content: [{ type: "text", text: "<developer>\nRules.\n</developer>" }, { type: "text", text: "List the files.", ...EPHEMERAL }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "sig" },
            { type: "text", text: "I look." },
            { type: "tool_use", id: "call_1", name: "exec_command", input: { cmd: "ls" } },
            { type: "tool_use", id: "c2", name: "apply_patch", input: { input: "*** Begin" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call_1", content: "a.txt" },
            { type: "tool_result", tool_use_id: "c2", content: "(no output)" },
            { type: "text", text: "<developer>\nBe brief.\n</developer>" },
            { type: "text", text: "And?", ...EPHEMERAL },
          ],
        },
      ],
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
      stream: true,
    });
  });

  test("a redacted block goes back whole", () => {
    const input = [...shown(userText("hi")), ...madeBy(here("messages"), { type: "reasoning", summary: [], encrypted_content: "data", redacted: true }, says("Hello.")), ...shown(userText("and?"))];
    expect((bodyOf("messages", { input })["messages"] as { content: object[] }[])[1]?.content[0]).toEqual({ type: "redacted_thinking", data: "data" });
  });

  test("an answer that broke off is continued by the user's side", () => {
    const input = [...shown(userText("hi")), ...madeBy(here("messages"), says("Hel"))];
    expect((bodyOf("messages", { input })["messages"] as object[]).at(-1)).toEqual({ role: "user", content: [{ type: "text", text: "Continue." }] });
  });

  test("arguments that are no object are wrapped", () => {
    const input = shown(userText("hi"), calls("a", "oops"), calls("b", "[1]"), calls("c", ""), output("a", "1"), output("b", "2"), output("c", "3"));
    const [, assistant] = bodyOf("messages", { input })["messages"] as { content: { input: object }[] }[];
    expect(assistant?.content.map((block) => block.input)).toEqual([{ input: "oops" }, { input: [1] }, {}]);
  });

  test("with a budget, a round of calls that began without thinking goes on without", () => {
    const input = [...shown(userText("hi")), ...madeBy(here("responses"), calls("a", "{}")), ...shown(output("a", "1"))];
    expect(bodyOf("messages", { input, effort: "high", model: "claude-sonnet-4-5" })["thinking"]).toBeUndefined();
    expect(bodyOf("messages", { effort: "high", model: "claude-sonnet-4-5" })["thinking"]).toEqual({ type: "enabled", budget_tokens: 20_480 });
  });

  test.each([
    ["claude-3-5-sonnet-20241022", "none"],
    ["claude-3-7-sonnet-20250219", "enabled"],
    ["claude-sonnet-4-20250514", "enabled"],
    ["claude-opus-4-1-20250805", "enabled"],
    ["claude-opus-4-5", "enabled"],
    ["claude-haiku-4-5-20251001", "enabled"],
    ["claude-opus-4-6", "adaptive"],
    ["claude-opus-4-7", "adaptive"],
    ["claude-opus-4-10", "adaptive"],
    ["claude-opus-5", "adaptive"],
    ["glm-4.6", "enabled"],
  ])("%s thinks in the form %s", (model, type) => {
    expect(thinkingOf(model, "high").thinking?.type ?? "none").toBe(type);
  });
});

describe("images", () => {
  const picture = (image_url: string): Item => ({ type: "message", role: "user", content: [{ type: "input_text", text: "see" }, { type: "input_image", image_url, detail: "high" }] });
  const seen = (wire: Wire, url: string, images?: Map<string, string>) => {
    const body = bodyOf(wire, { input: shown(picture(url)) }, images);
    return ((body["input"] ?? body["messages"]) as { role: string; content: object[] }[]).at(-1)?.content[1];
  };

  test.each([
    ["responses", { type: "input_image", image_url: PNG, detail: "high" }],
    ["chat", { type: "image_url", image_url: { url: PNG, detail: "high" } }],
    ["messages", { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" }, ...EPHEMERAL }],
  ] as const)("%s: from a blob, as its own shape", (wire, shape) => {
    expect(seen(wire, "blob:abc", new Map([["blob:abc", PNG]]))).toEqual(shape);
    expect(seen(wire, PNG)).toEqual(shape);
  });

  test.each([
    ["responses", { type: "input_image", image_url: "https://e.com/a.png", detail: "high" }],
    ["chat", { type: "image_url", image_url: { url: "https://e.com/a.png", detail: "high" } }],
    ["messages", { type: "image", source: { type: "url", url: "https://e.com/a.png" }, ...EPHEMERAL }],
  ] as const)("%s: by address", (wire, shape) => {
    expect(seen(wire, "https://e.com/a.png")).toEqual(shape);
  });

  test("an image in an output: beside its text, or after the tool messages", () => {
    const image = { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "see" }, { type: "input_image", image_url: PNG }] };
    const input = shown(userText("hi"), calls("a", "{}"), image, says("Nice."));
    expect((bodyOf("responses", { input })["input"] as Item[])[2]?.["output"]).toEqual([{ type: "input_text", text: "see" }, { type: "input_image", image_url: PNG }]);
    expect((bodyOf("chat", { input })["messages"] as object[]).slice(3)).toEqual([
      { role: "tool", tool_call_id: "a", content: "see\n[image]" },
      { role: "user", content: [{ type: "image_url", image_url: { url: PNG } }] },
      { role: "assistant", content: "Nice." },
    ]);
    expect((bodyOf("messages", { input })["messages"] as { content: { content: object[] }[] }[])[2]?.content[0]?.content).toEqual([
      { type: "text", text: "see" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
    ]);
  });

  test("a blob that is gone or no image is told as text", async () => {
    const blobs = { get: (_: string, { sha256 }: { sha256: string }) => Promise.resolve(sha256 === "text" ? Buffer.from("hello world!") : null) };
    const request = requestFor("responses", { input: shown(picture("blob:gone"), picture("blob:text")) });
    const images = await loadImages(request, { blobs, ...HOST });
    expect(images.urls.size).toBe(0);
    expect(JSON.stringify(toResponses(request, { images, origin: here("responses") })).match(/not available any more/gu)).toHaveLength(2);
  });

  test.each(["data:image/png;base64,", "data:image/png;base64,=a", "data:image/png;base64,a=b", "data:image/png;base64,a===", "data:image/png;base64,a b", "data:image/svg+xml;base64,aaaa", "data:text/html,x", "javascript:x", "file:///etc/passwd"])("%s is not sent", (url) => {
    for (const wire of WIRES) expect(JSON.stringify(bodyOf(wire, { input: shown(picture(url)) }))).not.toContain(url);
  });

  test("an image of 40 MB", () => {
    const url = `data:image/png;base64,${"A".repeat(40_000_000)}`;
    expect(seen("responses", url)).toMatchObject({ type: "input_image" });
  });

  test.each([
    ["image/png", "\x89PNG\r\n\x1a\n...."],
    ["image/jpeg", "\xff\xd8\xff\xe0"],
    ["image/gif", "GIF89a\x01\0\x01\0.."],
    ["image/webp", "RIFF\0\0\0\0WEBP"],
  ])("the kind is told by the bytes: %s", async (type, bytes) => {
    const blobs = { get: () => Promise.resolve(Buffer.from(bytes, "latin1")) };
    const images = await loadImages(requestFor("chat", { input: shown(picture(`blob:${type}`)) }), { blobs, ...HOST });
    expect(images.urls.get(`blob:${type}`)).toBe(`data:${type};base64,${Buffer.from(bytes, "latin1").toString("base64")}`);
  });
});

test.each(WIRES)("%s: half a surrogate pair is not sent", (wire) => {
  const text = toJson(BUILD[wire](requestFor(wire, { input: shown(userText("a\ud83d b \\ud83d \u{1f600}")) }), { images: NO_IMAGES, origin: here(wire) }));
  expect(text).toContain("a\ufffd b \\\\ud83d \u{1f600}");
});

test.each(WIRES)("%s: tools of other makers become what the API takes", (wire) => {
  const tools = [{ name: "odd", description: "", parameters: { anyOf: [], $defs: {} } }];
  expect(JSON.stringify(bodyOf(wire, { tools })["tools"])).toContain('{"type":"object","properties":{},"$defs":{}}');
});
