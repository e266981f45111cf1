/** Trouble with the model server: what is tried again, what is not, what is shown, and that each run ends once. */
import { describe, expect, it } from "vitest";
import type { Reply } from "../model-server/script.ts";
import { conversation, scene } from "./scene.ts";
import { FULL_ACCESS, itemsOf, jsonLines, log, run, shell, types } from "./skein.ts";

const provider = (url: string, more: string) => ["-c", `model_providers.quick={name="quick",base_url="${url}/v1",wire_api="responses",env_key="OPENAI_API_KEY",${more}}`, "-c", 'model_provider="quick"'];
const notices = (stdout: string) =>
  itemsOf(jsonLines(stdout))
    .filter((item) => item["type"] === "error")
    .map((item) => String(item["message"]));
const messages = (stdout: string) =>
  itemsOf(jsonLines(stdout))
    .filter((item) => item["type"] === "agent_message")
    .map((item) => item["text"]);

describe("what cannot be retried", () => {
  it.each<[string, Reply, string[]]>([
    ["401", { status: 401 }, ["OPENAI_API_KEY", "401"]],
    ["403", { status: 403 }, ["403", "test-model", "-m"]],
    ["404", { status: 404 }, ["404", "-m test-model", "base_url"]],
    ["no quota", { status: 429, error: { code: "insufficient_quota", message: "You exceeded your current quota." } }, ["billing"]],
    ["a bad request", { status: 400, error: { message: "No such parameter." } }, ["No such parameter"]],
    ["an answer that is no stream", { raw: ["<html>"], headers: { "content-type": "text/html" } }, ["base_url"]],
  ])("%s fails at once and says what to do", async (_name, reply, words) => {
    const { server, world } = await scene([reply]);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(1);
    expect(server.requests).toHaveLength(1);
    const last = jsonLines(result.stdout).at(-1)!;
    expect(last).toMatchObject({ type: "turn.failed", status: "failed", error: { message: expect.any(String), code: expect.any(String) } });
    for (const word of words) expect(JSON.stringify(last)).toContain(word);
    expect(notices(result.stdout)).toEqual([]);
    expect(types(log(world)).slice(-2)).toEqual(["turn.ended", "writer.closed"]);
  });

  it("a key that is missing is named, and a server that is not there", async () => {
    const { world } = await scene([]);
    const missing = await run(world, ["exec", "--json", "x"], { env: { OPENAI_API_KEY: "" } });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("OPENAI_API_KEY") });
    const nobody = await run(world, ["exec", "--json", ...provider("http://127.0.0.1:9", "request_max_retries=0,stream_max_retries=0"), "x"]);
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("Nothing listens there") });
  });
});

describe("what is retried", () => {
  it("429: waits as long as the server asks, says so, and succeeds", async () => {
    const { server, world } = await scene([{ status: 429, headers: { "retry-after": "2" } }, { text: "At last." }]);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    const [first, second] = server.requests.map((request) => request.atMonotonic);
    expect(second! - first!).toBeGreaterThan(1900);
    expect(notices(result.stdout)).toEqual([expect.stringMatching(/^Reconnecting 1\/4: .*429/u)]);
    expect(messages(result.stdout)).toEqual(["At last."]);
  });

  it("500 until the budget is used up: each try is shown, the last failure ends the turn", async () => {
    const { server, world } = await scene(() => ({ status: 500 }));
    const result = await run(world, ["exec", "--json", ...provider(server.url, "request_max_retries=2,stream_max_retries=7"), "x"]);
    expect(result.code, result.stderr).toBe(1);
    expect(server.requests).toHaveLength(3);
    expect(notices(result.stdout)).toEqual([expect.stringMatching(/^Reconnecting 1\/2: /u), expect.stringMatching(/^Reconnecting 2\/2: /u)]);
    expect(jsonLines(result.stdout).at(-1)).toMatchObject({ type: "turn.failed", error: { code: "server_error" } });
    const waits = server.requests.map((request) => request.atMonotonic).flatMap((at, n, all) => (n === 0 ? [] : [at - all[n - 1]!]));
    expect(waits[0]).toBeGreaterThan(195);
    expect(waits[1]).toBeGreaterThan(395);
  });

  it.each<[string, Reply, number?]>([
    ["in the middle", { text: ["Half an ans", "wer"], drop: { afterEvents: 6 } }],
    ["before the headers", { drop: { beforeHeaders: true } }, 4],
    ["without an end", { text: ["Half"], drop: { afterEvents: 5, clean: true } }],
    ["with an error inside", { text: "Half", responseFailed: { code: "server_error", message: "Something broke." } }],
    ["because of overload, inside", { text: "Half", responseFailed: { code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 0.1s." } }],
  ])("a stream that drops %s: text is shown once", async (_where, reply, budget = 5) => {
    const { server, world } = await scene([reply, { text: "A whole answer." }]);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    expect(messages(result.stdout).at(-1)).toBe("A whole answer.");
    expect(notices(result.stdout)).toEqual([expect.stringContaining(`Reconnecting 1/${budget}: `)]);
    expect(server.requests).toHaveLength(2);
    expect(server.problems).toEqual([]);
  });

  it("a stream that drops after a call: the call's result is kept and it is not run again", async () => {
    const { server, world } = await scene([{ calls: [shell("echo run >> runs.txt; echo done")], responseFailed: { message: "Broken off." } }, { text: "Good." }]);
    const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    const input = conversation((server.requests[1]!.body as { input: { type: string; output?: string }[] }).input);
    expect(input.map((item) => item.type)).toEqual(["message", "function_call", "function_call_output"]);
    expect(input[2]!.output).toContain("done");
    expect(types(log(world)).filter((type) => type === "call.started")).toHaveLength(1);
  });

  it("a server that falls silent, after the idle timeout of its provider", async () => {
    const { server, world } = await scene([{ hang: true }, { text: ["One"], hang: { afterEvents: 5 } }, { text: "Awake." }]);
    const result = await run(world, ["exec", "--json", ...provider(server.url, "stream_idle_timeout_ms=700"), "x"]);
    expect(result.code, result.stderr).toBe(0);
    expect(notices(result.stdout)).toEqual([expect.stringMatching(/^Reconnecting 1\/5: .*sent nothing for 700 ms/u), expect.stringMatching(/^Reconnecting 2\/5: .*700 ms/u)]);
    expect(messages(result.stdout)).toEqual(["Awake."]);
  });

  it("is shown to people as well", async () => {
    const { world } = await scene([{ status: 503 }, { text: "Up again." }]);
    const { stdout, stderr } = await run(world, ["exec", "x"]);
    expect(stdout).toBe("Up again.\n");
    expect(stderr).toMatch(/… Reconnecting 1\/4: .*503/u);
  });
});

describe("output of a model that makes no sense", () => {
  it.each<[string, Reply, string]>([
    ["an unknown tool", { calls: [{ name: "no_such_tool", arguments: {}, id: "c" }] }, "There is no tool named"],
    ["arguments that are not JSON", { calls: [{ name: "exec_command", arguments: "{not json", id: "c" }] }, "not valid JSON"],
    ["arguments of the wrong kind", { calls: [{ name: "exec_command", arguments: { cmd: 7 }, id: "c" }] }, "cmd"],
    ["an empty name", { calls: [{ name: "", arguments: {}, id: "c" }] }, "There is no tool named"],
  ])("%s is told to the model, shown as a failed item, and the turn goes on", async (_name, reply, word) => {
    const { server, world } = await scene([reply, { text: "Sorry." }], { validate: false });
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    const failed = itemsOf(jsonLines(result.stdout)).filter((item) => item["status"] === "failed");
    expect(failed).toHaveLength(1);
    expect(JSON.stringify(failed)).toContain(word);
    expect(JSON.stringify(server.requests[1]!.body)).toContain(word);
  });

  it.each<[string, Reply]>([
    ["nothing at all", {}],
    ["garbage", { raw: ["data: {\"type\":\n\n", "data: [1,2]\n\n", "event: response.completed\ndata: 7\n\n"] }],
    ["an answer that was cut short", { text: "As I was say", incomplete: "max_output_tokens" }],
    ["an answer that a filter ended", { text: "I must", incomplete: "content_filter" }],
  ])("%s ends the run once, one way or the other", async (_name, reply) => {
    const { server, world } = await scene(() => reply);
    const result = await run(world, ["exec", "--json", ...provider(server.url, "request_max_retries=1,stream_max_retries=1"), "x"]);
    expect([0, 1]).toContain(result.code);
    expect(types(log(world)).slice(-2)).toEqual(["turn.ended", "writer.closed"]);
  });

  it("20,000 deltas arrive as one message", async () => {
    const { world } = await scene([{ deltas: 20_000 }]);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(0);
    expect(String(messages(result.stdout)[0])).toHaveLength(160_000);
  });

  it("characters that are cut in two arrive whole", async () => {
    const { world } = await scene([{ text: ["Grüße, ", "👩‍👩‍👧 ", "日本語"], splitUtf8: true }]);
    expect(await run(world, ["exec", "x"])).toMatchObject({ code: 0, stdout: "Grüße, 👩‍👩‍👧 日本語\n" });
  });
});

describe("usage errors", () => {
  it.each([
    [["--json", "--no-such-flag"], 2],
    [["--json", "two", "words"], 2],
    [["--json", "--last", "x"], 2],
    [["--experimental-json", "--timeout", "soon", "x"], 2],
    [["--json", "-s", "everything", "x"], 2],
    [["--json", "-c", "nonsense", "x"], 2],
    [["--json", "-C", "/no/such/folder", "x"], 2],
    [["--json", "--strict-config", "-c", "some_future_key=1", "x"], 2],
    [["--json", "resume", "0000dead", "x"], 3],
    [["--json", "resume", "--last", "x"], 3],
  ])("%j end with one error line, a reason on stderr, and %i", async (args, code) => {
    const { server, world } = await scene([]);
    const result = await run(world, ["exec", ...args]);
    expect(result.code, result.stderr).toBe(code);
    const [line] = jsonLines(result.stdout);
    expect(line).toMatchObject({ type: "error", message: expect.any(String) });
    expect(result.stderr).toContain(String(line!["message"]).split("\n")[0]);
    expect(server.requests).toEqual([]);
  });

  it("unknown config keys only warn", async () => {
    const { world } = await scene([{ text: "Fine." }]);
    const result = await run(world, ["exec", "-c", "some_future_key=1", "-c", 'features.more="x"', "x"]);
    expect(result).toMatchObject({ code: 0, stdout: "Fine.\n", stderr: expect.stringMatching(/some_future_key[\s\S]*ignored[\s\S]*features/u) });
  });
});
