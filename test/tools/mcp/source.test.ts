/** What the runtime is told of MCP tools: names, effects, approval, lists. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolNames } from "../../../src/tools/mcp/names.ts";
import { createMcp } from "../../../src/tools/mcp/source.ts";
import { BASE, host, hostileServer, source } from "./given.ts";

test("names are as models take them, and the same for the same tools", () => {
  const long = "x".repeat(60);
  const tools = [
    { server: "git", tool: "log" },
    { server: "a", tool: "b__c" },
    { server: "a__b", tool: "c" },
    { server: "git", tool: long },
    { server: "git", tool: `${long}y` },
  ];
  const names = toolNames(tools);
  expect(names).toEqual(["mcp__git__log", "mcp__a__b__c_d28d61bb", "mcp__a__b__c_528239e9", `mcp__git__${"x".repeat(45)}_57d12885`, `mcp__git__${"x".repeat(45)}_d4d19c6c`]);
  expect(toolNames(tools.toReversed()).reverse()).toEqual(names);
});

test("only tools that are enabled and not disabled are there", async () => {
  const mcp = source({
    some: await hostileServer("stdio", "normal", { enabled_tools: ["pid", "env", "none-such"], disabled_tools: ["env"] }),
    off: { ...BASE, command: "no-such-program", enabled: false },
  });
  await mcp.ready();
  expect((await mcp.tools()).map(({ name }) => name)).toEqual(["mcp__some__pid"]);
  expect(mcp.status()).toEqual([
    { name: "some", state: "ready", tools: ["pid"] },
    { name: "off", state: "disabled", tools: [] },
  ]);
  expect(mcp.warnings()).toEqual([]);
});

test("a call is assessed by what is configured, then by what the server says of the tool", async () => {
  const server = await hostileServer("stdio", "odd", { enabled_tools: ["reader", "same"] });
  const mcp = source({
    auto: server,
    approve: { ...server, default_tools_approval_mode: "approve", tools: { same: { approval_mode: "prompt" } } },
  });
  await mcp.ready();
  const about = async (name: string) => {
    const tool = await mcp.tool(name);
    const { safe, rule } = await tool.assess!({ a: 1 }, { ...host(), approval: "untrusted" });
    return { effect: tool.effect, safe, rule };
  };
  expect(await about("mcp__auto__reader")).toEqual({ effect: "read", safe: true, rule: null });
  expect(await about("mcp__auto__same")).toEqual({ effect: "exec", safe: false, rule: null });
  expect(await about("mcp__approve__reader")).toEqual({ effect: "read", safe: true, rule: "allow" });
  expect(await about("mcp__approve__same")).toEqual({ effect: "exec", safe: false, rule: "ask" });
  expect(await (await mcp.tool("mcp__auto__same")).assess!({ a: 1 }, { ...host(), approval: "untrusted" })).toEqual({
    safe: false,
    rule: null,
    outside: null,
    shown: { kind: "tool", tool: "mcp__auto__same", arguments: { a: 1 } },
    grant: { keys: ["tool:mcp__auto__same"], text: 'the tool "same" of the MCP server "auto"' },
  });
});

test("calls of two threads at the same time: a question is declined, because it is not known whose it is", async () => {
  const mcp = source({ s: await hostileServer("stdio", "normal") });
  await mcp.ready();
  const abort = new AbortController();
  const other = (await mcp.tool("mcp__s__hang")).run({}, host({ thread: "other", signal: abort.signal }));
  const mine = host({ answer: { action: "accept", content: { name: "Ada" } } });
  expect(await (await mcp.tool("mcp__s__ask")).run({}, mine)).toEqual({ status: "done", output: '{"action":"decline"}' });
  expect(mine.asked).toEqual([]);
  abort.abort("interrupted");
  await other;
});

test("without servers nothing is there, and closing twice does nothing", async () => {
  const mcp = createMcp({ servers: {}, env: {}, cwd: "/" });
  await mcp.ready();
  expect(await mcp.tools()).toEqual([]);
  await mcp.closed("thread");
  await mcp.close();
  await mcp.close();
});

test("the client library is loaded only when there is a server", () => {
  const folder = join(import.meta.dirname, "../../../src/tools/mcp");
  const statically = readdirSync(folder).filter((file) => /^import (?!type)[^;]*from "@modelcontextprotocol\/client"/mu.test(readFileSync(join(folder, file), "utf8")));
  expect(statically).toEqual(["connect.ts", "http.ts"]);
  const importers = readdirSync(folder).filter((file) => /^import (?!type)[^;]*from "\.\/(?:connect|http)\.ts"/mu.test(readFileSync(join(folder, file), "utf8")));
  expect(importers).toEqual(["connect.ts"]);
});
