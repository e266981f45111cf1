/**
 * An MCP server that misbehaves on demand: `hostile stdio|http START`. START says how it behaves before the first call, the name of the
 * tool that is called how it behaves then. Over HTTP it says its port on stdout. What it hears that has no answer goes to the file HEARD.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createInterface } from "node:readline";

type Message = { id?: number | string; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };
/** Raw text goes out as it is. */
type Send = (message: object | string) => void;

const [transport, start] = process.argv.slice(2) as ["stdio" | "http", string];
const MEGABYTE = "x".repeat(1_000_000);
const tool = (name: string, more: object = {}) => ({ name, description: `does ${name}`, inputSchema: { type: "object", properties: {} }, ...more });
let tools = ["hang", "crash", "twice", "shape", "nonsense", "refuse", "flood", "notify", "huge", "invalid", "change", "rename", "ask", "askTwice", "sample", "env", "long", "pid", "progress"].map((name) => tool(name));
let asked = 0;
let lists = 0;
const waiting = new Map<number | string, (message: Message) => void>();

const text = (value: string) => ({ content: [{ type: "text", text: value }] });
const reply = (id: unknown, result: unknown) => ({ jsonrpc: "2.0", id, result });
const notification = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params });
const hear = (what: string): void => (process.env["HEARD"] === undefined ? undefined : appendFileSync(process.env["HEARD"], `${what}\n`));

function ask(send: Send, method: string, params: object): Promise<Message> {
  const id = `ask-${++asked}`;
  send({ jsonrpc: "2.0", id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const FORM = { message: "Your name?", requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } };

/** To everybody who listens outside of calls. */
let broadcast: Send = () => {};

async function call(name: string, { id, params, send }: { id: unknown; params: Record<string, unknown>; send: Send }): Promise<void> {
  const done = (value: unknown = text("done")) => send(reply(id, value));
  switch (name) {
    case "hang":
      return;
    case "crash":
      process.stderr.write("\u001b[31mout of cheese\u001b[0m\u0007\n");
      return void setTimeout(() => process.exit(7), 20);
    case "twice":
      done(text("first"));
      return done(text("second"));
    case "shape":
      return done({ content: "not a list" });
    case "nonsense":
      return done({ content: [null, 7, { type: "text" }, { type: "image", data: 5 }, { type: "hologram", data: "x" }, { type: "text", text: "readable" }], structuredContent: { a: 1 } });
    case "refuse":
      return send({ jsonrpc: "2.0", id, error: { code: -32602, message: "no such thing" } });
    case "flood":
      for (let n = 0; n < (transport === "stdio" ? 100_000 : 3000); n++) send(`garbage ${n} ${MEGABYTE.slice(0, 200)}`);
      return done();
    case "notify":
      for (let n = 0; n < 4000; n++) send(notification(n % 2 === 0 ? "notifications/message" : "notifications/progress", { level: "info", data: "x", progressToken: 999_999, progress: n }));
      return done();
    case "huge":
      return send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${MEGABYTE.repeat(40)}"}]}}`);
    case "invalid":
      send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[`);
      return done(text("valid after all"));
    case "change":
      tools = [tool("brand-new"), tool("change")];
      broadcast(notification("notifications/tools/list_changed"));
      return done();
    case "rename":
      tools = tools.map((each) => (each.name === "rename" ? tool("renamed", { annotations: { readOnlyHint: true, openWorldHint: false } }) : each));
      return done(text("I have another name now"));
    case "ask":
      return done(text(JSON.stringify((await ask(send, "elicitation/create", FORM)).result)));
    case "askTwice":
      return done(text(JSON.stringify((await Promise.all([ask(send, "elicitation/create", FORM), ask(send, "elicitation/create", FORM)])).map(({ result }) => result))));
    case "sample":
      return done(text(JSON.stringify((await ask(send, "sampling/createMessage", { messages: [], maxTokens: 5 })).error)));
    case "env":
      return done(text(JSON.stringify(process.env)));
    case "pid":
      return done(text(String(process.pid)));
    case "long":
      return done(text(Array.from({ length: 20_000 }, (_, line) => `line ${line}\n`).join("")));
    case "progress": {
      const progressToken = (params["_meta"] as { progressToken?: unknown } | undefined)?.progressToken;
      for (let n = 1; n <= 3; n++) send(notification("notifications/progress", { progressToken, progress: n, total: 3, message: `step ${n}` }));
      for (let n = 0; n < 4000; n++) send(notification("notifications/progress", { progressToken, progress: 4 + n, message: MEGABYTE.slice(0, 50) }));
      return done();
    }
    default:
      return send({ jsonrpc: "2.0", id, error: { code: -32602, message: `unknown tool ${name}` } });
  }
}

function listed(): object {
  switch (start) {
    case "many":
      return { tools: Array.from({ length: 1000 }, (_, index) => tool(`tool-${String(index).padStart(4, "0")}`)) };
    case "odd":
      return {
        tools: [
          tool("a b"), tool("a.b"), tool("a_b"), tool("same"), tool("same", { description: "another" }), tool("né/ö"), tool(`long-${"x".repeat(100)}`), tool(""), null, { name: 7 }, { nothing: true },
          { name: "no-schema" }, tool("array-schema", { inputSchema: [] }), tool("text-schema", { inputSchema: { type: "string" } }), tool("untyped", { inputSchema: { properties: { a: {} } } }),
          tool("wordy", { description: "w".repeat(50_000) }), tool("heavy", { inputSchema: { type: "object", properties: { a: { description: MEGABYTE } } } }), tool("reader", { annotations: { readOnlyHint: true, openWorldHint: false } }),
        ],
      };
    case "endless":
      return { tools: [tool(`page-${++asked}`)], nextCursor: `after-${asked}` };
    case "shapeless":
      return { tools: { not: "a list" } };
    default:
      return { tools };
  }
}

function handle(message: Message, send: Send): void {
  const { id, method, params = {} } = message;
  if (method === undefined) return waiting.get(id!)?.(message);
  if (id === undefined) {
    if (method === "notifications/cancelled") hear(`cancelled ${JSON.stringify(params["reason"])}`);
    if (method === "notifications/initialized" && start === "asks") void ask(broadcast, "elicitation/create", FORM).then(({ result }) => hear(`answer ${JSON.stringify(result)}`));
    return;
  }
  const answer = (result: object) => send(reply(id, start === "modern" ? { resultType: "complete", ...result } : result));
  if (method === "initialize") {
    if (start === "hang") return;
    if (start === "modern" || start === "refuse-then-silent") return send({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
    if (start === "wrong") return answer({ protocolVersion: 7, capabilities: "none" });
    const go = () => answer({ protocolVersion: "2025-06-18", capabilities: { tools: { listChanged: true } }, serverInfo: { name: "hostile", version: "1" } });
    return start === "slow" || (start === "slow-again" && started > 0) ? void setTimeout(go, 5000) : go();
  }
  if (method === "server/discover") return start === "refuse-then-silent" ? undefined : answer({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, serverInfo: { name: "hostile", version: "1" }, ttlMs: 0, cacheScope: "private" });
  if (method === "tools/list") return start === "hang-list" || (start === "hang-relist" && ++lists > 1) ? undefined : answer({ ...listed(), ...(start === "modern" ? { ttlMs: 0, cacheScope: "private" } : {}) });
  if (method === "tools/call" && start === "modern" && params["name"] === "ask") {
    const responses = params["inputResponses"] as { who?: unknown } | undefined;
    return responses ? answer(text(JSON.stringify(responses.who))) : send(reply(id, { resultType: "input_required", inputRequests: { who: { method: "elicitation/create", params: { mode: "form", ...FORM } } } }));
  }
  if (method === "tools/call") return start === "modern" ? answer(text("newer")) : void call(String(params["name"]), { id, params, send });
  if (method === "ping") return answer({});
  send({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
}

/** How often it was started before. */
let started = 0;
if (start === "slow-again") {
  hear("started");
  started = readFileSync(process.env["HEARD"]!, "utf8").split("\n").length - 2;
}

if (start === "exit") {
  process.stderr.write("cannot find my config\n");
  process.exit(3);
}

if (transport === "stdio") {
  const send: Send = (message) => void process.stdout.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  broadcast = send;
  if (start === "noisy") send("Listening …\nwarning: something");
  if (start === "flood") setInterval(() => send(`garbage ${MEGABYTE}`), 1);
  if (start === "endless-line") setInterval(() => process.stdout.write(MEGABYTE), 1);
  if (start === "deaf") process.on("SIGTERM", () => {});
  createInterface({ input: process.stdin }).on("line", (line) => handle(JSON.parse(line) as Message, send));
  if (start === "deaf") setInterval(() => {}, 1000);
} else {
  const events = (response: ServerResponse): Send => (message) => void response.write(`data: ${typeof message === "string" ? message : JSON.stringify(message)}\n\n`);
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      broadcast = events(response);
      return;
    }
    if (request.method === "DELETE") return void response.writeHead(200).end();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => {
      const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
      if (start === "locked") return void response.writeHead(401).end("who are you?");
      if (start === "key" && request.headers.authorization !== "Bearer sesame") return void response.writeHead(401).end();
      if (message.id === undefined || message.method === undefined) {
        response.writeHead(202).end();
        return handle(message, () => {});
      }
      const { name } = (message.params ?? {}) as { name?: string };
      if (name === "invalid") return void response.writeHead(200, { "content-type": "application/json" }).end('{"jsonrpc":"2.0",');
      if (start === "flood") {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(MEGABYTE), 1);
        return void response.on("close", () => clearInterval(timer));
      }
      if (start === "refuse-then-silent" && message.method === "initialize") return void response.writeHead(400).end("no");
      response.writeHead(200, { "content-type": "text/event-stream", ...(message.method === "initialize" ? { "mcp-session-id": "one" } : {}) });
      const send = events(response);
      handle(message, (sent) => {
        send(sent);
        if (typeof sent === "object" && "id" in sent && (sent as Message).id === message.id && name !== "twice") response.end();
      });
      if (name === "twice") response.end();
    });
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as { port: number }).port}\n`);
  });
}
