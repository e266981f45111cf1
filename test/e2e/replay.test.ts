import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../model-server/server.ts";
import { faultsOfRun } from "./lines.ts";
import { createWorld, FULL_ACCESS, jsonLines, log, run, type World } from "./skein.ts";

let server: ModelServer;
let world: World;
beforeEach(async () => {
  server = await startModelServer({
    script: [{ text: "I look.", calls: [{ name: "exec_command", arguments: { cmd: "cat note.txt" }, id: "call_note" }] }, { text: "It says hello." }, { text: "Goodbye." }],
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

  it("tells what a call gives differently now, and goes on", async () => {
    const id = String(log(world)[0]!["id"]);
    rmSync(join(world.project, "note.txt"));
    const result = await run(world, ["exec", ...FULL_ACCESS, "--replay", id]);
    expect(result.code, result.stderr).toBe(0);
    expect(result.stderr).toContain("differs from the recording: call call_note");
    expect(result.stderr).toContain("No such file");
    expect(readFileSync(join(world.home, "sessions/active/rollout.jsonl"), "utf8")).toContain("No such file");
  });

  it("says so when there is nothing to replay", async () => {
    expect(await run(world, ["exec", "--replay", "0000dead"])).toMatchObject({ code: 3 });
    writeFileSync(join(world.project, "empty.jsonl"), "not a log\n");
    expect(await run(world, ["exec", "--replay", "empty.jsonl"])).toMatchObject({ code: 3 });
  });
});
