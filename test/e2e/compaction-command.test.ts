/** `skein compact` through the real binary, and what undo, fork and resume make of it, compared by the bytes of requests. */
import { describe, expect, it } from "vitest";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { compactionScene, compactionsOf, isSummary, run, textIn, turn, WIRES } from "./compaction.ts";

import { jsonLines, log, start, until, type World } from "./skein.ts";

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
    ["changes the file: its words take effect", 'sed -i s/Summary/Edited/ "$1"', "Edited", 0],
    ["leaves the file: so does the summary", "true", "Summary", 0],
    ["empties the file: nothing is compacted", ': > "$1"', null, 0],
    ["fails: nothing is compacted", "exit 1", null, 1],
    ["removes the file: nothing is compacted", 'rm "$1"', null, 1],
  ])("--edit: an editor that %s", async (_what, command, begins, code) => {
    const { server, world } = await compactionScene(script, KEEP_ONE);
    await talk(world, "one", "two");
    const editor = join(world.root, "editor.sh");
    writeFileSync(editor, `#!/bin/sh\n${command}\n`);
    chmodSync(editor, 0o755);
    const result = await run(world, ["compact", "--last", "--edit"], { env: { EDITOR: editor } });
    expect(result.code, result.stderr).toBe(code);
    const { n } = server.requests.at(-1)!;
    await talk(world, "three");
    expect(compactionsOf(world).length).toBe(begins === null ? 0 : 1);
    const last = textIn(server.requests.at(-1)!);
    if (begins === null) expect(last).toContain("Answer to one.");
    else expect(last).toContain(`Previous conversation summary:\n${begins} ${n}.`);
    expect(server.problems).toEqual([]);
  });
});

describe("a compaction that was asked for", () => {
  const refusing = (request: RecordedRequest): Reply => (isSummary(request) ? { status: 500 } : script(request));

  it("and gets no summary changes nothing and fails", async () => {
    const { server, world } = await compactionScene(refusing, KEEP_ONE);
    await talk(world, "one", "two");
    expect(await run(world, ["compact", "--last"])).toMatchObject({ code: 1, stderr: expect.stringMatching(/^skein: No summary could be made, and nothing was changed\. .*500/u) as string });
    expect(await run(world, ["compact", "--last"], { env: { OPENAI_API_KEY: "" } })).toMatchObject({ code: 1, stderr: expect.stringContaining("OPENAI_API_KEY") as string });
    expect(compactionsOf(world)).toEqual([]);
    await talk(world, "three");
    expect(textIn(server.requests.at(-1)!)).toContain("Answer to one.");
  });

  it("waits as long as the server asks, and is tried again", async () => {
    let failed = 0;
    const { server, world } = await compactionScene((request) => (isSummary(request) && failed++ === 0 ? { status: 429, headers: { "retry-after": "1" } } : script(request)), { ...KEEP_ONE, retries: 2 });
    await talk(world, "one", "two");
    expect(await run(world, ["compact", "--last"])).toMatchObject({ code: 0, stderr: expect.stringContaining("Compacted (summary)") as string });
    const [first, second] = server.requests.filter(isSummary);
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(950);
  });

  it("keeps turns that fit, and says so", async () => {
    const { server, world } = await compactionScene(script);
    await talk(world, "one", "two");
    const asked = server.requests.length;
    expect((await run(world, ["compact", "--last", "--preview"])).stdout).toBe("There is nothing to compact: the last turns are kept as they are (compact.keep_turns), and there are no others.\n");
    expect(await run(world, ["compact", "--last"])).toMatchObject({ code: 1, stderr: expect.stringContaining("There is nothing to compact") as string });
    expect((await run(world, ["compact", "--last", "--preview", "--json", "-c", "compact.keep_turns=1"])).stdout).toContain('"goes":{"turns":1');
    expect(server.requests.length).toBe(asked);
  });

  it("with a wish makes a summary whatever the strategy, of all the words; where none is made, a wish is refused", async () => {
    const { server, world } = await compactionScene(script, { compact: [...KEEP_ONE.compact, 'strategy = "user-messages"'] });
    await talk(world, "one", "two");
    expect(await run(world, ["compact", "--last", "--undo", "words"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--undo makes none") as string });
    expect(await run(world, ["compact", "--last", "keep", "all", "colours"])).toMatchObject({ code: 0 });
    expect(server.requests.at(-1)!.said).toContain("The user asks for this: keep all colours");
    expect(compactionsOf(world)).toMatchObject([{ strategy: "summary" }]);
  });

  it("is looked over whatever the strategy, and what was looked over is no decision in the ledger", async () => {
    const { server, world } = await compactionScene(script, { compact: [...KEEP_ONE.compact, 'strategy = "user-messages"'] });
    await talk(world, "one", "two");
    expect(await run(world, ["compact", "--last", "--edit"], { env: { EDITOR: "sed -i s/one/edited/" } })).toMatchObject({ code: 0 });
    await talk(world, "three");
    const last = textIn(server.requests.at(-1)!);
    expect(last).toContain("Previous requests:\n- edited\n");
    expect(last).not.toContain("Decided by the user");
  });

  it("and was cut off in the editor can be asked for again", async () => {
    const { world } = await compactionScene(script, KEEP_ONE);
    await talk(world, "one", "two");
    const open = join(world.root, "open");
    const { child, done } = start(world, ["compact", "--last", "--edit"], { bare: true, env: { EDITOR: `touch ${open}; while kill -0 $PPID; do sleep 0.1; done 2>/dev/null; :` } });
    await until(() => existsSync(open));
    child.kill("SIGKILL");
    await done;
    expect(await run(world, ["compact", "--last"])).toMatchObject({ code: 0 });
    expect(compactionsOf(world).length).toBe(1);
  });

  it("is taken back with the room that the command line gives, or says what is missing", async () => {
    const small = { config: ["model_context_window = 12000"], compact: ["prepare = false", "keep_turns = 0"] };
    const { world } = await compactionScene((request) => (isSummary(request) ? { text: "S." } : { text: "word ".repeat(7000), noUsage: true }), small);
    await talk(world, "one");
    expect(await run(world, ["compact", "--last"])).toMatchObject({ code: 0 });
    expect(await run(world, ["compact", "--last", "--undo"])).toMatchObject({ code: 1, stderr: expect.stringMatching(/does not fit: about \d+ tokens, and past 10800 .*model_auto_compact_token_limit/u) as string });
    expect(await run(world, ["compact", "--last", "--undo", "-c", "model_context_window=200000"])).toMatchObject({ code: 0, stderr: "The last compaction was taken back: the next request holds the full history again.\n" });
  });
});

describe.each(WIRES)("across three compactions, %s", (wire) => {
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

    for (const left of [2, 1, 0]) expect(await run(world, ["compact", thread, "--undo"])).toMatchObject({ code: 0, stderr: expect.stringContaining(left > 0 ? "an earlier compaction still stands" : "the full history again") as string });
    await resume("five");
    expect(sent()).toBe(plain);
    expect(server.problems).toEqual([]);
  });
});
