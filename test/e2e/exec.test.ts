import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../model-server/server.ts";
import type { Reply } from "../model-server/script.ts";
import { conversation } from "./scene.ts";
import { contentOf, createWorld, FULL_ACCESS, itemsOf, jsonLines, log, run, shell, start, types, until, type World } from "./skein.ts";

let server: ModelServer;
let world: World;

async function begin(script: Reply[]): Promise<void> {
  server = await startModelServer({ script, wire: "responses" });
  world = createWorld({ modelServer: server.url });
}
beforeEach(() => begin([]));
afterEach(async () => {
  await server.close();
  world.remove();
});

describe("skein exec, one thin path through everything", () => {
  it("goes from a prompt through a tool call to the last message, all of it in the log", async () => {
    await server.close();
    await begin([{ reasoning: "Look first.", calls: [shell("echo hello > made.txt; cat made.txt")] }, { text: ["All ", "done."] }]);
    const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "make a file"]);
    expect(result.code, result.stderr).toBe(0);
    expect(server.problems).toEqual([]);
    expect(readFileSync(join(world.project, "made.txt"), "utf8")).toBe("hello\n");

    const lines = jsonLines(result.stdout);
    expect(types(lines)).toEqual(["thread.started", "turn.started", "item.completed", "item.started", "item.completed", "item.completed", "turn.completed"]);
    expect(lines.at(-2)).toMatchObject({ item: { type: "agent_message", text: "All done." } });
    expect(lines[4]).toMatchObject({ item: { type: "command_execution", exit_code: 0, status: "completed", command: "echo hello > made.txt; cat made.txt" } });

    expect(types(log(world))).toEqual([
      "thread.created",
      "writer.opened",
      "input.queued",
      "turn.started",
      "context.changed",
      "sample.started",
      "item.added",
      "item.added",
      "sample.ended",
      "call.started",
      "call.ended",
      "sample.started",
      "item.added",
      "sample.ended",
      "turn.ended",
      "writer.closed",
    ]);
    expect(log(world).map((record) => record["seq"])).toEqual([...Array(16).keys()]);
    const second = server.requests[1]!.body as { input: { type: string }[]; prompt_cache_key: string };
    expect(conversation(second.input).map((item) => item.type)).toEqual(["message", "reasoning", "function_call", "function_call_output"]);
    expect(second.prompt_cache_key).toBe(lines[0]!["thread_id"]);
  });

  it("prints what happens to stderr and the last message to stdout for people", async () => {
    await server.close();
    await begin([{ calls: [shell("echo to-the-model")] }, { text: "The answer." }]);
    const result = await run(world, ["exec", ...FULL_ACCESS, "what is it?"]);
    expect(result).toMatchObject({ code: 0, stdout: "The answer.\n" });
    expect(result.stderr).toContain("$ echo to-the-model");
    expect(result.stderr).toContain("tokens in");
  });

  it("keeps every file of the home to its owner", async () => {
    await server.close();
    await begin([{ text: "ok" }]);
    const result = await run(world, ["exec", "hi"]);
    expect(result.code, result.stderr).toBe(0);
    const folder = join(world.home, "sessions", String(log(world)[0]!["id"]));
    for (const name of ["rollout.jsonl", "metadata.json", "state.json", "lock"]) expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(existsSync(join(folder, "owner.json"))).toBe(false);
  });

  it("resumes in a new process with a request that begins with the bytes of the one before", async () => {
    await server.close();
    await begin([{ text: "First." }, { text: "Second." }]);
    await run(world, ["exec", "one"]);
    const result = await run(world, ["exec", "resume", "--last", "two"]);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: "Second.\n" });
    const [first, second] = server.requests.map((request) => request.body as { input: unknown[]; instructions: string; tools: unknown });
    expect(JSON.stringify(second!.input.slice(0, first!.input.length))).toBe(JSON.stringify(first!.input));
    expect(conversation(second!.input)).toHaveLength(3);
    expect(second!.instructions).toBe(first!.instructions);
  });

  it("goes on after kill -9 in the middle of a tool call: the call is not run again and its outcome is told as unknown", async () => {
    await server.close();
    await begin([{ text: "I will wait.", calls: [shell("echo started >> runs.txt; sleep 30")] }, { text: "I see." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    await running.line((line) => line.includes('"item.started"'));
    await until(() => contentOf(join(world.project, "runs.txt")) === "started\n");
    running.child.kill("SIGKILL");
    await running.done;
    expect(log(world).at(-1)).toMatchObject({ type: "call.started" });

    const result = await run(world, ["exec", "resume", "--last", "what happened?"]);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: "I see.\n" });
    expect(readFileSync(join(world.project, "runs.txt"), "utf8")).toBe("started\n");
    const input = conversation((server.requests[1]!.body as { input: { type: string; output?: string }[] }).input);
    expect(input.map((item) => item.type)).toEqual(["message", "message", "function_call", "function_call_output", "message"]);
    expect(input[3]!.output).toContain("outcome unknown");
    expect(server.problems).toEqual([]);
  });

  it("goes on after kill -9 while streaming: what was read is kept as a partial message", async () => {
    await server.close();
    await begin([{ text: ["One ", "two ", "three "], hang: { afterEvents: 6 } }, { text: "Again." }]);
    const running = start(world, ["exec", "--json", "count"]);
    await until(() => contentOf(join(world.home, "sessions/active/live.jsonl")).includes("One"));
    running.child.kill("SIGKILL");
    await running.done;

    const result = await run(world, ["exec", "resume", "--last", "go on"]);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: "Again.\n" });
    expect(log(world).find((record) => record["partial"])).toMatchObject({ type: "item.added", item: { role: "assistant" } });
    expect(JSON.stringify(server.requests[1]!.body)).toContain("One");
  });

  it("interrupts on SIGINT: the child is gone, the turn is recorded as cancelled, and the thread goes on", async () => {
    await server.close();
    await begin([{ calls: [shell("trap '' TERM; echo $$ > pid.txt; sleep 30; sleep 30")] }, { text: "Fine." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    const file = join(world.project, "pid.txt");
    await until(() => contentOf(file).endsWith("\n"));
    running.child.kill("SIGINT");
    const ended = await running.done;
    expect(ended.code).toBe(130);
    expect(jsonLines(ended.stdout).at(-1)).toMatchObject({ type: "turn.failed", status: "cancelled" });
    expect(() => process.kill(Number(readFileSync(file, "utf8")), 0)).toThrow();
    const result = await run(world, ["exec", "resume", "--last", "and now?"]);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: "Fine.\n" });
  });

  it("names the owner of a thread that is open elsewhere, and takes it over only when the owner agrees", async () => {
    await server.close();
    await begin([{ calls: [shell("sleep 30")] }, { text: "Mine now." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    await running.line((line) => line.includes('"item.started"'));
    const refused = await run(world, ["exec", "resume", "--last", "give"]);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain(`process ${running.child.pid}`);
    const taken = await run(world, ["exec", "resume", "--last", "--take-over", "give"]);
    expect(taken, taken.stderr).toMatchObject({ code: 0, stdout: "Mine now.\n" });
    expect((await running.done).code).not.toBe(0);
  });

  it("follows a thread live from another process, from a cursor, without a gap", async () => {
    await server.close();
    await begin([{ calls: [shell("until [ -e followed ]; do sleep 0.02; done")] }, { text: "Seen." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "go"]);
    await running.line((line) => line.includes('"item.started"'));
    const follower = start(world, ["follow", "--last", "--events", "--once"]);
    await follower.line((line) => line.includes("item/started") && line.includes("commandExecution"));
    writeFileSync(join(world.project, "followed"), "");
    await running.done;
    const followed = await follower.done;
    const events = jsonLines(followed.stdout);
    expect(types(events).at(0)).toBe("session/configured");
    expect(types(events).at(-1)).toBe("turn/completed");
    const middle = String(events[4]!["cursor"]);
    const rest = jsonLines((await run(world, ["follow", "--last", "--events", "--once", "--after", middle])).stdout);
    expect(rest).toEqual(events.slice(5));
  });

  it("redacts secrets before disk, model and screen", async () => {
    await server.close();
    const key = `sk-ant-${"a1B2".repeat(10)}`;
    await begin([{ calls: [shell("cat secret.txt")] }, { text: `The key is ${key}.` }]);
    writeFileSync(join(world.project, "secret.txt"), `${key}\n`);
    const result = await run(world, ["exec", ...FULL_ACCESS, "read it"]);
    expect(result.stdout).toBe("The key is [REDACTED:anthropic-key].\n");
    expect(result.stderr).not.toContain(key);
    expect(JSON.stringify(log(world))).not.toContain(key);
    expect(JSON.stringify(server.requests[1]!.body)).not.toContain(key);
  });
});

describe("skein exec, when something is wrong", () => {
  it.each([
    [["exec", "--no-such-flag", "x"], 2, "--no-such-flag"],
    [["exec", "two", "words"], 2, "quote it"],
    [["nonsense"], 2, "Unknown command"],
    [["exec", "resume"], 2, "Which thread?"],
    [["exec", "resume", "0000dead", "x"], 3, "no thread that begins"],
    [["exec", "--timeout", "never", "x"], 2, "--timeout"],
    [["list", "--limit", "1.5"], 2, "whole number"],
    [["list", "--source", "telepathy"], 2, "--source takes"],
    [["fork", "--last"], 3, "no thread yet"],
    [["fork", "0000dead", "--at", "0"], 2, "--at takes"],
    [["follow", "../etc"], 2, "not a thread id"],
    [["search", "x".repeat(20_000)], 1, "params.text is not valid"],
    [["exec", "-s", "everything", "x"], 2, "--sandbox"],
  ])("%j exits with %i and says what to do", async (args, code, text) => {
    const result = await run(world, args);
    expect(result.code, result.stderr).toBe(code);
    expect(result.stderr).toContain(text);
  });

  it("needs a git repository, or to be told", async () => {
    expect(await run(world, ["exec", "--json", "-C", "/no/such/folder", "x"])).toMatchObject({ code: 2, stderr: "skein: --cd: the folder /no/such/folder does not exist.\n" });
    await server.close();
    await begin([{ text: "ok" }]);
    const outside = { ...world, project: world.home.replace(/home$/u, "") };
    expect(await run(outside, ["exec", "x"])).toMatchObject({ code: 2 });
    expect(await run(outside, ["exec", "--skip-git-repo-check", "x"])).toMatchObject({ code: 0, stdout: "ok\n" });
  });

  it("says which variable is missing when there is no key", async () => {
    const result = await run(world, ["exec", "-c", 'model_provider="openai"', "x"], { env: { OPENAI_API_KEY: "" } });
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("OPENAI_API_KEY");
  });

  it("cancels the turn at the timeout and exits with 5", async () => {
    await server.close();
    await begin([{ hang: true }]);
    const result = await run(world, ["exec", "--json", "--timeout", "0.5", "x"]);
    expect(result.code).toBe(5);
    expect(jsonLines(result.stdout).filter((line) => ["turn.completed", "turn.failed", "error"].includes(String(line["type"])))).toHaveLength(1);
  });

  it("tells the model about unknown tools and bad arguments, and goes on", async () => {
    await server.close();
    await begin([{ calls: [{ name: "no_such_tool", arguments: {}, id: "c1" }] }, { calls: [{ name: "exec_command", arguments: "{not json", id: "c2" }] }, { text: "Sorry." }]);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    expect(itemsOf(jsonLines(result.stdout).filter((line) => line["type"] === "item.completed"))).toMatchObject([
      { type: "tool_call", tool: "no_such_tool", status: "failed" },
      { type: "tool_call", tool: "exec_command", arguments: "{not json", output: expect.stringContaining("not valid JSON"), status: "failed" },
      { type: "agent_message", text: "Sorry." },
    ]);
    expect(JSON.stringify(server.requests[1]!.body)).toContain("There is no tool named");
    expect(JSON.stringify(server.requests[2]!.body)).toContain("not valid JSON");
  });

  it("retries a dropped stream and shows the text once", async () => {
    await server.close();
    await begin([{ text: ["Half an ans", "wer"], drop: { afterEvents: 6 } }, { text: "A whole answer." }]);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    const messages = jsonLines(result.stdout).filter((line) => (line["item"] as { type?: string } | undefined)?.type === "agent_message");
    expect(messages).toHaveLength(1);
    expect(types(log(world)).filter((type) => type === "sample.started")).toHaveLength(2);
  });
});

describe("the other commands", () => {
  it("lists, searches and forks", async () => {
    await server.close();
    await begin([{ text: "A zebra." }, { text: "A yak." }, { text: "Another." }]);
    await run(world, ["exec", "tell me about zebras"]);
    await run(world, ["exec", "resume", "--last", "and yaks"]);
    const listed = jsonLines((await run(world, ["list", "--json"])).stdout);
    expect(listed).toHaveLength(1);
    expect(listed[0]).toMatchObject({ preview: "tell me about zebras", status: "complete", turns: 2, session_source: "exec", resumed: true });
    const forked = (await run(world, ["fork", "--last", "--at", "2"])).stdout.trim();
    const result = await run(world, ["exec", "resume", forked, "something else"]);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: "Another.\n" });
    const input = JSON.stringify(server.requests[2]!.body);
    expect(input).toContain("zebra");
    expect(input).not.toContain("yak");
    expect(jsonLines((await run(world, ["list", "--json"])).stdout)).toHaveLength(2);
    expect((await run(world, ["search", "zebra"])).stdout).toContain("«");
  });

  it("shows help for every command, and versions", async () => {
    expect((await run(world, ["--version"])).stdout).toMatch(/^skein \d+\.\d+\.\d+ \(log v1\)\n$/u);
    const overview = await run(world, ["--help"]);
    expect(overview.code).toBe(0);
    for (const name of ["exec", "list", "search", "fork", "follow", "tour"]) {
      expect(overview.stdout).toContain(name);
      expect((await run(world, [name, "--help"])).stdout).toContain("examples:");
    }
  });

  it("gives the tour where there is no model, and ends with 0", async () => {
    const result = await run(world, [], { env: { TMPDIR: world.root } });
    expect(result.code, result.stderr).toBe(0);
    expect(result.stderr).toContain("This is a recording");
    expect(result.stderr).toContain("+  for (const number of numbers) total += number;");
    expect(result.stdout).toContain("The test passes now.");
  });
});
