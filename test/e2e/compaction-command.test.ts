/** `skein compact` through the real binary, and what undo, fork and resume make of it, compared by the bytes of requests. */
import { describe, expect, it } from "vitest";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { compactionScene, compactionsOf, isSummary, run, textIn, turn } from "./compaction.ts";
import { jsonLines, log, type World } from "./skein.ts";

/** Answers depend on what was said alone, so that two threads that are asked the same are told the same. */
function script(request: RecordedRequest): Reply {
  if (isSummary(request)) return { text: `Summary ${request.n}.` };
  const { said } = request;
  const id = `call_${said.replaceAll(" ", "_")}`;
  const looks = said.startsWith("look") && !request.raw.includes(id);
  return looks ? { text: "I look.", calls: [{ name: "read_file", arguments: { path: "seen.txt" }, id }] } : { text: `Answer to ${said}.` };
}

const KEEP_ONE = { compact: ["prepare = false", "keep_turns = 1"] };

async function talk(world: World, ...prompts: string[]): Promise<void> {
  for (const prompt of prompts) await turn(world, prompt);
}

/** Every file of the threads, but not who has them open. */
function onDisk(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name === "active" || name === "owner.json" || name === "lock") continue;
    if (statSync(path).isDirectory()) for (const [inner, content] of Object.entries(onDisk(path))) found[`${name}/${inner}`] = content;
    else found[name] = readFileSync(path, "base64");
  }
  return found;
}

describe("skein compact", () => {
  it("--preview shows what would go and stay, and changes nothing", async () => {
    const { server, world } = await compactionScene(script, KEEP_ONE);
    await talk(world, "one", "two", "three");
    const before = onDisk(join(world.home, "sessions"));
    const asked = server.requests.length;
    const text = await run(world, ["compact", "--last", "--preview"]);
    expect(text).toMatchObject({ code: 0, stderr: "" });
    expect(text.stdout).toMatch(/^before {5}about \d+ tokens \(window unknown, compacted by itself past 100000\)\nafter {6}at most about \d+ tokens\ngoes {7}5 items of 2 turns, about \d+ tokens\nstays {6}2 items of 1 turns, about \d+ tokens\nstrategy {3}summary\n/u);
    expect(text.stdout).toContain("- one\n- two\n- three");
    const json = await run(world, ["compact", "--last", "--preview", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ goes: { items: 5, turns: 2 }, stays: { items: 2, turns: 1 }, strategy: "summary", window: null, limit: 100_000 });
    expect(onDisk(join(world.home, "sessions"))).toEqual(before);
    expect(server.requests.length).toBe(asked);
  });

  it("takes instructions along and tells what it did", async () => {
    const { server, world } = await compactionScene(script, KEEP_ONE);
    await talk(world, "one", "two");
    const result = await run(world, ["compact", "--last", "--json", "keep the colours"]);
    expect(result.code, result.stderr).toBe(0);
    const [{ tokens, keepFrom, ...rest }] = compactionsOf(world) as [ReturnType<typeof compactionsOf>[0]];
    expect(rest).toMatchObject({ strategy: "summary", trigger: "manual" });
    expect(JSON.parse(result.stdout)).toEqual({ thread: expect.any(String) as string, tokens, strategy: "summary" });
    const summary = server.requests.at(-1)!;
    expect(summary.said).toContain("The user asks for this: keep the colours");
    expect(textIn(summary)).toContain("Answer to one.");
    expect(textIn(summary)).not.toContain("Answer to two.");
    expect(keepFrom).toBeGreaterThan(0);
    await talk(world, "three");
    const last = textIn(server.requests.at(-1)!);
    expect(last).toContain(`Previous conversation summary:\nSummary ${summary.n}.`);
    expect(last).not.toContain("Answer to one.");
    expect(last).toContain("Answer to two.");
    expect(server.problems).toEqual([]);
  });

  it("refuses what makes no sense, and says what is missing", async () => {
    const { world } = await compactionScene(script, KEEP_ONE);
    expect((await run(world, ["compact"])).code).toBe(2);
    await talk(world, "one");
    expect(await run(world, ["compact", "--last", "--preview", "--undo"])).toMatchObject({ code: 2, stderr: expect.stringContaining("give one of them") as string });
    expect(await run(world, ["compact", "--last", "--edit"])).toMatchObject({ code: 2, stderr: expect.stringContaining("set VISUAL or EDITOR") as string });
    expect((await run(world, ["compact", "--last", "--undo"])).stderr).toContain("there is nothing to restore");
    expect((await run(world, ["compact", "00000000"])).code).toBe(3);
    expect(compactionsOf(world)).toEqual([]);
  });

  it.each([
    ["changes the file: its words take effect", 'sed -i s/Summary/Edited/ "$1"', "Edited"],
    ["leaves the file: so does the summary", "true", "Summary"],
    ["empties the file: nothing is compacted", ': > "$1"', null],
    ["fails: nothing is compacted", "exit 1", null],
  ])("--edit: an editor that %s", async (_what, command, begins) => {
    const { server, world } = await compactionScene(script, KEEP_ONE);
    await talk(world, "one", "two");
    const editor = join(world.root, "editor.sh");
    writeFileSync(editor, `#!/bin/sh\n${command}\n`);
    chmodSync(editor, 0o755);
    const result = await run(world, ["compact", "--last", "--edit"], { env: { EDITOR: editor } });
    expect(result.code, result.stderr).toBe(0);
    const { n } = server.requests.at(-1)!;
    await talk(world, "three");
    expect(compactionsOf(world).length).toBe(begins === null ? 0 : 1);
    const last = textIn(server.requests.at(-1)!);
    if (begins === null) expect(last).toContain("Answer to one.");
    else expect(last).toContain(`Previous conversation summary:\n${begins} ${n}.`);
    expect(server.problems).toEqual([]);
  });
});

describe.each(["responses", "messages"] as const)("across three compactions, %s", (wire) => {
  const PROMPTS = ["one", "look two", "three", "look four"];

  it("undo, fork and resume send what a thread would send that was never compacted", async () => {
    const { server, world } = await compactionScene(script, { wire, ...KEEP_ONE });
    writeFileSync(join(world.project, "seen.txt"), "seen\n");
    const threadOf = () => String(log(world)[0]!["id"]);
    const sent = (): string => server.requests.at(-1)!.raw.toString().replaceAll(threadOf(), "THREAD");

    await talk(world, ...PROMPTS, "five");
    const plain = sent();
    const plainThread = threadOf();
    const early = server.requests.find(({ said }) => said === "look two")!.raw.toString().replaceAll(plainThread, "THREAD");

    const first = await run(world, ["exec", "--json", PROMPTS[0]!]);
    const thread = String(jsonLines(first.stdout)[0]!["thread_id"]);
    const resume = async (prompt: string, id = thread) => {
      const result = await run(world, ["exec", "--json", "resume", id, prompt]);
      expect(result.code, result.stderr).toBe(0);
    };
    for (const prompt of PROMPTS.slice(1)) {
      await resume(prompt);
      expect(await run(world, ["compact", thread])).toMatchObject({ code: 0 });
    }
    expect(compactionsOf(world, thread).length).toBe(3);

    // Resumed as it is: the summary of summaries, the ledger and the last turn.
    const forked = (await run(world, ["fork", thread])).stdout.trim();
    await resume("five", forked);
    const compacted = textIn(server.requests.at(-1)!);
    expect(compacted.match(/Previous conversation summary:\n/gu)).toHaveLength(1);
    for (const said of PROMPTS) expect(compacted).toContain(`- ${said}`);

    // A fork from before every compaction has never seen one.
    const old = (await run(world, ["fork", thread, "--at", "2"])).stdout.trim();
    await resume("look two", old);
    expect(server.requests.at(-2)!.raw.toString().replaceAll(old, "THREAD")).toBe(early);

    for (let n = 0; n < 3; n++) expect(await run(world, ["compact", thread, "--undo"])).toMatchObject({ code: 0 });
    await resume("five");
    expect(sent()).toBe(plain);
    expect(server.problems).toEqual([]);
  });
});
