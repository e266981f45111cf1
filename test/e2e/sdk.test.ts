/** The official Codex TypeScript SDK drives skein when its executable path is overridden: nothing else is adapted. */
import { beforeAll, describe, expect, it } from "vitest";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../model-server/server.ts";
import type { Reply } from "../model-server/script.ts";
import { loadSdk, type CodexOptions, type Sdk, type SdkEvent } from "./codex-sdk.ts";
import { faultsOf } from "./lines.ts";
import { PNG } from "./pictures.ts";
import { conversation, scene } from "./scene.ts";
import { BIN, log, logSoFar, shell, until, type World } from "./skein.ts";

let sdk: Sdk;
beforeAll(async () => {
  sdk = await loadSdk();
}, 120_000);

async function setUp(script: Reply[], given: CodexOptions & { key?: string } = {}) {
  const { key = "sdk-key", ...options } = given;
  const { server, world } = await scene(script, { key });
  const { SKEIN_TEST_SERVER: _server, OPENAI_API_KEY: _key, ...env } = world.env;
  const codex = new sdk.Codex({ codexPathOverride: BIN, baseUrl: `${server.url}/v1`, apiKey: key, env, ...options });
  const here = { workingDirectory: world.project, model: "test-model" };
  return { server, world, codex, here };
}

async function collect(events: AsyncGenerator<SdkEvent>): Promise<SdkEvent[]> {
  const all: SdkEvent[] = [];
  for await (const event of events) all.push(event);
  expect(all.flatMap(faultsOf)).toEqual([]);
  return all;
}

interface Body {
  model: string;
  input: { type: string; role?: string; content?: { type: string; text?: string; image_url?: string }[] }[];
  reasoning?: { effort?: string };
  text?: { format?: object };
}
const body = (server: ModelServer, n: number): Body => server.requests[n]!.body as Body;
const said = (server: ModelServer, n: number): (string | undefined)[] =>
  conversation(body(server, n).input)
    .filter((item) => item.role === "user")
    .flatMap((item) => item.content!.map((part) => part.text));
const settings = (world: World) => log(world).find((record) => record["type"] === "thread.created")!["settings"] as Record<string, unknown>;

describe("run", () => {
  it("gives items, the last message and usage; the key and the address are those of the SDK", async () => {
    const { server, codex, here } = await setUp([
      { reasoning: "Look.", calls: [shell("echo from the sdk")], usage: { input: 10, cached: 4, output: 2 } },
      { text: "It is done.", usage: { input: 20, output: 3, reasoning: 1 } },
    ]);
    const thread = codex.startThread(here);
    expect(thread.id).toBeNull();
    const turn = await thread.run("do it");
    expect(server.problems).toEqual([]);
    expect(turn.finalResponse).toBe("It is done.");
    expect(turn.usage).toEqual({ input_tokens: 30, cached_input_tokens: 4, cache_write_input_tokens: 0, output_tokens: 5, reasoning_output_tokens: 1 });
    expect(turn.items.map((item) => item.type)).toEqual(["reasoning", "command_execution", "agent_message"]);
    expect(turn.items[1]).toMatchObject({ command: "echo from the sdk", aggregated_output: "from the sdk\n", exit_code: 0, status: "completed" });
    expect(thread.id).toMatch(/^[0-9a-f-]{36}$/u);
    expect(server.requests[0]!.headers["authorization"]).toBe("Bearer sdk-key");
    expect(said(server, 0)).toEqual(["do it"]);
  });

  it("goes on in the same thread when it is run again, in a new process", async () => {
    const { server, codex, here } = await setUp([{ text: "One." }, { text: "Two." }]);
    const thread = codex.startThread(here);
    await thread.run("first");
    const { id } = thread;
    expect(await thread.run("second")).toMatchObject({ finalResponse: "Two." });
    expect(thread.id).toBe(id);
    expect(said(server, 1)).toEqual(["first", "second"]);
    expect(body(server, 1).input.slice(0, body(server, 0).input.length)).toEqual(body(server, 0).input);
  });

  it("joins text parts, and throws what a failed turn says", async () => {
    const { server, codex, here } = await setUp([{ text: "Fine." }, { status: 404 }]);
    const thread = codex.startThread(here);
    await thread.run([{ type: "text", text: "one" }, { type: "text", text: "two" }]);
    expect(said(server, 0)).toEqual(["one\n\ntwo"]);
    await expect(thread.run("again")).rejects.toThrow(/404.*-m test-model/su);
  });

  it("reads text that holds any characters, line separators of Unicode too", async () => {
    const text = "one\u2028two\u2029three\u0085four\r\nfive\u0000\ud83d\ude00";
    const { codex, here } = await setUp([{ calls: [shell("printf 'a\\342\\200\\250b'")] }, { text }]);
    const turn = await codex.startThread(here).run("x");
    expect([turn.items[0]!["aggregated_output"], turn.finalResponse]).toEqual(["a\u2028b", text]);
  });

  it("throws the reason when the run cannot begin", async () => {
    const { codex } = await setUp([]);
    await expect(codex.resumeThread("0000dead").run("x")).rejects.toThrow(/code 3.*There is no thread that begins with/su);
  });
});

describe("runStreamed", () => {
  it("gives every event as it comes, each as the schema says", async () => {
    let release = () => {};
    const seenToEnd = new Promise<void>((resolve) => (release = resolve));
    const { codex, here } = await setUp([{ reasoning: "Hm.", calls: [shell("echo streamed")] }, { text: "Last.", hold: { afterEvents: 2, until: seenToEnd } }]);
    const { events } = await codex.startThread({ ...here, sandboxMode: "danger-full-access" }).runStreamed("go");
    const seen: SdkEvent[] = [];
    for await (const event of events) {
      seen.push(event);
      // The answer is held back until the command has been seen to end: so it was streamed.
      if (event.type === "item.completed" && event.item!.type === "command_execution") release();
    }
    expect(seen.flatMap(faultsOf)).toEqual([]);
    expect(seen.map((event) => event.type)).toEqual(["thread.started", "turn.started", "item.completed", "item.started", "item.completed", "item.completed", "turn.completed"]);
  });

  it("gives turn.failed, then throws, when the turn fails", async () => {
    const { codex, here } = await setUp([{ status: 403 }]);
    const { events } = await codex.startThread(here).runStreamed("go");
    const seen: SdkEvent[] = [];
    await expect(
      (async () => {
        for await (const event of events) seen.push(event);
      })(),
    ).rejects.toThrow(/exited with code 1: .*CODEX_API_KEY|exited with code 1: .*OPENAI_API_KEY/su);
    expect(seen.at(-1)).toMatchObject({ type: "turn.failed", error: { message: expect.stringContaining("403") } });
  });
});

describe("resumeThread", () => {
  it("goes on with a thread by its id", async () => {
    const { server, codex, here } = await setUp([{ text: "One." }, { text: "Two." }]);
    const first = codex.startThread(here);
    await first.run("first");
    const again = codex.resumeThread(first.id!);
    expect(await again.run("second")).toMatchObject({ finalResponse: "Two." });
    expect(again.id).toBe(first.id);
    expect(said(server, 1)).toEqual(["first", "second"]);
    expect(body(server, 1).model).toBe("test-model");
  });

  it("takes images after the thread's id, and options that change the thread", async () => {
    const { server, world, codex, here } = await setUp([{ text: "One." }, { text: "I see." }]);
    const first = codex.startThread(here);
    await first.run("first");
    const picture = join(world.root, "a picture.png");
    writeFileSync(picture, PNG);
    const again = codex.resumeThread(first.id!, { model: "other-model", modelReasoningEffort: "high", sandboxMode: "workspace-write" });
    await again.run([{ type: "text", text: "look" }, { type: "local_image", path: picture }]);
    expect(server.problems).toEqual([]);
    expect(body(server, 1)).toMatchObject({ model: "other-model", reasoning: { effort: "high" } });
    expect(body(server, 1).input.at(-1)!.content).toEqual([{ type: "input_text", text: "look" }, { type: "input_image", image_url: `data:image/png;base64,${PNG.toString("base64")}` }]);
    expect(log(world).find((record) => record["type"] === "settings.changed")!["settings"]).toEqual({ model: "other-model", model_reasoning_effort: "high", sandbox_mode: "workspace-write" });
  });
});

describe("an abort signal", () => {
  it("ends the turn: the child is gone, the thread is kept and goes on", async () => {
    const { world, codex, here } = await setUp([{ calls: [shell("echo $$ > pid.txt; sleep 60")] }, { text: "Fine." }]);
    const thread = codex.startThread({ ...here, sandboxMode: "danger-full-access" });
    const abort = new AbortController();
    const { events } = await thread.runStreamed("wait", { signal: abort.signal });
    const seen: SdkEvent[] = [];
    await expect(
      (async () => {
        for await (const event of events) {
          seen.push(event);
          if (event.type !== "item.started") continue;
          await until(() => pidIn(world) !== null);
          abort.abort();
        }
      })(),
    ).rejects.toThrow(/abort/iu);
    expect(seen.at(-1)).toMatchObject({ type: "turn.failed" });
    expect(() => process.kill(pidIn(world)!, 0)).toThrow();
    await until(() => logSoFar(world).at(-1)?.["type"] === "writer.closed");
    expect(log(world).findLast((record) => record["type"] === "turn.ended")).toMatchObject({ status: "cancelled" });
    expect(await thread.run("and now?")).toMatchObject({ finalResponse: "Fine." });
  });

  it("that has already aborted starts nothing", async () => {
    const { server, codex, here } = await setUp([]);
    await expect(codex.startThread(here).run("x", { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(server.requests).toEqual([]);
  });

  it("rejects run while the model is silent", async () => {
    const { server, codex, here } = await setUp([{ hang: true }]);
    const abort = new AbortController();
    const turn = codex.startThread(here).run("x", { signal: abort.signal });
    turn.catch(() => {});
    await server.waitForRequest(0);
    abort.abort();
    await expect(turn).rejects.toThrow();
  });
});

describe("options", () => {
  it("passes images of several kinds, and images alone", async () => {
    const { server, world, codex, here } = await setUp([{ text: "Two pictures." }, { text: "One." }]);
    const files = ["one.png", "two, three.png"].map((name) => join(world.root, name));
    for (const file of files) writeFileSync(file, PNG);
    const thread = codex.startThread(here);
    await thread.run([{ type: "text", text: "compare" }, ...files.map((path) => ({ type: "local_image" as const, path }))]);
    expect(body(server, 0).input.at(-1)!.content!.map((part) => part.type)).toEqual(["input_text", "input_image", "input_image"]);
    await thread.run([{ type: "local_image", path: files[0]! }]);
    expect(body(server, 1).input.at(-1)!.content!.map((part) => part.type)).toEqual(["input_image"]);
    expect(server.problems).toEqual([]);
  });

  it("passes the output schema for this turn only", async () => {
    const schema = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"], additionalProperties: false };
    const { server, codex, here } = await setUp([{ text: '{"answer":"yes"}' }, { text: "plain" }]);
    const thread = codex.startThread(here);
    const turn = await thread.run("answer", { outputSchema: schema });
    expect(JSON.parse(turn.finalResponse)).toEqual({ answer: "yes" });
    expect(body(server, 0).text?.format).toMatchObject({ type: "json_schema", schema });
    await thread.run("again");
    expect(body(server, 1).text?.format).toBeUndefined();
    expect(server.problems).toEqual([]);
  });

  it("passes additional directories: they are writable in the sandbox, others are not", async () => {
    const { server, world, codex, here } = await setUp([{ calls: [shell("echo a > ../more/a.txt; echo b > b.txt; echo c > ../other/c.txt; true")] }, { text: "Done." }]);
    for (const name of ["more", "other"]) mkdirSync(join(world.root, name));
    const thread = codex.startThread({ ...here, sandboxMode: "workspace-write", additionalDirectories: ["../more"], networkAccessEnabled: true });
    const { items } = await thread.run("write");
    expect(server.problems).toEqual([]);
    expect(settings(world)["sandbox_workspace_write"]).toMatchObject({ writable_roots: [join(world.root, "more")], network_access: true });
    // The scratch folders lie under /tmp, which the sandbox leaves writable: what counts is that these are.
    expect(items[0]).toMatchObject({ type: "command_execution", exit_code: 0 });
    expect([readFileSync(join(world.root, "more/a.txt"), "utf8"), readFileSync(join(world.project, "b.txt"), "utf8")]).toEqual(["a\n", "b\n"]);
  });

  it("passes working directory, sandbox, approval policy, effort, web search, thread source", async () => {
    const { server, world, codex, here } = await setUp([{ text: "Done." }]);
    const folder = join(world.project, "sub");
    mkdirSync(folder);
    await codex
      .startThread({ ...here, workingDirectory: folder, sandboxMode: "danger-full-access", approvalPolicy: "on-failure", modelReasoningEffort: "xhigh", webSearchMode: "cached", threadSource: "my-product" })
      .run("x", { cyberAccessProgram: "standard" });
    expect(settings(world)).toMatchObject({ cwd: folder, sandbox_mode: "danger-full-access", approval_policy: "on-failure", model_reasoning_effort: "xhigh", web_search: "cached", model: "test-model" });
    expect(body(server, 0).reasoning).toMatchObject({ effort: "xhigh" });
    expect(log(world).find((record) => record["type"] === "thread.described")).toMatchObject({ tags: ["my-product"] });
  });

  it("needs skipGitRepoCheck outside a repository", async () => {
    const { world, codex } = await setUp([{ text: "Done." }]);
    const outside = { workingDirectory: world.root, model: "test-model" };
    await expect(codex.startThread(outside).run("x")).rejects.toThrow(/code 2.*not inside a git repository/su);
    expect(await codex.startThread({ ...outside, skipGitRepoCheck: true }).run("x")).toMatchObject({ finalResponse: "Done." });
  });

  it("passes config overrides, flattened and raw; keys that are not known only warn", async () => {
    const { server, world } = await setUp([]);
    const { SKEIN_TEST_SERVER: _server, ...env } = world.env;
    const codex = new sdk.Codex({
      codexPathOverride: BIN,
      apiKey: "sdk-key",
      env,
      config: {
        model_provider: "mock",
        model_providers: { mock: { name: "Mock", base_url: `${server.url}/v1`, wire_api: "responses", env_key: "CODEX_API_KEY", supports_websockets: false } },
        features: { some_future_thing: { deeply: ["nested", { even: true }] } },
        tool_output_token_limit: 123,
      },
      configOverrides: ["another_future_key=true", 'history.persistence="none"'],
    });
    server.push({ text: "Overridden." });
    const { events } = await codex.startThread({ workingDirectory: world.project, model: "test-model" }).runStreamed("x");
    const seen = await collect(events);
    expect(seen.at(-1)).toMatchObject({ type: "turn.completed" });
    expect(settings(world)).toMatchObject({ model_provider: "mock", tool_output_token_limit: 123 });
    expect(server.requests[0]!.path).toBe("/v1/responses");
  });

  it("tells the server who drives it", async () => {
    const { server, codex, here } = await setUp([{ text: "Done." }]);
    await codex.startThread(here).run("x");
    expect(server.requests[0]!.headers["originator"]).toBe("codex_sdk_ts");
  });

  it("uses the key of CODEX_API_KEY rather than one that lies in the shell", async () => {
    const { server, world, here } = await setUp([{ text: "Done." }]);
    const codex = new sdk.Codex({ codexPathOverride: BIN, baseUrl: `${server.url}/v1`, apiKey: "sdk-key", env: { ...world.env, OPENAI_API_KEY: "another-key" } });
    expect(await codex.startThread(here).run("x")).toMatchObject({ finalResponse: "Done." });
    expect(server.requests[0]!.headers["authorization"]).toBe("Bearer sdk-key");
  });

  it("keeps a caller that stops listening from leaving anything behind", async () => {
    const { world, codex, here } = await setUp([{ calls: [shell("echo $$ > pid.txt; sleep 60")] }, { text: "Fine." }]);
    const { events } = await codex.startThread({ ...here, sandboxMode: "danger-full-access" }).runStreamed("wait");
    for await (const event of events) {
      if (event.type !== "item.started") continue;
      await until(() => pidIn(world) !== null);
      break;
    }
    await until(() => logSoFar(world).at(-1)?.["type"] === "writer.closed");
    expect(() => process.kill(pidIn(world)!, 0)).toThrow();
  });
});

function pidIn(world: World): number | null {
  try {
    return Number(readFileSync(join(world.project, "pid.txt"), "utf8")) || null;
  } catch {
    return null;
  }
}
