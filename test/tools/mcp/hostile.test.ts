/** Servers that misbehave, on both transports: each costs its own tools or its own call, and nothing else. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually, isAlive } from "../given.ts";
import { host, hostileServer, lines, newFolder, source, TRANSPORTS, type Kind } from "./given.ts";

/** Long enough for a server to start and answer here, however busy the machine is; short all the same. */
async function startupTime(kind: Kind): Promise<number> {
  const from = performance.now();
  await source({ normal: await hostileServer(kind, "normal") }).ready();
  return Math.max(0.5, Math.ceil((performance.now() - from) / 100) * 0.5);
}

describe.each(TRANSPORTS)("over %s", (kind) => {
  const noStart = kind === "stdio" ? "started" : "reached";

  test("a server that never answers initialize fails after its time, and the others are there", async () => {
    const mcp = source({ bad: await hostileServer(kind, "hang", { startup_timeout_sec: 0.5 }), good: await hostileServer(kind, "normal", { enabled_tools: ["pid"] }) });
    await mcp.ready();
    expect(mcp.status()).toEqual([
      { name: "bad", state: "failed", tools: [], message: "it did not answer within 0.5 seconds (startup_timeout_sec)" },
      { name: "good", state: "ready", tools: ["pid"] },
    ]);
    expect((await mcp.tools()).map(({ name }) => name)).toEqual(["mcp__good__pid"]);
    expect(mcp.warnings()).toEqual(['The MCP server "bad" is not available: it did not answer within 0.5 seconds (startup_timeout_sec).']);
    expect(mcp.warnings()).toEqual([]);
  });

  test("a server that refuses initialize and is silent then fails after its time; closing does not wait for it", async () => {
    const mcp = source({ bad: await hostileServer(kind, "refuse-then-silent", { startup_timeout_sec: 1 }) });
    await mcp.ready();
    expect(mcp.status()).toEqual([{ name: "bad", state: "failed", tools: [], message: "it did not answer within 1 seconds (startup_timeout_sec)" }]);
    const closed = source({ bad: await hostileServer(kind, "refuse-then-silent", { startup_timeout_sec: 3600 }) });
    await closed.close();
    expect(closed.status()).toMatchObject([{ state: "failed", message: "it was closed" }]);
  });

  test("a server that is slower than its time fails; until then it is starting", async () => {
    const mcp = source({ slow: await hostileServer(kind, "slow", { startup_timeout_sec: 0.5 }) });
    expect(mcp.status()).toEqual([{ name: "slow", state: "starting", tools: [] }]);
    expect(await mcp.tools()).toEqual([]);
    await mcp.ready();
    expect(mcp.status()).toMatchObject([{ state: "failed" }]);
  });

  test("a server that does not list its tools, or not as a list, fails", async () => {
    const seconds = await startupTime(kind);
    const mcp = source({ hangs: await hostileServer(kind, "hang-list", { startup_timeout_sec: seconds }), shapeless: await hostileServer(kind, "shapeless"), wrong: await hostileServer(kind, "wrong") });
    await mcp.ready();
    expect(mcp.status()).toEqual([
      { name: "hangs", state: "failed", tools: [], message: `its tools could not be listed: it did not answer within ${seconds} seconds (startup_timeout_sec)` },
      { name: "shapeless", state: "failed", tools: [], message: "its tools could not be listed: its answer is not in the form that MCP has" },
      { name: "wrong", state: "failed", tools: [], message: `it could not be ${noStart}: its answer is not in the form that MCP has` },
    ]);
  });

  test("a server that floods the connection from the start fails once it has sent too much", async () => {
    const mcp = source({ flood: await hostileServer(kind, "flood", { startup_timeout_sec: 25 }) });
    expect(await eventually(() => mcp.status()[0]!.state === "failed", 25_000)).toBe(true);
    expect(mcp.status()[0]!.message).toContain(kind === "stdio" ? "it floods its output with what is no MCP message" : "it sent a message of more than 33554432 bytes");
  });

  test("a thousand tools are cut to what a model can be told, and the user is told how to choose", async () => {
    const mcp = source({ many: await hostileServer(kind, "many") });
    await mcp.ready();
    const names = (await mcp.tools()).map(({ name }) => name);
    expect(names).toEqual(Array.from({ length: 256 }, (_, index) => `mcp__many__tool-${String(index).padStart(4, "0")}`));
    expect(mcp.warnings()).toEqual(['The MCP server "many": 744 tools left out because there are more than 256: choose with enabled_tools.']);
  });

  test("pages that never end are not followed for ever", async () => {
    const mcp = source({ endless: await hostileServer(kind, "endless") });
    await mcp.ready();
    expect((await mcp.tools()).length).toBe(100);
  });

  test("odd names, duplicates and schemas become something that models take", async () => {
    const mcp = source({ "my server": await hostileServer(kind, "odd") });
    await mcp.ready();
    const tools = await mcp.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      "mcp__my_server__a_b_57fa1621",
      "mcp__my_server__a_b_bdcd3dd8",
      "mcp__my_server__a_b_ee698246",
      "mcp__my_server__array-schema",
      "mcp__my_server__heavy",
      "mcp__my_server__long-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_b177a741",
      "mcp__my_server__n___",
      "mcp__my_server__no-schema",
      "mcp__my_server__reader",
      "mcp__my_server__same",
      "mcp__my_server__text-schema",
      "mcp__my_server__untyped",
      "mcp__my_server__wordy",
    ]);
    for (const tool of tools) {
      expect(tool.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/u);
      expect(tool.parameters).toMatchObject({ type: "object", properties: {} });
      expect(tool.description.length).toBeLessThan(4002);
    }
    expect(tools.find(({ name }) => name === "mcp__my_server__same")!.description).toBe("does same");
    expect(mcp.warnings()).toEqual([
      'The MCP server "my server": the arguments of "array-schema", "heavy", "no-schema", "text-schema" are not described in a form that models take; they are told that any are taken.',
      'The MCP server "my server": 4 tools without a usable name left out.',
      'The MCP server "my server": one tool left out because of a name that another has.',
    ]);
  });

  test("a call that hangs ends after its time, and the server is told", async () => {
    const heard = join(newFolder(), "heard");
    const mcp = source({ s: await hostileServer(kind, "normal", { heard, tool_timeout_sec: 1 }) });
    await mcp.ready();
    const outcome = await (await mcp.tool("mcp__s__hang")).run({}, host());
    expect(outcome).toEqual({ status: "failed", output: 'The MCP server "s" did not answer within 1 seconds (tool_timeout_sec) and was told to stop. Whether the call did anything is unknown.' });
    expect(await eventually(() => lines(heard).length > 0)).toBe(true);
    expect(lines(heard)).toEqual(['cancelled "timed out"']);
    expect(await (await mcp.tool("mcp__s__twice")).run({}, host())).toEqual({ status: "done", output: "first" });
  });

  test("an interrupt ends a call that hangs at once, and the server is told", async () => {
    const heard = join(newFolder(), "heard");
    const mcp = source({ s: await hostileServer(kind, "normal", { heard }) });
    await mcp.ready();
    const abort = new AbortController();
    const running = (await mcp.tool("mcp__s__hang")).run({}, host({ signal: abort.signal }));
    setTimeout(() => abort.abort("interrupted"), 50);
    expect(await running).toEqual({ status: "failed", output: 'Interrupted: The MCP server "s" was told to stop. Whether the call did anything is unknown.' });
    expect(await eventually(() => lines(heard).length > 0)).toBe(true);
    expect(lines(heard)).toEqual(['cancelled "interrupted"']);
    expect(await (await mcp.tool("mcp__s__pid")).run({}, host({ signal: AbortSignal.abort() }))).toEqual({ status: "failed", output: "Not run: interrupted before it was started." });
  });

  test("answers of the wrong shape, refusals and second answers cost one call at most", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal") });
    await mcp.ready();
    const call = async (name: string) => (await mcp.tool(`mcp__s__${name}`)).run({}, host());
    expect(await call("shape")).toEqual({ status: "failed", output: "The server's answer is not in the form that MCP has. Whether the call did anything is unknown." });
    expect(await call("nonsense")).toEqual({ status: "done", output: '[content of an unknown type: null]\n[content of an unknown type: 7]\n\n[image (): without content]\n[content of an unknown type: {"type":"hologram","data":"x"}]\nreadable' });
    expect(await call("refuse")).toEqual({ status: "failed", output: 'The MCP server "s" refused: no such thing' });
    expect(await call("twice")).toEqual({ status: "done", output: "first" });
    expect(await call("twice")).toEqual({ status: "done", output: "first" });
    expect(await (await mcp.tool("mcp__s__pid")).run("text", host())).toEqual({ status: "failed", output: "Not run: the arguments must be an object." });
  });

  test("floods of garbage and of notifications during a call are survived", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal", { tool_timeout_sec: 30 }) });
    await mcp.ready();
    expect(await (await mcp.tool("mcp__s__notify")).run({}, host())).toEqual({ status: "done", output: "done" });
    const flooded = await (await mcp.tool("mcp__s__flood")).run({}, host());
    expect(flooded).toMatchObject(kind === "stdio" ? { status: "failed", output: expect.stringContaining("it floods its output with what is no MCP message") } : { status: "done" });
  });

  test("progress is shown, and not more than a person reads", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal") });
    await mcp.ready();
    const at = host();
    expect(await (await mcp.tool("mcp__s__progress")).run({}, at)).toEqual({ status: "done", output: "done" });
    expect(at.shown.slice(0, 3)).toEqual(["[1/3] step 1\n", "[2/3] step 2\n", "[3/3] step 3\n"]);
    expect(at.shown.at(-1)).toBe("[more progress is not shown]\n");
    expect(at.shown.join("").length).toBeLessThan(101_000);
  });

  test("long answers are cut for the model and kept in full", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal") }, { outputTokens: 100 });
    await mcp.ready();
    const at = host();
    const outcome = await (await mcp.tool("mcp__s__long")).run({}, at);
    const all = Array.from({ length: 20_000 }, (_, line) => `line ${line}\n`).join("");
    expect(at.kept).toEqual([all]);
    expect(outcome).toMatchObject({ status: "done", full: { bytes: all.length } });
    expect(outcome.output).toMatch(/^line 0\n[^]*\n\[… \d+ lines \(\d+ bytes\) left out; read_file "blob:[0-9a-f]{64}" has it all …\]\n[^]*line 19999\n$/u);
  });

  test("a message that is too large ends the connection, and the call says that its outcome is unknown", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal") });
    await mcp.ready();
    const outcome = await (await mcp.tool("mcp__s__huge")).run({}, host());
    expect(outcome.status).toBe("failed");
    expect(outcome.output).toContain("Whether the call did anything is unknown, and it was not repeated. The server was started again");
  });

  test("tools that change in mid-turn are listed anew at the next, and old ones are refused by the server", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal") });
    await mcp.ready();
    const frozen = new Map((await mcp.tools()).map((tool) => [tool.name, tool]));
    await frozen.get("mcp__s__rename")!.run({}, host());
    expect(await frozen.get("mcp__s__rename")!.assess!({}, { ...host(), approval: "untrusted" })).toMatchObject({ safe: false });
    expect((await mcp.tools()).map(({ name }) => name)).toContain("mcp__s__rename");
    await frozen.get("mcp__s__change")!.run({}, host());
    expect(await frozen.get("mcp__s__pid")!.run({}, host())).toMatchObject({ status: "done" });
    for (let tries = 0; tries < 500 && (await mcp.tools()).length !== 2; tries++) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await mcp.tools()).map(({ name }) => name)).toEqual(["mcp__s__brand-new", "mcp__s__change"]);
    expect(mcp.status()).toEqual([{ name: "s", state: "ready", tools: ["brand-new", "change"] }]);
  });

  test("a server that says its tools changed and does not list them keeps those known before", async () => {
    const mcp = source({ s: await hostileServer(kind, "hang-relist", { enabled_tools: ["change"] }) });
    await mcp.ready();
    await (await mcp.tool("mcp__s__change")).run({}, host());
    let warnings: string[] = [];
    for (let tries = 0; tries < 500 && warnings.length === 0; tries++) {
      expect((await mcp.tools()).map(({ name }) => name)).toEqual(["mcp__s__change"]);
      warnings = mcp.warnings();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(warnings).toEqual(['The MCP server "s" said that its tools changed and did not list them; those known before are used.']);
  });

  test("a question is put to the user through the call, and the answer goes back; one at a time", async () => {
    const mcp = source({ s: await hostileServer(kind, "normal", { tool_timeout_sec: 1 }) });
    await mcp.ready();
    const slow = host({ answer: () => new Promise((resolve) => setTimeout(() => resolve({ action: "accept", content: { name: "Ada" } }), 1200)) });
    expect(await (await mcp.tool("mcp__s__ask")).run({}, slow)).toEqual({ status: "done", output: '{"action":"accept","content":{"name":"Ada"}}' });
    expect(slow.asked).toEqual([{ kind: "elicitation", server: "s", message: "Your name?", schema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } }]);
    const ask = await mcp.tool("mcp__s__ask");
    expect(await ask.run({}, host({ answer: { action: "decline" } }))).toEqual({ status: "done", output: '{"action":"decline"}' });
    expect(await ask.run({}, host({ answer: { action: "cancel" } }))).toEqual({ status: "done", output: '{"action":"cancel"}' });
    expect(await ask.run({}, host({ answer: "yes" }))).toEqual({ status: "done", output: '{"action":"decline"}' });
    expect(await ask.run({}, host({ answer: () => Promise.reject(new Error("nobody is there")) }))).toEqual({ status: "done", output: '{"action":"cancel"}' });
    const both = host({ answer: () => new Promise((resolve) => setTimeout(() => resolve({ action: "cancel" }), 100)) });
    expect(await (await mcp.tool("mcp__s__askTwice")).run({}, both)).toEqual({ status: "done", output: '[{"action":"cancel"},{"action":"decline"}]' });
    expect(both.asked.length).toBe(1);
  });

  test("a question outside of calls is declined, sampling is refused", async () => {
    const heard = join(newFolder(), "heard");
    const mcp = source({ s: await hostileServer(kind, kind === "stdio" ? "asks" : "normal", { heard }) });
    await mcp.ready();
    if (kind === "stdio") expect(await eventually(() => lines(heard).includes('answer {"action":"decline"}'))).toBe(true);
    expect(await (await mcp.tool("mcp__s__sample")).run({}, host())).toEqual({ status: "done", output: '{"code":-32601,"message":"Method not found"}' });
  });

  test("a server that speaks only the newer protocol is understood", async () => {
    const mcp = source({ s: await hostileServer(kind, "modern", { enabled_tools: ["pid", "ask"] }) });
    await mcp.ready();
    expect(mcp.status()).toEqual([{ name: "s", state: "ready", tools: ["ask", "pid"] }]);
    expect(await (await mcp.tool("mcp__s__pid")).run({}, host())).toEqual({ status: "done", output: "newer" });
    const asked = host({ answer: { action: "accept", content: { name: "Ada" } } });
    expect(await (await mcp.tool("mcp__s__ask")).run({}, asked)).toEqual({ status: "done", output: '{"action":"accept","content":{"name":"Ada"}}' });
    expect(asked.asked).toMatchObject([{ kind: "elicitation", server: "s", message: "Your name?" }]);
  });
});

test("a process that ends at once is reported with its last words", async () => {
  const mcp = source({ s: await hostileServer("stdio", "exit") });
  await mcp.ready();
  expect(mcp.status()).toEqual([{ name: "s", state: "failed", tools: [], message: "it could not be started: it exited with code 3; it wrote: cannot find my config" }]);
});

test("a program that sends back what it is sent fails after its time", async () => {
  const mcp = source({ cat: { ...(await hostileServer("stdio", "normal")), command: "cat", args: [], startup_timeout_sec: 1 } });
  await mcp.ready();
  expect(mcp.status()).toEqual([{ name: "cat", state: "failed", tools: [], message: "it did not answer within 1 seconds (startup_timeout_sec)" }]);
});

test("a program that is not there, and a folder that is not", async () => {
  const config = await hostileServer("stdio", "normal");
  const mcp = source({ a: { ...config, command: "no-such-program-here" }, b: { ...config, cwd: "/no/such/folder" } });
  await mcp.ready();
  expect(mcp.status().map(({ message }) => message)).toEqual(['it could not be started: there is no program "no-such-program-here"', "it could not be started: there is no folder /no/such/folder"]);
});

test("garbage between messages, and invalid JSON before an answer, are skipped", async () => {
  const mcp = source({ s: await hostileServer("stdio", "noisy") });
  await mcp.ready();
  expect(await (await mcp.tool("mcp__s__invalid")).run({}, host())).toEqual({ status: "done", output: "valid after all" });
});

test("an HTTP answer that is not JSON fails the call", async () => {
  const mcp = source({ s: await hostileServer("http", "normal") });
  await mcp.ready();
  expect(await (await mcp.tool("mcp__s__invalid")).run({}, host())).toMatchObject({ status: "failed" });
});

test("a line without end ends the connection", async () => {
  const mcp = source({ s: await hostileServer("stdio", "endless-line") });
  await mcp.ready();
  await eventually(() => mcp.status()[0]!.state === "failed", 20_000);
  expect(mcp.status()[0]!.message).toContain("it sent a message of more than 33554432 bytes");
});

test("a key from the environment opens a server; without it, or with the wrong one, the message says which", async () => {
  const server = await hostileServer("http", "key", { enabled_tools: ["pid"] });
  const env = { GOOD: "sesame", BAD: "simsalabim" };
  const mcp = source({ bad: { ...server, bearer_token_env_var: "BAD" }, good: { ...server, bearer_token_env_var: "GOOD" }, unset: { ...server, bearer_token_env_var: "UNSET" }, header: { ...server, http_headers: { authorization: "Bearer sesame" } } }, { env });
  await mcp.ready();
  expect(mcp.status()).toEqual([
    { name: "bad", state: "failed", tools: [], message: "it could not be reached: it answered 401: it wants another key (bearer_token_env_var, http_headers)" },
    { name: "good", state: "ready", tools: ["pid"] },
    { name: "unset", state: "failed", tools: [], message: "the variable UNSET, which should hold its key (bearer_token_env_var), is not set" },
    { name: "header", state: "ready", tools: ["pid"] },
  ]);
});

test("a server sees what is configured and a small safe base of the environment, no keys of ours", async () => {
  const env = { PATH: process.env["PATH"], HOME: "/home/me", LANG: "C.UTF-8", OPENAI_API_KEY: "sk-secret", SOMETHING: "else", HANDED: "on" };
  const mcp = source({ s: await hostileServer("stdio", "normal", { env: { OWN: "value" }, env_vars: ["HANDED", "MISSING"] }) }, { env });
  await mcp.ready();
  const outcome = await (await mcp.tool("mcp__s__env")).run({}, host());
  const { SKEIN_CALL: mark, PATH: _, ...seen } = JSON.parse(outcome.output as string) as Record<string, string>;
  expect(mark).toMatch(/^[0-9a-f]{24}$/u);
  expect(seen).toEqual({ HOME: "/home/me", LANG: "C.UTF-8", OWN: "value", HANDED: "on" });
});

test("closing ends a server that ignores the end of its input and SIGTERM", async () => {
  const mcp = source({ s: await hostileServer("stdio", "deaf") });
  await mcp.ready();
  const pid = Number((await (await mcp.tool("mcp__s__pid")).run({}, host())).output);
  expect(isAlive(pid)).toBe(true);
  await mcp.close();
  expect(isAlive(pid)).toBe(false);
});
