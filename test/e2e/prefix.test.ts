/**
 * Within a thread each request is the one before it and what was appended, by bytes: over 50 turns of words, calls, thoughts and pictures,
 * over restarts (every tenth turn is a process of the real binary), and when AGENTS.md changes. Instructions and tools never change.
 */
import { expect, it, onTestFinished } from "vitest";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "../../src/embed/open.ts";
import { userText, type Item } from "../../src/protocol/item.ts";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { compactionScene, itemsOf, run, WIRES } from "./compaction.ts";
import { PNG } from "./pictures.ts";
import { log, shell, type World } from "./skein.ts";

const TURNS = 50;
const EVERY = 10;

function script(): (request: RecordedRequest) => Reply {
  const rounds = new Map<string, number>();
  let calls = 0;
  let prompt = "";
  return (request) => {
    if (request.said.startsWith("turn ")) prompt = request.said.split("\n")[0]!;
    const n = Number(/\d+/u.exec(prompt)?.[0] ?? 0);
    const round = rounds.get(prompt) ?? 0;
    rounds.set(prompt, round + 1);
    const thought = n % 3 === 0 ? { reasoning: `Thought ${n}.${round}` } : {};
    const words = n % 2 === 0 ? { text: `Words ${n}.${round} – ✓` } : {};
    if (round < n % 3) return { ...thought, ...words, calls: Array.from({ length: 1 + (n % 2) }, () => shell(`echo ${n}`, `call_${++calls}`)) };
    return { ...thought, text: `Answer ${n}.` };
  };
}

/** Turns in this process, one after another, until it is closed. */
async function embedded(world: World): Promise<{ turn(thread: string, items: Item[]): Promise<void>; close(): Promise<void> }> {
  const connected = await withEnvironment(world, () => open({ mode: "exec", cd: world.project }));
  const { client } = connected;
  return {
    async turn(thread, items) {
      const { cursor } = await client.call("thread/resume", { thread });
      await client.submit(thread, { id: crypto.randomUUID(), type: "user_input", items });
      for await (const event of client.events(thread, cursor, AbortSignal.timeout(20_000))) if (event.type === "turn/completed") break;
    },
    close: () => connected.close(),
  };
}

/** An embedder's process has the environment that the binary is given. */
async function withEnvironment<T>(world: World, work: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  Object.assign(process.env, world.env);
  onTestFinished(() => {
    for (const name of Object.keys(world.env)) delete process.env[name];
    Object.assign(process.env, before);
  });
  return work();
}

it.each(WIRES)("%s", async (wire) => {
  const { server, world } = await compactionScene(script(), { wire, config: ["model_context_window = 1000000"] });
  writeFileSync(join(world.project, "a.png"), PNG);
  const image = { type: "input_image", image_url: `data:image/png;base64,${PNG.toString("base64")}` };
  let thread = "";
  let embed: Awaited<ReturnType<typeof embedded>> | null = null;
  for (let n = 0; n < TURNS; n++) {
    if (n % 20 === 3) writeFileSync(join(world.project, "AGENTS.md"), `Rule ${n}.\n`);
    const prompt = `turn ${n}`;
    const hasImage = n % 10 === 4 || n % 20 === 10;
    if (n % EVERY === 0) {
      await embed?.close();
      const result = await run(world, ["exec", ...(n === 0 ? [] : ["resume", thread]), ...(hasImage ? ["-i", "a.png"] : []), prompt]);
      expect(result.code, result.stderr).toBe(0);
      thread ||= String(log(world)[0]!["id"]);
      embed = await embedded(world);
    } else await embed!.turn(thread, [hasImage ? ({ ...userText(prompt), content: [{ type: "input_text", text: prompt }, image] } as Item) : userText(prompt)]);
  }
  await embed?.close();
  expect(server.problems).toEqual([]);
  expect(server.requests.length).toBeGreaterThanOrEqual(TURNS * 1.5);

  const around = server.requests.map(({ body }) => {
    const { input: _input, messages, ...rest } = body as { input?: unknown; messages?: { role: string }[] };
    return JSON.stringify([rest, messages?.filter(({ role }) => role === "system")]);
  });
  expect(new Set(around).size).toBe(1);
  server.requests.reduce((before, request) => {
    const now = itemsOf(request);
    expect(now.length, `request ${request.n}`).toBeGreaterThan(before.length);
    expect(now.slice(0, before.length), `request ${request.n}`).toEqual(before);
    return now;
  }, [] as string[]);
  const last = itemsOf(server.requests.at(-1)!).join("\n");
  for (const n of [3, 23, 43]) expect(last.split(`Rule ${n}.`), `rule ${n}`).toHaveLength(2);
}, 120_000);
