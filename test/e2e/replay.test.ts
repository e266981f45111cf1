import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../model-server/server.ts";
import { faultsOfRun } from "./lines.ts";
import { BIN, contentOf, createWorld, FULL_ACCESS, itemsOf, jsonLines, log, run, runShell, types, type World } from "./skein.ts";

let server: ModelServer;
let world: World;
beforeEach(async () => {
  server = await startModelServer({
    script: [{ text: "I look.", calls: [{ name: "exec_command", arguments: { cmd: "test ! -f stranger.sh || sh stranger.sh; cat note.txt" }, id: "call_note" }] }, { text: "It says hello." }, { text: "Goodbye." }],
    wire: "responses",
  });
  world = createWorld({ modelServer: server.url });
  writeFileSync(join(world.project, "note.txt"), "hello\n");
  for (const args of [[...FULL_ACCESS, "read the note"], ["resume", "--last", "bye"]]) {
    const { code, stderr } = await run(world, ["exec", ...args]);
    if (code !== 0) throw new Error(stderr);
  }
  await server.close();
});
afterEach(async () => {
  await server.close();
  world.remove();
});
const messages = (stdout: string) => jsonLines(stdout).flatMap((line) => ((line["item"] as { type?: string } | undefined)?.type === "agent_message" ? [(line["item"] as { text: string }).text] : []));

describe("a recorded thread is its own model", () => {
  it("plays every turn again without any server, with real tools, from a thread's id or from a copy of its log", async () => {
    const id = String(log(world)[0]!["id"]);
    const copy = join(world.project, "copy.jsonl");
    copyFileSync(join(world.home, "sessions", id, "rollout.jsonl"), copy);
    for (const source of [id.slice(0, 20), copy]) {
      const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "--replay", source]);
      expect(result.code, result.stderr).toBe(0);
      expect(messages(result.stdout)).toEqual(["I look.", "It says hello.", "Goodbye."]);
      expect(result.stdout).not.toContain("differs");
    }
    expect(server.requests).toHaveLength(3);
  });

  it("is one run: one line begins it, one ends it, and no item shares its id", async () => {
    const { stdout } = await run(world, ["exec", ...FULL_ACCESS, "--json", "--replay", String(log(world)[0]!["id"])]);
    const lines = jsonLines(stdout).filter(({ type }) => !String(type).startsWith("item."));
    expect(lines.map(({ type }) => type)).toEqual(["thread.started", "turn.started", "turn.ended", "turn.started", "turn.completed"]);
    expect(Object.keys(lines[2]!)).toEqual(Object.keys(lines[4]!));
    expect(faultsOfRun(stdout, { cut: false })).toEqual([]);
  });

  it("stays in its own thread when another is started between its turns", async () => {
    const recorded = String(log(world)[0]!["id"]);
    copyFileSync(join(world.home, "sessions", recorded, "rollout.jsonl"), join(world.root, "copy.jsonl"));
    writeFileSync(join(world.project, "stranger.sh"), `rm stranger.sh; '${process.execPath}' '${BIN}' exec -s danger-full-access --replay ../copy.jsonl > stranger.txt 2>&1`);
    const { code, stdout, stderr } = await run(world, ["exec", ...FULL_ACCESS, "--json", "--replay", recorded]);
    expect(code, stderr).toBe(0);
    expect(contentOf(join(world.project, "stranger.txt"))).toContain("Goodbye.");
    const [{ thread_id: thread }] = jsonLines(stdout) as [{ thread_id: string }];
    const turnsOf = (name: string) => types(log(world, name)).filter((type) => type === "turn.started").length;
    expect(readdirSync(join(world.home, "sessions")).filter((name) => /^\d/u.test(name)).map((name) => [name === thread, turnsOf(name)])).toEqual([[false, 2], [true, 2], [false, 2]]);
  });

  it("plays all turns without a trace with --ephemeral", async () => {
    const before = readdirSync(join(world.home, "sessions"));
    const result = await run(world, ["exec", ...FULL_ACCESS, "--ephemeral", "--json", "--replay", String(log(world)[0]!["id"])]);
    expect(result.code, result.stderr).toBe(0);
    expect(messages(result.stdout)).toEqual(["I look.", "It says hello.", "Goodbye."]);
    expect(readdirSync(join(world.home, "sessions"))).toEqual(before);
  });

  it("neither waits for standard input nor adds it to what was said then", async () => {
    const id = String(log(world)[0]!["id"]);
    const replay = `'${process.execPath}' '${BIN}' exec -s danger-full-access --replay ${id}`;
    const result = await runShell(world, `mkfifo open; (exec 3<>open; echo piped >&3; ${replay} <open)`);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: "It says hello.\nGoodbye.\n" });
    expect(JSON.stringify(log(world))).not.toContain("piped");
  });

  it("tells what a call gives differently now, and goes on", async () => {
    const id = String(log(world)[0]!["id"]);
    rmSync(join(world.project, "note.txt"));
    const result = await run(world, ["exec", ...FULL_ACCESS, "--replay", id]);
    expect(result.code, result.stderr).toBe(0);
    expect(result.stderr).toContain("differs from the recording: call call_note");
    expect(result.stderr).toContain("No such file");
    expect(readFileSync(join(world.home, "sessions/active/rollout.jsonl"), "utf8")).toContain("No such file");
  });

  it("plays what can be read of a damaged log, and says once that it is damaged", async () => {
    const id = String(log(world)[0]!["id"]);
    const file = join(world.home, "sessions", id, "rollout.jsonl");
    const lines = readFileSync(file, "utf8").split("\n");
    const torn = lines.findIndex((line) => line.includes('"turn.started"'));
    lines[torn - 1] = lines[torn - 1]!.replace('"at":"2', '"at":"1');
    lines.splice(torn + 1, 0, "torn");
    writeFileSync(file, lines.join("\n"));
    copyFileSync(file, join(world.project, "copy.jsonl"));
    for (const source of ["copy.jsonl", id]) {
      const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "--replay", source]);
      expect(result.code, result.stderr).toBe(0);
      expect(messages(result.stdout)).toEqual(["I look.", "It says hello.", "Goodbye."]);
      expect(itemsOf(jsonLines(result.stdout)).filter((item) => item["type"] === "error")).toMatchObject([{ message: expect.stringMatching(/^The recording is damaged in \d+ places?; what can be read of it is played\.$/u) }]);
    }
  });

  it("says so when there is nothing to replay", async () => {
    expect(await run(world, ["exec", "--replay", "0000dead"])).toMatchObject({ code: 3 });
    expect(await run(world, ["exec", "--replay", "gone.jsonl"])).toMatchObject({ code: 3, stderr: expect.stringContaining("There is no such file") });
    expect(await run(world, ["exec", "--replay", "."])).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a file") });
    await runShell(world, "mkfifo pipe");
    expect(await run(world, ["exec", "--replay", "pipe"])).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a file") });
    expect(await run(world, ["exec", "--replay", "0000dead", "-m", "other"])).toMatchObject({ code: 2, stderr: expect.stringContaining("leave out -m") });
    writeFileSync(join(world.project, "empty.jsonl"), "not a log\n");
    expect(await run(world, ["exec", "--replay", "empty.jsonl"])).toMatchObject({ code: 3 });
  });
});
