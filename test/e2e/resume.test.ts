/** Resuming: what a thread was started with is what it goes on with, unless the command line says otherwise; and changing providers on the way. */
import { describe, expect, it } from "vitest";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../model-server/server.ts";
import type { Wire } from "../model-server/script.ts";
import { scene } from "./scene.ts";
import { contentOf, FULL_ACCESS, itemsOf, jsonLines, log, run, shell, start, types, until, type World } from "./skein.ts";

const settings = (world: World): Record<string, unknown> =>
  log(world)
    .filter((record) => record["type"] === "thread.created" || record["type"] === "settings.changed")
    .reduce((all, record) => ({ ...all, ...(record["settings"] as object) }), {});
const changes = (world: World) => log(world).filter((record) => record["type"] === "settings.changed").map((record) => record["settings"]);
const models = (server: ModelServer) => server.requests.map((request) => (request.body as { model: string }).model);

describe("settings", () => {
  it("are those of the thread: model, provider, sandbox, approval, effort and folder, whatever the config says by now", async () => {
    const { server, world } = await scene([{ text: "One." }, { calls: [shell("pwd; echo x > written.txt; echo y > /var/skein-e2e-probe && echo widened")] }, { text: "Two." }]);
    mkdirSync(join(world.root, "more"));
    await run(world, ["exec", "-s", "workspace-write", "-a", "on-failure", "--add-dir", join(world.root, "more"), "-c", 'model_reasoning_effort="low"', "one"]);
    const before = settings(world);
    writeFileSync(
      join(world.home, "config.toml"),
      'model = "another-model"\nsandbox_mode = "danger-full-access"\napproval_policy = "untrusted"\nmodel_reasoning_effort = "high"\n[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = ["/var"]\n',
    );
    mkdirSync(join(world.root, "elsewhere"));
    const result = await run(world, ["exec", "resume", "--last", "--json", "two"], { cwd: join(world.root, "elsewhere") });
    expect(result.code, result.stderr).toBe(0);
    expect(settings(world)).toEqual(before);
    expect(before).toMatchObject({ model: "test-model", model_provider: "openai", sandbox_mode: "workspace-write", approval_policy: "on-failure", model_reasoning_effort: "low", cwd: world.project });
    expect(changes(world)).toEqual([]);
    expect(models(server)).toEqual(["test-model", "test-model", "test-model"]);
    expect(server.requests.map((request) => (request.body as { reasoning?: { effort: string } }).reasoning?.effort)).toEqual(["low", "low", "low"]);
    const output = String(itemsOf(jsonLines(result.stdout)).find((item) => item["status"] === "failed")!["aggregated_output"]);
    expect(output).toMatch(new RegExp(`^${world.project}\n.*(?:Read-only file system|Permission denied)`, "u"));
    expect(output).not.toContain("widened");
    expect(existsSync(join(world.project, "written.txt"))).toBe(true);
    const told = log(world).findLast((record) => record["type"] === "call.started") as { envelope?: object };
    expect(told.envelope).toEqual({ cwd: world.project, sandbox: "workspace-write" });
  });

  it("change by what is said outright, and stay changed", async () => {
    const { server, world } = await scene([{ text: "One." }, { text: "Two." }, { text: "Three." }, { text: "Four." }]);
    const elsewhere = join(world.root, "elsewhere");
    mkdirSync(join(elsewhere, ".git"), { recursive: true });
    await run(world, ["exec", "one"]);
    await run(world, ["exec", "-m", "second-model", "-s", "workspace-write", "-C", elsewhere, "resume", "--last", "two"]);
    expect(changes(world)).toEqual([{ model: "second-model", sandbox_mode: "workspace-write", cwd: elsewhere }]);
    await run(world, ["exec", "resume", "--last", "three"]);
    await run(world, ["exec", "resume", "--last", "-c", 'approval_policy="on-request"', "-c", "sandbox_workspace_write.network_access=true", "--add-dir", "/srv/data", "four"]);
    expect(changes(world).slice(1)).toEqual([
      { approval_policy: "on-request", sandbox_workspace_write: { writable_roots: ["/srv/data"], network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } },
    ]);
    expect(models(server)).toEqual(["test-model", "second-model", "second-model", "second-model"]);
    expect(settings(world)).toMatchObject({ model: "second-model", cwd: elsewhere, sandbox_mode: "workspace-write", approval_policy: "on-request" });
  });

  it("that are said again and are the same leave no record", async () => {
    const { world } = await scene([{ text: "One." }, { text: "Two." }]);
    await run(world, ["exec", "-s", "workspace-write", "one"]);
    await run(world, ["exec", "-s", "workspace-write", "-m", "test-model", "-C", world.project, "resume", "--last", "two"]);
    expect(types(log(world))).not.toContain("settings.changed");
  });

  it("take the model of the provider that is named alone, and need one to be named where none is known", async () => {
    const { server, world } = await scene([{ text: "One." }, { text: "Two." }, { text: "Three." }], { wire: "any", env: { ANTHROPIC_API_KEY: "a-key" } });
    await run(world, ["exec", "one"]);
    const mine = ["-c", `model_providers.mine={name="mine",base_url="${server.url}/v1",wire_api="chat"}`, "-c", 'model_provider="mine"'];
    const far = ["-c", 'model_providers.far={name="far",base_url="http://192.0.2.1/v1",wire_api="chat"}', "-c", 'model_provider="far"'];
    expect(await run(world, ["exec", ...far, "--json", "resume", "--last", "two"])).toMatchObject({ code: 2, stderr: expect.stringContaining("add -m MODEL") });
    expect(await run(world, ["exec", ...mine, "-m", "my-model", "resume", "--last", "two"])).toMatchObject({ code: 0, stdout: "Two.\n" });
    writeFileSync(join(world.home, "config.toml"), 'model = "gpt-mine"\n');
    const anthropic = ["-c", `model_providers.anthropic.base_url="${server.url}/v1"`, "-c", 'model_provider="anthropic"'];
    expect(await run(world, ["exec", ...anthropic, "resume", "--last", "three"])).toMatchObject({ code: 0, stdout: "Three.\n" });
    rmSync(join(world.home, "config.toml"));
    expect(models(server)).toEqual(["test-model", "my-model", "claude-sonnet-5-5"]);
    expect(changes(world)).toEqual([{ model: "my-model", model_provider: "mine" }, { model: "claude-sonnet-5-5", model_provider: "anthropic" }]);
    expect(await run(world, ["exec", ...far, "--json", "a new one"], { bare: true })).toMatchObject({ code: 2, stderr: expect.stringContaining("no model is set") });
  });

  it("of a recording end where a model is there to go on, which then has the permissions of a new thread", async () => {
    const { server, world } = await scene([{ text: "A model speaks." }, { text: "Again." }]);
    const env = { TMPDIR: world.root };
    const tour = await run(world, ["tour"], { env });
    expect(tour.code, tour.stderr).toBe(0);
    const alone = await run(world, ["exec", "resume", "--last", "and now?"], { bare: true, env: { OPENAI_API_KEY: "" } });
    expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining("To go on with a model, set its key") });
    expect(await run(world, ["exec", "resume", "--last", "and now?"])).toMatchObject({ code: 0, stdout: "A model speaks.\n" });
    expect(changes(world)).toEqual([{ model: "gpt-6.1-sol", model_provider: "openai", sandbox_mode: "read-only" }]);
    expect(JSON.stringify(server.requests[0]!.body)).toContain("The test passes now.");
    await run(world, ["tour"], { env });
    expect(await run(world, ["exec", "resume", "--last", "-m", "test-model", "and now?"])).toMatchObject({ code: 0, stdout: "Again.\n" });
    expect(models(server)).toEqual(["gpt-6.1-sol", "test-model"]);
  });

  it("of a profile that is named count as said", async () => {
    const { server, world } = await scene([{ text: "One." }, { text: "Two." }]);
    await run(world, ["exec", "one"]);
    writeFileSync(join(world.home, "config.toml"), '[profiles.work]\nmodel = "work-model"\nsandbox_mode = "workspace-write"\n');
    await run(world, ["exec", "-p", "work", "resume", "--last", "two"]);
    expect(models(server)).toEqual(["test-model", "work-model"]);
    expect(changes(world)).toEqual([{ model: "work-model", sandbox_mode: "workspace-write" }]);
  });

  it("name a folder that is gone: that is said before anything is sent, and another can be named", async () => {
    const { server, world } = await scene([{ text: "One." }, { text: "Two." }]);
    await run(world, ["exec", "one"]);
    const moved = join(world.root, "moved");
    renameSync(world.project, moved);
    const refused = await run(world, ["exec", "--json", "resume", "--last", "two"], { cwd: moved });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--cd DIR") });
    expect(server.requests).toHaveLength(1);
    expect(await run(world, ["exec", "-C", moved, "resume", "--last", "two"], { cwd: moved })).toMatchObject({ code: 0, stdout: "Two.\n" });
  });
});

describe("what was left open", () => {
  it("is cancelled first and said, in both kinds of output; usage of it counts in the total", async () => {
    const { server, world } = await scene([{ calls: [shell("echo run >> runs.txt; sleep 60")], usage: { input: 40, output: 4 } }, { text: "I see.", usage: { input: 5, output: 1 } }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    await until(() => contentOf(join(world.project, "runs.txt")) === "run\n");
    running.child.kill("SIGKILL");
    await running.done;
    const result = await run(world, ["exec", "resume", "--last", "--json", "what happened?"]);
    const lines = jsonLines(result.stdout);
    expect(types(lines)).toEqual(["thread.started", "item.completed", "turn.started", "item.completed", "turn.completed"]);
    expect(lines[1]).toMatchObject({ item: { type: "error", message: expect.stringContaining("was cancelled first") } });
    expect(lines.at(-1)).toMatchObject({ usage: { input_tokens: 5 }, total_usage: { input_tokens: 45, output_tokens: 5 } });
    expect(readFileSync(join(world.project, "runs.txt"), "utf8")).toBe("run\n");
    expect(server.problems).toEqual([]);
  });
});

describe("changing the provider in mid-thread", () => {
  const table = (server: ModelServer, wire: Wire) => ["-c", `model_providers.${wire}={name="${wire}",base_url="${server.url}/v1",wire_api="${wire}",env_key="OPENAI_API_KEY"}`];
  const choose = (server: ModelServer, wire: Wire) => [...table(server, "responses"), ...table(server, "chat"), ...table(server, "messages"), "-c", `model_provider="${wire}"`, "-m", `${wire}-model`];

  it.each<[Wire, Wire]>([
    ["responses", "messages"],
    ["messages", "responses"],
    ["responses", "chat"],
    ["chat", "responses"],
    ["messages", "chat"],
    ["chat", "messages"],
  ])("from %s to %s and back: calls and their results go along, each as its wire has it", async (from, to) => {
    const { server, world } = await scene(
      [
        { reasoning: "I think.", text: "Looking.", calls: [shell("echo alpha", "call_a"), shell("echo beta", "call_b")] },
        { text: "Both seen." },
        { reasoning: "Again.", calls: [shell("echo gamma", "call_c")] },
        { text: "Third seen." },
        { text: "Back home." },
        { text: "Still here." },
      ],
      { wire: "any" },
    );
    expect(await run(world, ["exec", ...FULL_ACCESS, ...choose(server, from), "one"])).toMatchObject({ code: 0, stdout: "Both seen.\n" });
    const second = await run(world, ["exec", "resume", "--last", ...choose(server, to), "two"]);
    expect(second, second.stderr).toMatchObject({ code: 0, stdout: "Third seen.\n" });
    const third = await run(world, ["exec", "resume", "--last", ...choose(server, from), "three"]);
    expect(third, third.stderr).toMatchObject({ code: 0, stdout: "Back home.\n" });
    expect(server.problems).toEqual([]);
    expect(server.requests.map((request) => request.wire)).toEqual([from, from, to, to, from]);
    for (const n of [2, 4]) {
      const sent = JSON.stringify(server.requests[n]!.body);
      for (const word of ["echo alpha", "echo beta", "alpha\\n", "beta\\n", "Looking.", "Both seen."]) expect(sent).toContain(word);
    }
    expect(JSON.stringify(server.requests[4]!.body)).toContain("gamma");
    expect(pairs(server.requests[2]!.body)).toEqual(["call_a", "call_b"]);
    expect(pairs(server.requests[4]!.body)).toEqual(["call_a", "call_b", "call_c"]);
    expect(settings(world)).toMatchObject({ model_provider: from, model: `${from}-model` });
    // The thread's own provider needs no naming, only its address.
    expect(await run(world, ["exec", "resume", "--last", ...table(server, from), "four"])).toMatchObject({ code: 0, stdout: "Still here.\n" });
    expect(server.requests.at(-1)!.wire).toBe(from);
  });

  it("follows from the model's name between the two makers, and leaves a provider of one's own alone", async () => {
    const { server, world } = await scene([{ text: "GPT." }, { text: "Claude." }, { text: "GPT again." }], { wire: "any", env: { ANTHROPIC_API_KEY: "a-key" } });
    const both = ["-c", `model_providers.anthropic.base_url="${server.url}/v1"`];
    await run(world, ["exec", ...both, "one"]);
    const claude = await run(world, ["exec", "resume", "--last", ...both, "-m", "claude-test", "two"]);
    expect(claude, claude.stderr).toMatchObject({ code: 0, stdout: "Claude.\n" });
    await run(world, ["exec", "resume", "--last", ...both, "-m", "gpt-test", "three"]);
    expect(server.requests.map((request) => request.wire)).toEqual(["responses", "messages", "responses"]);
    server.push({ text: "Mine." }, { text: "Mine too." });
    const mine = [...table(server, "chat"), "-c", 'model_provider="chat"', "-m", "mine"];
    await run(world, ["exec", ...mine, "new"]);
    await run(world, ["exec", "resume", "--last", ...table(server, "chat"), "-m", "claude-at-my-server", "more"]);
    expect(server.requests.slice(3).map((request) => [request.wire, (request.body as { model: string }).model])).toEqual([
      ["chat", "mine"],
      ["chat", "claude-at-my-server"],
    ]);
  });
});

/** Ids of the calls in a request of any wire, each of which has exactly one result; the server has checked that. */
function pairs(body: unknown): string[] {
  const { input, messages } = body as { input?: { type: string; call_id?: string }[]; messages?: { tool_calls?: { id: string }[]; content?: unknown }[] };
  if (input) return input.filter((item) => item.type === "function_call").map((item) => item.call_id!);
  return (messages ?? []).flatMap((message) => {
    if (message.tool_calls) return message.tool_calls.map(({ id }) => id);
    return Array.isArray(message.content) ? (message.content as { type: string; id?: string }[]).filter((part) => part.type === "tool_use").map((part) => part.id!) : [];
  });
}
