/** Signals and the timeout: each ends the run cleanly, with one terminal line, wherever it arrives. */
import { describe, expect, it } from "vitest";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scene } from "./scene.ts";
import { contentOf, FULL_ACCESS, itemsOf, jsonLines, log, run, shell, start, types, until, type World } from "./skein.ts";

const STUBBORN = "trap '' TERM INT HUP; echo $$ > pid.txt; while :; do sleep 1; done";
const pidIn = (world: World): number | null => {
  const written = contentOf(join(world.project, "pid.txt"));
  return written.endsWith("\n") ? Number(written) : null;
};
const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};
const recordOf = (world: World, type: string) => log(world).findLast((record) => record["type"] === type)!;

describe.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s", (signal) => {
  it("while the model streams: what was read is kept, and the thread goes on", async () => {
    const { server, world } = await scene([{ text: ["One ", "two ", "three "], hang: { afterEvents: 6 } }, { text: "Four." }]);
    const running = start(world, ["exec", "--json", "count"]);
    await until(() => contentOf(join(world.home, "sessions/active/live.jsonl")).includes("One"));
    running.child.kill(signal);
    const ended = await running.done;
    expect(ended).toMatchObject({ code: 130, stderr: "" });
    const lines = jsonLines(ended.stdout);
    expect(lines.at(-1)).toMatchObject({ type: "turn.failed", status: "cancelled", error: { message: `Interrupted by ${signal}.` } });
    expect(itemsOf(lines)).toMatchObject([{ type: "agent_message", partial: true, text: expect.stringMatching(/^One /u) }]);
    expect(types(log(world)).slice(-3)).toEqual(["sample.ended", "turn.ended", "writer.closed"]);
    expect(await run(world, ["exec", "resume", "--last", "go on"])).toMatchObject({ code: 0, stdout: "Four.\n" });
    expect(JSON.stringify(server.requests[1]!.body)).toContain("One ");
    expect(server.problems).toEqual([]);
  });

  it("while a command runs that ignores it: the child is gone, its output is kept, and the turn has ended within a second", async () => {
    const { server, world } = await scene([{ calls: [shell(`echo before; ${STUBBORN}`), shell("echo never", "call_2")] }, { text: "Fine." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    await until(() => pidIn(world) !== null);
    running.child.kill(signal);
    const ended = await running.done;
    expect(ended.code, ended.stderr).toBe(130);
    expect(isGone(pidIn(world)!)).toBe(true);
    const took = Date.parse(String(recordOf(world, "turn.ended")["at"])) - Date.parse(String(recordOf(world, "turn.interrupted")["at"]));
    console.info(`${signal}: ${took} ms from turn.interrupted to turn.ended with a child that ignores signals`);
    expect(took).toBeLessThan(1000);
    const items = itemsOf(jsonLines(ended.stdout).filter((line) => line["type"] === "item.completed"));
    expect(items).toMatchObject([
      { type: "command_execution", status: "failed", exit_code: null, aggregated_output: "before\n" },
      { type: "command_execution", status: "declined", aggregated_output: expect.stringContaining("Not run") },
    ]);
    expect(await run(world, ["exec", "resume", "--last", "and now?"])).toMatchObject({ code: 0, stdout: "Fine.\n" });
    expect(server.problems).toEqual([]);
  });

  it("while it waits to try again", async () => {
    const { world } = await scene([{ status: 429, headers: { "retry-after": "600" } }]);
    const running = start(world, ["exec", "--json", "x"]);
    await running.line((line) => line.includes("Reconnecting 1/4"));
    running.child.kill(signal);
    expect(await running.done).toMatchObject({ code: 130 });
    expect(recordOf(world, "turn.ended")).toMatchObject({ status: "cancelled" });
  });

  it("before the model has answered at all, and before there is a turn", async () => {
    const { server, world } = await scene([{ hang: true }, { hang: true }]);
    const silent = start(world, ["exec", "--json", "x"]);
    await server.waitForRequest(0);
    silent.child.kill(signal);
    expect(await silent.done).toMatchObject({ code: 130 });
    const early = start(world, ["exec", "--json", "x"]);
    await early.line((line) => line.includes("thread.started"));
    early.child.kill(signal);
    const ended = await early.done;
    expect(ended.code).toBe(130);
    expect(recordOf(world, "writer.closed")).toBeDefined();
  });

  it("while standard input is read: nothing was started", async () => {
    const { server, world } = await scene([]);
    const running = start(world, ["exec", "--json", "-"], { stdin: null });
    // More than a pipe holds: when it is gone, somebody reads.
    await new Promise((resolve) => running.child.stdin!.write("half a prompt ".repeat(100_000), resolve));
    running.child.kill(signal);
    const ended = await running.done;
    expect(ended).toMatchObject({ code: 130, signal: null });
    expect(jsonLines(ended.stdout)).toMatchObject([{ type: "error", message: `Interrupted by ${signal}.` }]);
    expect(server.requests).toEqual([]);
    expect(existsSync(join(world.home, "sessions"))).toBe(false);
  });
});

describe("a second signal", () => {
  it("ends the process at once, with its one terminal line; nothing is left running and the thread goes on", async () => {
    const { server, world } = await scene([{ calls: [shell(STUBBORN)] }, { text: "Fine." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    await until(() => pidIn(world) !== null);
    running.child.kill("SIGINT");
    running.child.kill("SIGTERM");
    const ended = await running.done;
    expect(ended.code).toBe(130);
    await until(() => isGone(pidIn(world)!));
    expect(await run(world, ["exec", "resume", "--last", "and now?"])).toMatchObject({ code: 0, stdout: "Fine.\n" });
    expect(server.problems).toEqual([]);
  });

  it("that comes when the turn has ended changes nothing", async () => {
    const { world } = await scene([{ hang: true }]);
    const running = start(world, ["exec", "--json", "x"]);
    await running.line((line) => line.includes("turn.started"));
    running.child.kill("SIGINT");
    await running.line((line) => line.includes("turn.failed"));
    running.child.kill("SIGTERM");
    expect(await running.done).toMatchObject({ code: 130, signal: null });
    expect(types(log(world)).at(-1)).toBe("writer.closed");
  });
});

describe("--timeout", () => {
  it.each([
    ["a silent model", { hang: true as const }],
    ["a command", { calls: [shell("sleep 60")] }],
    ["the wait for another try", { status: 503, headers: { "retry-after": "60" } }],
  ])("ends %s, says so, and exits with 5", async (_what, reply) => {
    const { world } = await scene([reply]);
    const started = Date.now();
    const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "--timeout", "2", "x"]);
    expect(result.code, result.stderr).toBe(5);
    expect(Date.now() - started).toBeLessThan(15_000);
    expect(jsonLines(result.stdout).at(-1)).toMatchObject({ type: "turn.failed", status: "cancelled", error: { message: "Timed out after 2 s." } });
    expect(types(log(world)).at(-1)).toBe("writer.closed");
  });

  it("and signals are said with -q too, in one line", async () => {
    const { server, world } = await scene([{ hang: true }, { hang: true }]);
    expect(await run(world, ["exec", "-q", "--timeout", "2", "x"])).toMatchObject({ code: 5, stdout: "", stderr: "✗ Timed out after 2 s.\n" });
    const running = start(world, ["exec", "-q", "x"]);
    await server.waitForRequest(1);
    running.child.kill("SIGTERM");
    expect(await running.done).toMatchObject({ code: 130, stdout: "", stderr: "✗ Interrupted by SIGTERM.\n" });
  });

  it("counts from the start: standard input that never ends is given up too", async () => {
    const { world } = await scene([]);
    const running = start(world, ["exec", "--json", "--timeout", "1", "-"], { stdin: null });
    const result = await running.done;
    expect(result.code).toBe(5);
    expect(jsonLines(result.stdout)).toMatchObject([{ type: "error", message: "Timed out after 1 s." }]);
  });

  it.each(["60", "99999999"])("of %s s that is not reached changes nothing", async (seconds) => {
    const { world } = await scene([{ text: "In time." }]);
    expect(await run(world, ["exec", "--timeout", seconds, "x"])).toMatchObject({ code: 0, stdout: "In time.\n" });
  });
});

describe("a bug", () => {
  it("that nobody catches still ends the run with its one terminal line; the thread goes on", async () => {
    const { server, world } = await scene([{ hang: true }, { text: "Fine." }]);
    const bomb = "data:text/javascript,import{existsSync}from'node:fs';const t=setInterval(()=>{if(existsSync('boom')){clearInterval(t);throw new Error('planted')}},20);t.unref()";
    const running = start(world, ["exec", "--json", "x"], { env: { NODE_OPTIONS: `--import ${bomb.replaceAll(" ", "%20")}` } });
    await server.waitForRequest(0);
    writeFileSync(join(world.project, "boom"), "");
    const ended = await running.done;
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("planted") });
    expect(jsonLines(ended.stdout).at(-1)).toMatchObject({ type: "error", message: expect.stringContaining("A bug in Skein ended the run") });
    expect(await run(world, ["exec", "resume", "--last", "and now?"])).toMatchObject({ code: 0, stdout: "Fine.\n" });
  });
});
