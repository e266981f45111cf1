/** Servers that end when they should not, and what is left when Skein itself does. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually, isAlive } from "../given.ts";
import { BASE, host, hostileServer, newFolder, program, source, startHttp } from "./given.ts";

test("a server that crashes in a call is started again once; the call is not repeated and its outcome is unknown", async () => {
  const said: string[] = [];
  const mcp = source({ s: await hostileServer("stdio", "normal") }, { log: (text) => said.push(text) });
  await mcp.ready();
  const tools = new Map((await mcp.tools()).map((tool) => [tool.name, tool]));
  const first = Number((await tools.get("mcp__s__pid")!.run({}, host())).output);
  expect(await tools.get("mcp__s__crash")!.run({}, host())).toEqual({
    status: "failed",
    output: 'The MCP server "s" ended during this call (it exited with code 7). Whether the call did anything is unknown, and it was not repeated. The server was started again; look at what happened before you call it again.',
  });
  const again = 'The MCP server "s" ended unexpectedly (it exited with code 7; it wrote: out of cheese). It is started again.';
  expect(said).toEqual([again]);
  expect(mcp.warnings()).toEqual([again]);
  const second = Number((await tools.get("mcp__s__pid")!.run({}, host())).output);
  expect(second).not.toBe(first);
  expect(isAlive(first)).toBe(false);

  const end = "it ended for the second time (it exited with code 7; it wrote: out of cheese) and is not started again";
  expect(await tools.get("mcp__s__crash")!.run({}, host())).toEqual({
    status: "failed",
    output: `The MCP server "s" ended during this call (it exited with code 7). Whether the call did anything is unknown, and it was not repeated. The server is not available any more: ${end}.`,
  });
  expect(mcp.status()).toEqual([{ name: "s", state: "failed", tools: [], message: end }]);
  expect(mcp.warnings()).toEqual([`The MCP server "s" is not available: ${end}.`]);
  expect(await tools.get("mcp__s__pid")!.run({}, host())).toEqual({ status: "failed", output: `Not run: The MCP server "s" is not available: ${end}.` });
  expect(await mcp.tools()).toEqual([]);
});

test("a server that crashes long after the last time is started again", async () => {
  let now = 0;
  const mcp = source({ s: await hostileServer("stdio", "normal") }, { now: () => now });
  await mcp.ready();
  for (const time of [0, 600_000, 1_200_000]) {
    now = time;
    expect((await (await mcp.tool("mcp__s__crash")).run({}, host())).output).toContain("The server was started again");
  }
});

test("an interrupt is not kept waiting by a server that is being started again", async () => {
  const heard = join(newFolder(), "heard");
  const mcp = source({ s: await hostileServer("stdio", "slow-again", { heard }) });
  await mcp.ready();
  const tools = new Map((await mcp.tools()).map((tool) => [tool.name, tool]));
  const abort = new AbortController();
  const crashed = tools.get("mcp__s__crash")!.run({}, host({ signal: abort.signal }));
  expect(await eventually(() => mcp.status()[0]!.state === "starting")).toBe(true);
  const waiting = tools.get("mcp__s__pid")!.run({}, host({ signal: abort.signal }));
  abort.abort("interrupted");
  expect(await waiting).toEqual({ status: "failed", output: "Not run: interrupted before it was started." });
  expect((await crashed).output).toContain("The server is not available now.");
});

test("a server that is killed while nothing runs is started again, and the next call works", async () => {
  const mcp = source({ s: await hostileServer("stdio", "normal") });
  await mcp.ready();
  const pid = await mcp.tool("mcp__s__pid");
  process.kill(Number((await pid.run({}, host())).output), "SIGKILL");
  expect(await eventually(() => mcp.warnings().some((text) => text === 'The MCP server "s" ended unexpectedly (it was ended by SIGKILL). It is started again.'))).toBe(true);
  expect(await pid.run({}, host())).toMatchObject({ status: "done" });
});

test("over HTTP, a server that crashes in a call and does not come back is reported", async () => {
  const mcp = source({ s: await hostileServer("http", "normal") });
  await mcp.ready();
  const crash = await mcp.tool("mcp__s__crash");
  const outcome = await crash.run({}, host());
  expect(outcome.status).toBe("failed");
  expect(outcome.output).toMatch(/^The MCP server "s" ended during this call \(.+\)\. Whether the call did anything is unknown, and it was not repeated\. The server is not available any more: it could not be reached: .*ECONNREFUSED/u);
  expect(mcp.status()).toMatchObject([{ state: "failed" }]);
});

test("over HTTP, a server that ends a stream without an answer is connected to again", async () => {
  const file = join(newFolder(), "server.mjs");
  writeFileSync(
    file,
    `import { createServer } from "node:http";
    createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk)).on("end", () => {
        const { id, method } = body === "" ? {} : JSON.parse(body);
        if (id === undefined) return response.writeHead(request.method === "GET" ? 405 : 202).end();
        response.writeHead(200, { "content-type": "text/event-stream" });
        const results = { initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "cut", version: "1" } }, "tools/list": { tools: [{ name: "cut", inputSchema: { type: "object" } }] } };
        response.end(results[method] ? "data: " + JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }) + "\\n\\n" : ": bye\\n\\n");
      });
    }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });`,
  );
  const url = await startHttp([file], { env: {}, ready: /^(\d+)\n/u });
  const mcp = source({ s: { ...BASE, url } });
  await mcp.ready();
  expect(await (await mcp.tool("mcp__s__cut")).run({}, host())).toEqual({
    status: "failed",
    output: 'The MCP server "s" ended during this call (the connection ended before the answer came). Whether the call did anything is unknown, and it was not repeated. The server was started again; look at what happened before you call it again.',
  });
});

/** A server whose children leave its process group and its session. */
const FAMILY = `
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
const children = [spawn("sleep", ["3600"]), spawn("sleep", ["3600"], { detached: true, stdio: "ignore" })];
const pids = [process.pid, ...children.map(({ pid }) => pid)];
process.on("SIGTERM", () => {});
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const results = { initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "family", version: "1" } }, "tools/list": { tools: pids.map((pid) => ({ name: String(pid), inputSchema: { type: "object" } })) } };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }) + "\\n");
});
setInterval(() => {}, 1000);
`;

const RUNNER = `
import { createMcp } from "../../../src/tools/mcp/source.ts";
const server = { command: process.execPath, args: [process.argv[2]], env: {}, http_headers: {}, startup_timeout_sec: 10, tool_timeout_sec: 10, enabled: true, disabled_tools: [] };
const mcp = createMcp({ servers: { family: server }, env: process.env, cwd: "/" });
await mcp.ready();
process.stdout.write(mcp.status()[0].tools.join(" ") + "\\n");
process.stdin.once("data", async () => {
  if (process.argv[3] === "exit") process.exit(0);
  await mcp.close();
  process.stdin.destroy();
});
`;

test.each(["kill -9", "exit", "close"])("when Skein ends by %s, a server and everything that it started go", async (how) => {
  const family = join(newFolder(), "family.mjs");
  writeFileSync(family, FAMILY);
  const child = spawn(process.execPath, [await program({ text: RUNNER }), family, how], { stdio: ["pipe", "pipe", "inherit"] });
  const said = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", resolve);
    child.once("exit", () => reject(new Error("It ended too early.")));
  });
  const pids = said.trim().split(" ").map(Number);
  expect(pids.map(isAlive)).toEqual([true, true, true]);
  if (how === "kill -9") child.kill("SIGKILL");
  else child.stdin.write("now\n");
  expect(await eventually(() => !pids.some(isAlive), 5000)).toBe(true);
  expect(await eventually(() => child.exitCode !== null || child.signalCode !== null, 5000)).toBe(true);
});
