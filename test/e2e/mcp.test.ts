/** A turn with tools of an MCP server, through the real binary. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { itemsOf, jsonLines, run } from "./skein.ts";
import { scene } from "./scene.ts";

const SERVER = join(dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")), "dist", "index.js");

it("exec waits for the servers, calls their tools and ends them; the model sees pictures, and a late server costs its own tools only", async () => {
  const { server, world } = await scene([
    { text: "I ask it.", calls: [{ name: "mcp__every__echo", arguments: { message: "hello" }, id: "call_1" }, { name: "mcp__every__get-tiny-image", arguments: {}, id: "call_2" }] },
    { text: "It answers." },
  ]);
  mkdirSync(world.home, { recursive: true });
  const node = JSON.stringify(process.execPath);
  writeFileSync(join(world.home, "config.toml"), `[mcp_servers.every]\ncommand = ${node}\nargs = [${JSON.stringify(SERVER)}, "stdio"]\n\n[mcp_servers.late]\ncommand = ${node}\nargs = ["-e", "setInterval(() => {}, 1000)"]\nstartup_timeout_sec = 1\n`);
  const { code, stdout, stderr } = await run(world, ["exec", "--json", "ask the server"]);
  expect(code, stderr).toBe(0);
  const calls = itemsOf(jsonLines(stdout)).filter((item) => item["type"] === "mcp_tool_call" && item["status"] !== "in_progress");
  expect(calls).toMatchObject([
    { server: "every", tool: "echo", arguments: { message: "hello" }, status: "completed" },
    { server: "every", tool: "get-tiny-image", status: "completed" },
  ]);
  const names = ((server.requests[0]!.body as { tools: { name: string }[] }).tools).map(({ name }) => name);
  expect(names).toContain("mcp__every__echo");
  const last = JSON.stringify(server.requests[1]!.body);
  expect(last).toContain("Echo: hello");
  expect(last).toContain("data:image/png;base64,");
});

it("a server that refuses and is silent then keeps neither a run that timed out from ending, nor the other servers from being tested", async () => {
  const { world } = await scene([{ text: "Hello." }]);
  mkdirSync(world.home, { recursive: true });
  writeFileSync(join(world.home, "config.toml"), `[mcp_servers.cat]\ncommand = "cat"\nstartup_timeout_sec = 600\n\n[mcp_servers.off]\ncommand = "true"\nenabled = false\n`);
  const { code, stdout } = await run(world, ["exec", "--json", "--timeout", "3", "say hello"]);
  expect({ code, last: jsonLines(stdout).at(-1) }).toMatchObject({ code: 5, last: { type: "turn.failed" } });
  writeFileSync(join(world.home, "config.toml"), `[mcp_servers.cat]\ncommand = "cat"\nstartup_timeout_sec = 1\n\n[mcp_servers.off]\ncommand = "true"\nenabled = false\n`);
  expect(await run(world, ["mcp", "test"])).toMatchObject({ code: 1, stdout: "cat: failed: it did not answer within 1 seconds (startup_timeout_sec)\noff: disabled\n" });
});
