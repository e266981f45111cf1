import { describe, expect, test } from "vitest";
import { validate as validateChat } from "./validate/chat.ts";
import { validate as validateMessages } from "./validate/messages.ts";
import { validate as validateResponses } from "./validate/responses.ts";

type Body = Record<string, unknown>;
/** What is wrong, the body, and words of the refusal. */
type Bad = [what: string, body: unknown, words: string];
type Good = [what: string, body: unknown];

const schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const png = "data:image/png;base64,iVBORw0KGgo=";

describe("Responses", () => {
  const tool = { type: "function", name: "read", description: "Reads", parameters: schema, strict: false };
  const body = (changes: Body = {}): Body => ({ model: "m", stream: true, store: false, input: [say("user", "hi")], tools: [tool], ...changes });
  const say = (role: string, text: string): Body => ({ type: "message", role, content: [{ type: role === "assistant" ? "output_text" : "input_text", text }] });
  const input = (...items: unknown[]): Body => body({ input: [say("user", "hi"), ...items] });
  const call = (id: string): Body => ({ type: "function_call", call_id: id, name: "read", arguments: "{}" });
  const output = (id: string): Body => ({ type: "function_call_output", call_id: id, output: "ok" });
  const custom = (id: string): Body => ({ type: "custom_tool_call", call_id: id, name: "apply_patch", input: "*** Begin" });
  const customOutput = (id: string): Body => ({ type: "custom_tool_call_output", call_id: id, output: "ok" });
  const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "gAAA" };
  const shell = { type: "local_shell_call", call_id: "c", action: { type: "exec", command: ["ls"], env: {} }, status: "completed" };
  const userPart = (part: unknown): Body => body({ input: [{ role: "user", content: [part] }] });
  const strict = { ...tool, strict: true, parameters: { ...schema, additionalProperties: false } };

  accepts(validateResponses, [
    ["a bare request", { model: "m", input: "hi" }],
    ["what Skein sends", body({
      instructions: "Be good.", tool_choice: "auto", parallel_tool_calls: true, reasoning: { effort: "high", summary: "auto" },
      text: { verbosity: "low", format: { type: "json_schema", name: "out", strict: true, schema: { ...schema, additionalProperties: false } } },
      include: ["reasoning.encrypted_content"], prompt_cache_key: "019a-thread", max_output_tokens: 16,
    })],
    ["a message without type, content as a string", body({ input: [{ role: "user", content: "hi" }] })],
    ["every role", input(say("developer", "a"), say("system", "b"), say("assistant", "c"), say("user", "d"))],
    ["an empty text", input(say("user", ""))],
    ["parallel calls answered in another order", input(call("a"), call("b"), output("b"), output("a"))],
    ["a message between a call and its output", input(call("a"), say("user", "stop"), output("a"))],
    ["custom calls", input(custom("a"), customOutput("a"))],
    ["a local shell call answered as a function", input(shell, output("c"))],
    ["a local shell call answered as itself", input(shell, { type: "local_shell_call_output", call_id: "c", output: "ok" })],
    ["reasoning with encrypted content and an id, not stored", input({ ...thought, id: "rs_1" }, say("assistant", "hi"))],
    ["reasoning without an id", input(thought, call("a"), output("a"))],
    ["reasoning with a null content", input({ ...thought, content: null }, say("assistant", "hi"))],
    ["two reasoning items in a row", input(thought, thought, say("assistant", "hi"))],
    ["reasoning before a custom call", input(thought, custom("a"), customOutput("a"))],
    ["item ids", input({ ...say("assistant", "x"), id: "msg_1", status: "completed" }, { ...call("a"), id: "fc_1" }, output("a"))],
    ["an image, by data URL", userPart({ type: "input_image", image_url: png, detail: "high" })],
    ["an image, by address", userPart({ type: "input_image", image_url: "https://example.com/a.png" })],
    ["an output with an image", input(call("a"), { ...output("a"), output: [{ type: "input_text", text: "see" }, { type: "input_image", image_url: png }] })],
    ["arguments that are not JSON", input({ ...call("a"), arguments: "{oops" }, output("a"))],
    ["a web search call", input({ type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "x" } })],
    ["a compaction item", input({ type: "compaction", encrypted_content: "x" })],
    ["a strict tool", body({ tools: [strict] })],
    ["a custom tool with a grammar", body({ tools: [{ type: "custom", name: "apply_patch", description: "d", format: { type: "grammar", syntax: "lark", definition: "start: /x/" } }] })],
    ["hosted tools", body({ tools: [{ type: "web_search", external_web_access: false }, { type: "local_shell" }] })],
    ["tools that must not be called", body({ tool_choice: "none" })],
    ["an output for a call of the previous response", body({ previous_response_id: "resp_1", store: true, input: [output("a")] })],
    ["a forced tool", body({ tool_choice: { type: "function", name: "read" } })],
    ["no obfuscation", body({ stream_options: { include_obfuscation: false } })],
    ["a nullable parameter", body({ tools: [{ ...tool, parameters: { type: "object", properties: { a: { type: ["string", "null"] } } } }] })],
  ]);

  refuses(validateResponses, [
    ["a search with an option of another wire", body({ tools: [{ type: "web_search", max_uses: 1 }] }), "tools[0].max_uses: unknown parameter"],
    ["a grammar with a field of its tool", body({ tools: [{ type: "custom", name: "x", format: { type: "grammar", syntax: "lark", definition: "x", name: "x" } }] }), "tools[0].format.name"],
    ["a search call with blocks of another wire", input({ type: "web_search_call", status: "completed", action: { type: "search" }, blocks: [] }), "input[1].blocks: unknown parameter"],
    ["a search call that does something else", input({ type: "web_search_call", action: { type: "dance" } }), "input[1].action.type"],
    ["a choice that does not exist", body({ tool_choice: "never" }), "tool_choice"],
    ["no object", [], "body"],
    ["no model", { input: "hi" }, "model"],
    ["no input", { model: "m" }, "input"],
    ["empty input", body({ input: [] }), "must be provided"],
    ["an unknown parameter", body({ messages: [] }), "messages: unknown parameter"],
    ["Skein's own field on an item", input({ ...say("assistant", "x"), origin: { wire: "chat" } }), "input[1].origin: unknown parameter"],
    ["an unknown item", input({ type: "thought" }), "input[1].type"],
    ["an item without a type", input({ call_id: "a" }), "input[1].type"],
    ["an item that is a string", input("hi"), "input[1]: expected an object"],
    ["a role of another wire", input({ role: "tool", content: "x" }), "role"],
    ["a null content", input({ role: "assistant", content: null }), "content"],
    ["input text of an assistant", input({ role: "assistant", content: [{ type: "input_text", text: "x" }] }), "supported values are 'output_text'"],
    ["output text of a user", userPart({ type: "output_text", text: "x" }), "supported values are 'input_text'"],
    ["a chat part", userPart({ type: "text", text: "x" }), "content[0].type"],
    ["a part without text", userPart({ type: "input_text" }), "text: missing"],
    ["an image as a chat object", userPart({ type: "input_image", image_url: { url: png } }), "image_url"],
    ["an image that is a path", userPart({ type: "input_image", image_url: "/tmp/a.png" }), "image_url"],
    ["an image without data", userPart({ type: "input_image", image_url: "data:image/png;base64," }), "image_url"],
    ["an image of another kind", userPart({ type: "input_image", image_url: "data:image/svg+xml;base64,AAAA" }), "image_url"],
    ["a call without an output", input(call("a")), "no tool output found for function_call 'a'"],
    ["one of two calls without an output", input(call("a"), call("b"), output("a")), "'b'"],
    ["an output without a call", input(output("a")), "no tool call found"],
    ["an output before its call", input(output("a"), call("a")), "no tool call found"],
    ["two outputs for a call", input(call("a"), output("a"), output("a")), "more than one output"],
    ["two calls with one id", input(call("a"), output("a"), call("a"), output("a")), "duplicate call_id"],
    ["a function answered as a custom call", input(call("a"), customOutput("a")), "no tool call found for custom_tool_call_output"],
    ["a custom call answered as a function", input(custom("a"), output("a")), "no tool call found for function_call_output"],
    ["a custom call without an output", input(custom("a")), "no tool output found for custom_tool_call"],
    ["a local shell call without an output", input(shell), "no tool output found for local_shell_call"],
    ["an empty call id", input(call(""), output("")), "empty string"],
    ["no call id", input({ type: "function_call", name: "read", arguments: "{}" }), "call_id: missing"],
    ["a long call id", input(call("x".repeat(65)), output("x".repeat(65))), "maximum length 64"],
    ["arguments as an object", input({ ...call("a"), arguments: {} }, output("a")), "arguments: expected a string"],
    ["a call without a name", input({ ...call("a"), name: undefined }, output("a")), "name"],
    ["a call with a dotted name", input({ ...call("a"), name: "mcp.read" }, output("a")), "must match"],
    ["an output that is null", input(call("a"), { ...output("a"), output: null }), "output"],
    ["an output that is an object", input(call("a"), { ...output("a"), output: { content: "x" } }), "output"],
    ["an output that is too long", input(call("a"), { ...output("a"), output: "x".repeat(10_485_761) }), "string too long"],
    ["reasoning at the end", input(thought), "without its required following item"],
    ["reasoning before a user message", input(thought, say("user", "x")), "without its required following item"],
    ["reasoning before an output", input(call("a"), thought, output("a")), "without its required following item"],
    ["reasoning without a summary", input({ type: "reasoning", encrypted_content: "x" }, say("assistant", "x")), "summary"],
    ["reasoning that was not stored, by id only", input({ type: "reasoning", id: "rs_1", summary: [] }, say("assistant", "x")), "not persisted"],
    ["an id of Skein's own", input({ ...say("assistant", "x"), id: "item_1" }), "begins with 'msg'"],
    ["one id twice", input({ ...say("assistant", "x"), id: "msg_1" }, { ...say("assistant", "y"), id: "msg_1" }), "duplicate item"],
    ["an unknown status", input({ ...say("assistant", "x"), status: "done" }), "status"],
    ["a tool in the chat shape", body({ tools: [{ type: "function", function: { name: "read", parameters: schema } }] }), "tools[0].name"],
    ["an unknown tool type", body({ tools: [{ type: "freeform", name: "x" }] }), "unknown tool type"],
    ["a tool without parameters", body({ tools: [{ type: "function", name: "read" }] }), "parameters: missing"],
    ["parameters that are not an object", body({ tools: [{ ...tool, parameters: { type: "string" } }] }), 'type: "object"'],
    ["parameters without a type", body({ tools: [{ ...tool, parameters: { properties: {} } }] }), 'type: "object"'],
    ["parameters with oneOf at the top", body({ tools: [{ ...tool, parameters: { type: "object", oneOf: [] } }] }), "oneOf"],
    ["an array without items", body({ tools: [{ ...tool, parameters: { type: "object", properties: { a: { type: "array" } } } }] }), "missing items"],
    ["an invented type", body({ tools: [{ ...tool, parameters: { type: "object", properties: { a: { type: "path" } } } }] }), "not a valid type"],
    ["a strict tool that is open", body({ tools: [{ ...tool, strict: true }] }), "additionalProperties"],
    ["a strict tool with an optional key", body({ tools: [{ ...strict, parameters: { ...strict.parameters, required: [] } }] }), "missing 'path'"],
    ["two tools of one name", body({ tools: [tool, tool] }), "unique"],
    ["a tool name with a space", body({ tools: [{ ...tool, name: "read file" }] }), "must match"],
    ["a tool name of 65", body({ tools: [{ ...tool, name: "x".repeat(65) }] }), "must match"],
    ["a grammar without a definition", body({ tools: [{ type: "custom", name: "p", format: { type: "grammar", syntax: "lark" } }] }), "definition"],
    ["a forced tool that is not there", body({ tool_choice: { type: "function", name: "write" } }), "not found"],
    ["too few output tokens", body({ max_output_tokens: 1 }), ">= 16"],
    ["an invented effort", body({ reasoning: { effort: "extreme" } }), "reasoning.effort"],
    ["an invented include", body({ include: ["everything"] }), "include[0]"],
    ["a format without a name", body({ text: { format: { type: "json_schema", schema } } }), "text.format.name"],
    ["a long cache key", body({ prompt_cache_key: "x".repeat(65) }), "maximum length 64"],
    ["chat's stream options", body({ stream_options: { include_usage: true } }), "include_usage"],
    ["metadata that is not text", body({ metadata: { a: 1 } }), "metadata.a"],
  ]);
});

describe("Chat Completions", () => {
  const tool = { type: "function", function: { name: "read", description: "Reads", parameters: schema } };
  const user = { role: "user", content: "hi" };
  const body = (changes: Body = {}): Body => ({ model: "m", stream: true, messages: [user], tools: [tool], ...changes });
  const talk = (...messages: unknown[]): Body => body({ messages: [user, ...messages] });
  const call = (id: string): Body => ({ id, type: "function", function: { name: "read", arguments: "{}" } });
  const calls = (...ids: string[]): Body => ({ role: "assistant", content: null, tool_calls: ids.map(call) });
  const answer = (id: string): Body => ({ role: "tool", tool_call_id: id, content: "ok" });
  const withCall = (changes: Body): Body => talk({ ...calls("a"), tool_calls: [{ ...call("a"), ...changes }] }, answer("a"));

  accepts(validateChat, [
    ["tools that must not be called", body({ tool_choice: "none" })],
    ["a bare request", { model: "m", messages: [user] }],
    ["what Skein sends", body({ stream_options: { include_usage: true }, tool_choice: "auto", parallel_tool_calls: true, max_completion_tokens: 100, reasoning_effort: "low" })],
    ["every role", talk({ role: "system", content: "a" }, { role: "developer", content: "b" }, { role: "assistant", content: "c" })],
    ["a call and its answer", talk(calls("a"), answer("a"))],
    ["parallel calls answered in another order", talk(calls("a", "b"), answer("b"), answer("a"), user)],
    ["calls with text", talk({ ...calls("a"), content: "Looking." }, answer("a"))],
    ["calls with an empty text", talk({ ...calls("a"), content: "" }, answer("a"))],
    ["calls without content", talk({ role: "assistant", tool_calls: [call("a")] }, answer("a"))],
    ["an id used again later", talk(calls("a"), answer("a"), calls("a"), answer("a"))],
    ["a user message after the answers", talk(calls("a"), answer("a"), user)],
    ["an image", body({ messages: [{ role: "user", content: [{ type: "text", text: "x" }, { type: "image_url", image_url: { url: png, detail: "low" } }] }] })],
    ["text parts in an answer", talk(calls("a"), { ...answer("a"), content: [{ type: "text", text: "x" }] })],
    ["reasoning given back", talk({ role: "assistant", content: "x", reasoning_content: "hm" })],
    ["an empty user text", body({ messages: [{ role: "user", content: "" }] })],
    ["arguments that are not JSON", withCall({ function: { name: "read", arguments: "{oops" } })],
    ["a function without parameters", body({ tools: [{ type: "function", function: { name: "now" } }] })],
    ["structured output", body({ response_format: { type: "json_schema", json_schema: { name: "out", strict: true, schema: { ...schema, additionalProperties: false } } } })],
    ["a custom tool", body({ tools: [{ type: "custom", custom: { name: "p" } }] })],
    ["a refusal", talk({ role: "assistant", content: null, refusal: "no" })],
  ]);

  refuses(validateChat, [
    ["no object", null, "body"],
    ["no model", { messages: [user] }, "model"],
    ["no messages", { model: "m" }, "messages"],
    ["empty messages", body({ messages: [] }), "empty array"],
    ["an unknown parameter", body({ input: [] }), "input: unknown parameter"],
    ["Skein's own field on a message", talk({ role: "assistant", content: "x", origin: {} }), "messages[1].origin: unknown parameter"],
    ["a message that is a string", talk("hi"), "messages[1]"],
    ["an unknown role", talk({ role: "model", content: "x" }), "role"],
    ["a user without content", talk({ role: "user" }), "content"],
    ["a user with null", talk({ role: "user", content: null }), "content"],
    ["an assistant without anything", talk({ role: "assistant", content: null }), "content"],
    ["an assistant with an empty list of calls", talk({ role: "assistant", content: "x", tool_calls: [] }), "empty array"],
    ["content as an object", talk({ role: "user", content: { text: "x" } }), "content"],
    ["content without parts", talk({ role: "user", content: [] }), "empty array"],
    ["a Responses part", talk({ role: "user", content: [{ type: "input_text", text: "x" }] }), "content[0].type"],
    ["an image of an assistant", talk({ role: "assistant", content: [{ type: "image_url", image_url: { url: png } }] }), "role 'assistant'"],
    ["an image in an answer", talk(calls("a"), { ...answer("a"), content: [{ type: "image_url", image_url: { url: png } }] }), "role 'tool'"],
    ["an image as a string", talk({ role: "user", content: [{ type: "image_url", image_url: png }] }), "image_url"],
    ["an image that is a path", talk({ role: "user", content: [{ type: "image_url", image_url: { url: "/tmp/a.png" } }] }), "image_url.url"],
    ["a text part without text", talk({ role: "user", content: [{ type: "text" }] }), "text"],
    ["a call without an answer", talk(calls("a")), "no response for 'a'"],
    ["a user message before the answer", talk(calls("a"), user, answer("a")), "no response for 'a'"],
    ["one of two answers", talk(calls("a", "b"), answer("a")), "no response for 'b'"],
    ["an assistant message before the answer", talk(calls("a"), { role: "assistant", content: "x" }, answer("a")), "no response for 'a'"],
    ["a system message between the answers", talk(calls("a", "b"), answer("a"), { role: "system", content: "x" }, answer("b")), "no response for 'b'"],
    ["an answer without a call", talk(answer("a")), "must be a response to a preceding message"],
    ["an answer first", body({ messages: [answer("a")] }), "must be a response"],
    ["two answers for a call", talk(calls("a"), answer("a"), answer("a")), "more than one response"],
    ["an answer for another id", talk(calls("a"), answer("b")), "must be a response"],
    ["an answer without an id", talk(calls("a"), { role: "tool", content: "ok" }), "tool_call_id"],
    ["an answer with null", talk(calls("a"), { ...answer("a"), content: null }), "content"],
    ["two calls with one id", talk(calls("a", "a"), answer("a")), "duplicate"],
    ["a call without an id", withCall({ id: undefined }), "tool_calls[0].id"],
    ["a call with an empty id", withCall({ id: "" }), "tool_calls[0].id"],
    ["a call with a long id", withCall({ id: "x".repeat(65) }), "maximum length 64"],
    ["a call without a type", withCall({ type: undefined }), "tool_calls[0].type"],
    ["a call without a function", withCall({ function: undefined }), "tool_calls[0].function"],
    ["a call with arguments as an object", withCall({ function: { name: "read", arguments: {} } }), "arguments"],
    ["a call without arguments", withCall({ function: { name: "read" } }), "arguments"],
    ["a call with an empty name", withCall({ function: { name: "", arguments: "{}" } }), "name"],
    ["a call with an index", withCall({ index: 0 }), "index: unknown parameter"],
    ["no tools in the list", body({ tools: [] }), "empty array"],
    ["a choice without tools", body({ tools: undefined, tool_choice: "auto" }), "tool_choice"],
    ["parallel calls without tools", body({ tools: undefined, parallel_tool_calls: true }), "parallel_tool_calls"],
    ["a tool in the Responses shape", body({ tools: [{ type: "function", name: "read", parameters: schema }] }), "tools[0].function"],
    ["a tool without a type", body({ tools: [{ function: tool.function }] }), "tools[0].type"],
    ["two tools of one name", body({ tools: [tool, tool] }), "unique"],
    ["a dotted tool name", body({ tools: [{ type: "function", function: { name: "a.b" } }] }), "must match"],
    ["parameters that are not an object", body({ tools: [{ type: "function", function: { name: "a", parameters: { type: "array", items: {} } } }] }), 'type: "object"'],
    ["stream options without a stream", body({ stream: false, stream_options: { include_usage: true } }), "stream_options"],
    ["both token limits", body({ max_tokens: 5, max_completion_tokens: 5 }), "at the same time"],
    ["a format without a schema", body({ response_format: { type: "json_schema" } }), "json_schema"],
  ]);
});

describe("Messages", () => {
  const tool = { name: "read", description: "Reads", input_schema: schema };
  const user = { role: "user", content: "hi" };
  const body = (changes: Body = {}): Body => ({ model: "m", max_tokens: 4096, stream: true, messages: [user], tools: [tool], ...changes });
  const talk = (...messages: unknown[]): Body => body({ messages: [user, ...messages] });
  const text = (value: string): Body => ({ type: "text", text: value });
  const use = (id: string): Body => ({ type: "tool_use", id, name: "read", input: { path: "a" } });
  const result = (id: string): Body => ({ type: "tool_result", tool_use_id: id, content: "ok" });
  const thought = { type: "thinking", thinking: "hm", signature: "sig" };
  const asks = (...content: unknown[]): Body => ({ role: "assistant", content });
  const gives = (...content: unknown[]): Body => ({ role: "user", content });
  const enabled = { thinking: { type: "enabled", budget_tokens: 1024 } };
  const cached = (value: string): Body => ({ ...text(value), cache_control: { type: "ephemeral" } });
  const image = (source: unknown): Body => body({ messages: [gives({ type: "image", source })] });
  const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } };
  const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://a", title: "A", encrypted_content: "x", page_age: null }] };

  accepts(validateMessages, [
    ["a search, its result, and text that cites it", talk(asks(search, found, { ...text("x"), citations: [{ type: "web_search_result_location" }] }), user)],
    ["a search that failed", talk(asks(search, { ...found, content: { type: "web_search_tool_result_error", error_code: "unavailable" } }, text("x")), user)],
    ["tools that must not be called", body({ tool_choice: { type: "none" } })],
    ["a bare request", { model: "m", max_tokens: 1, messages: [user] }],
    ["what Skein sends", body({ system: [cached("Be good.")], tool_choice: { type: "auto" }, thinking: { type: "adaptive" }, metadata: { user_id: "u" } })],
    ["system as a string", body({ system: "Be good." })],
    ["two user messages in a row", talk(user)],
    ["two assistant messages in a row", talk(asks(text("a")), asks(text("b")), user)],
    ["a tool loop", talk(asks(text("Looking."), use("a")), gives(result("a")))],
    ["parallel results in another order", talk(asks(use("a"), use("b")), gives(result("b"), result("a")))],
    ["text after the results", talk(asks(use("a")), gives(result("a"), text("and hurry")))],
    ["a result without content", talk(asks(use("a")), gives({ type: "tool_result", tool_use_id: "a" }))],
    ["an empty result", talk(asks(use("a")), gives({ ...result("a"), content: "" }))],
    ["a failed result", talk(asks(use("a")), gives({ ...result("a"), is_error: true }))],
    ["an image in a result", talk(asks(use("a")), gives({ ...result("a"), content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }] }))],
    ["an empty input", talk(asks({ ...use("a"), input: {} }), gives(result("a")))],
    ["thinking before a call", body({ ...enabled, messages: [user, asks(thought, use("a")), gives(result("a"))] })],
    ["redacted thinking", body({ ...enabled, messages: [user, asks({ type: "redacted_thinking", data: "x" }, use("a")), gives(result("a"))] })],
    ["a loop that thought at its start", body({ ...enabled, messages: [user, asks(thought, use("a")), gives(result("a")), asks(use("b")), gives(result("b"))] })],
    ["a finished turn without thinking", body({ ...enabled, messages: [user, asks(text("x")), user] })],
    ["adaptive thinking in a loop without any", body({ thinking: { type: "adaptive" }, messages: [user, asks(use("a")), gives(result("a"))] })],
    ["old thinking when it is off", talk(asks(thought, text("x")), user)],
    ["an image by address", image({ type: "url", url: "https://example.com/a.png" })],
    ["four breakpoints", body({ system: [cached("a"), cached("b")], messages: [gives(cached("c"), cached("d"))] })],
    ["a breakpoint on a tool", body({ tools: [{ ...tool, cache_control: { type: "ephemeral", ttl: "1h" } }] })],
    ["a hosted tool", body({ tools: [tool, { type: "web_search_20250305", name: "web_search" }] })],
    ["a forced tool", body({ tool_choice: { type: "tool", name: "read" } })],
  ]);

  refuses(validateMessages, [
    ["a search without its result", talk(asks(search, text("x")), user), "without a corresponding web_search_tool_result"],
    ["a result without its search", talk(asks(found, text("x")), user), "without its server_tool_use"],
    ["a result without its opaque part", talk(asks(search, { ...found, content: [{ type: "web_search_result", url: "https://a" }] }, text("x")), user), "encrypted_content"],
    ["a search of a user", talk(gives(search)), "not allowed in user messages"],
    ["a search tool by another name", body({ tools: [{ type: "web_search_20250305", name: "search" }] }), "must be 'web_search'"],
    ["a tool of another wire", body({ tools: [{ type: "function", name: "x" }] }), "unknown tool type"],
    ["a choice as a word", body({ tool_choice: "none" }), "tool_choice"],
    ["no object", "hi", "body"],
    ["no model", { max_tokens: 1, messages: [user] }, "model"],
    ["no max_tokens", { model: "m", messages: [user] }, "max_tokens"],
    ["max_tokens of nothing", body({ max_tokens: 0 }), "max_tokens"],
    ["no messages", { model: "m", max_tokens: 1 }, "messages"],
    ["empty messages", body({ messages: [] }), "at least one message"],
    ["an unknown parameter", body({ max_completion_tokens: 1 }), "unknown parameter"],
    ["Skein's own field on a message", talk(asks(text("x")), { ...user, origin: {} }), "messages.2.origin"],
    ["a system role", body({ messages: [{ role: "system", content: "x" }, user] }), "top-level 'system'"],
    ["a tool role", talk({ role: "tool", content: "x" }), "unexpected role"],
    ["an assistant first", body({ messages: [asks(text("x")), user] }), 'must use the "user" role'],
    ["an assistant last", talk(asks(text("x"))), "prefill"],
    ["an empty text", talk({ role: "user", content: "" }), "non-empty content"],
    ["no blocks", talk({ role: "user", content: [] }), "non-empty content"],
    ["a null content", talk({ role: "user", content: null }), "content"],
    ["an empty text block", talk(gives(text(""))), "must be non-empty"],
    ["a blank text block", talk(gives(text(" \n"))), "non-whitespace"],
    ["an empty text block beside a call", talk(asks(text(""), use("a")), gives(result("a"))), "must be non-empty"],
    ["an empty text block in a result", talk(asks(use("a")), gives({ ...result("a"), content: [text("")] })), "must be non-empty"],
    ["an empty system block", body({ system: [text("")] }), "must be non-empty"],
    ["a block of another wire", talk(gives({ type: "input_text", text: "x" })), "not allowed in user messages"],
    ["a call of a user", talk(gives(use("a"))), "not allowed in user messages"],
    ["a result of an assistant", talk(asks(use("a")), asks(result("a")), user), "not allowed in assistant messages"],
    ["an image of an assistant", talk(asks({ type: "image", source: { type: "url", url: "https://a" } }), user), "not allowed in assistant messages"],
    ["a call without a result", talk(asks(use("a")), user), "without tool_result blocks immediately after: a"],
    ["a call at the end", talk(asks(use("a"))), "without tool_result"],
    ["one of two results", talk(asks(use("a"), use("b")), gives(result("a"))), "immediately after: b"],
    ["a message before the result", talk(asks(use("a")), user, gives(result("a"))), "immediately after: a"],
    ["results in two messages", talk(asks(use("a"), use("b")), gives(result("a")), gives(result("b"))), "immediately after: b"],
    ["text before the result", talk(asks(use("a")), gives(text("x"), result("a"))), "before all other content"],
    ["a result without a call", talk(asks(text("x")), gives(result("a"))), "unexpected tool_use_id"],
    ["a result first", body({ messages: [gives(result("a"))] }), "unexpected tool_use_id"],
    ["two results for a call", talk(asks(use("a")), gives(result("a"), result("a"))), "single result"],
    ["one id for two calls", talk(asks(use("a")), gives(result("a")), asks(use("a")), gives(result("a"))), "must be unique"],
    ["an id with a dot", talk(asks(use("a.b")), gives(result("a.b"))), "must match"],
    ["an empty id", talk(asks(use("")), gives(result(""))), "must match"],
    ["an input that is a string", talk(asks({ ...use("a"), input: "{}" }), gives(result("a"))), "valid dictionary"],
    ["an input that is a list", talk(asks({ ...use("a"), input: [] }), gives(result("a"))), "valid dictionary"],
    ["no input", talk(asks({ type: "tool_use", id: "a", name: "read" }), gives(result("a"))), "valid dictionary"],
    ["a call without a name", talk(asks({ ...use("a"), name: "" }), gives(result("a"))), "name"],
    ["an image in a failed result", talk(asks(use("a")), gives({ ...result("a"), is_error: true, content: [{ type: "image", source: { type: "url", url: "https://a" } }] })), "is_error"],
    ["a result that is an object", talk(asks(use("a")), gives({ ...result("a"), content: { output: "x" } })), "content"],
    ["thinking without a signature", talk(asks({ type: "thinking", thinking: "x" }, text("y")), user), "signature"],
    ["thinking after a call", talk(asks(use("a"), thought, text("x")), gives(result("a"))), "before tool_use"],
    ["thinking at the end", talk(asks(text("x"), thought), user), "final block"],
    ["thinking alone", talk(asks(thought), user), "final block"],
    ["a loop without thinking when it is enabled", body({ ...enabled, messages: [user, asks(use("a")), gives(result("a"))] }), "must start with a thinking block"],
    ["a small budget", body({ thinking: { type: "enabled", budget_tokens: 10 } }), "budget_tokens"],
    ["a budget above the limit", body({ max_tokens: 1024, ...enabled }), "greater than thinking.budget_tokens"],
    ["a temperature with thinking", body({ ...enabled, temperature: 0.5 }), "temperature"],
    ["a forced tool with thinking", body({ ...enabled, tool_choice: { type: "any" } }), "forces tool use"],
    ["a choice as a string", body({ tool_choice: "auto" }), "tool_choice"],
    ["a choice without tools", body({ tools: undefined, tool_choice: { type: "auto" } }), "while providing tools"],
    ["a forced tool that is not there", body({ tool_choice: { type: "tool", name: "write" } }), "not found"],
    ["a tool in the OpenAI shape", body({ tools: [{ type: "custom", name: "read", parameters: schema }] }), "parameters: unknown parameter"],
    ["a tool without a schema", body({ tools: [{ name: "read" }] }), "input_schema"],
    ["a schema without a type", body({ tools: [{ name: "read", input_schema: {} }] }), "input_schema.type"],
    ["a schema with anyOf at the top", body({ tools: [{ name: "read", input_schema: { type: "object", anyOf: [] } }] }), "anyOf"],
    ["two tools of one name", body({ tools: [tool, tool] }), "unique"],
    ["a tool name with a dot", body({ tools: [{ ...tool, name: "a.b" }] }), "must match"],
    ["an image with a data URL", image({ type: "base64", media_type: "image/png", data: png }), "data URL prefix"],
    ["an image of another kind", image({ type: "base64", media_type: "image/bmp", data: "AAAA" }), "media_type"],
    ["five breakpoints", body({ system: [cached("a"), cached("b"), cached("c")], messages: [gives(cached("d"), cached("e"))] }), "maximum of 4"],
    ["a breakpoint on thinking", talk(asks({ ...thought, cache_control: { type: "ephemeral" } }, text("x")), user), "not permitted on thinking"],
  ]);
});

function accepts(validate: (body: unknown) => string[], bodies: Good[]): void {
  test.each(bodies)("accepts %s", (_what, body) => {
    expect(validate(sent(body))).toEqual([]);
  });
}

function refuses(validate: (body: unknown) => string[], bodies: Bad[]): void {
  test.each(bodies)("refuses %s", (_what, body, words) => {
    expect(validate(sent(body)).join("\n")).toContain(words);
  });
}

/** As it arrives: without what JSON leaves out. */
function sent(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}
