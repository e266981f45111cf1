/**
 * kill -9 of the real binary, at chosen places and at random ones. After each kill the thread is resumed in a new process, and then:
 *
 * - nothing acknowledged is lost: every item that a run printed as completed is in the log, as it was printed, and every prompt whose
 *   turn was seen to start is in the next request;
 * - no call is run twice: each command leaves a mark of its own when it runs;
 * - every request passes the validator of its wire (the server checks each);
 * - the output of each call in each request is the outcome on disk, or says "outcome unknown".
 *
 * SKEIN_KILLS=500 SKEIN_SEED=7 npx vitest run test/crash/exec-kills.test.ts
 */
import { describe, expect, it } from "vitest";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ModelServer } from "../model-server/server.ts";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { conversation, scene } from "../e2e/scene.ts";
import { FULL_ACCESS, itemsOf, jsonLines, log, logSoFar, run, shell, start, until, type World } from "../e2e/skein.ts";
import { createRandom } from "./random.ts";

const KILLS = Number(process.env["SKEIN_KILLS"] ?? 50);
const SEED = Number(process.env["SKEIN_SEED"] ?? Date.now() % 1_000_000);

type Json = Record<string, unknown>;
interface InputItem {
  type: string;
  role?: string;
  call_id?: string;
  output?: string;
  content?: { text?: string }[];
}

describe("kill -9", () => {
  it("while the model streams: what was read is sent on as far as it came", async () => {
    const { server, world } = await scene([{ text: ["One ", "two ", "three "], hang: { afterEvents: 6 } }, { text: "Again." }]);
    const running = start(world, ["exec", "--json", "count"]);
    await until(() => read(join(world.home, "sessions/active/live.jsonl")).includes("One"));
    running.child.kill("SIGKILL");
    await running.done;
    expect(await run(world, ["exec", "resume", "--last", "go on"])).toMatchObject({ code: 0, stdout: "Again.\n" });
    expect(inputOf(server.requests[1]!).map((item) => item.content?.[0]?.text)).toEqual(["count", expect.stringMatching(/^One /u), "go on"]);
    check(world, server, []);
  });

  it("while a command runs: it does not live on, it is not run again, and its outcome is told as unknown, with what it had printed", async () => {
    const { server, world } = await scene([{ calls: [shell("echo run >> runs.txt; echo $$ > pid.txt; echo so far; sleep 60")] }, { text: "I see." }]);
    const running = start(world, ["exec", ...FULL_ACCESS, "--json", "wait"]);
    await until(() => read(join(world.home, "sessions/active/live.jsonl")).includes("so far"));
    running.child.kill("SIGKILL");
    const { stdout } = await running.done;
    await until(() => isGone(Number(read(join(world.project, "pid.txt")))));
    expect(await run(world, ["exec", "resume", "--last", "what happened?"])).toMatchObject({ code: 0, stdout: "I see.\n" });
    expect(read(join(world.project, "runs.txt"))).toBe("run\n");
    const output = inputOf(server.requests[1]!).find((item) => item.type === "function_call_output")!;
    expect(output.output).toMatch(/outcome unknown[\s\S]*so far/u);
    check(world, server, [stdout]);
  });

  it("between a call's end on disk and the next request: the outcome on disk is what the model gets", async () => {
    const misses: number[] = [];
    for (let attempt = 0; attempt < 30; attempt++) {
      const { server, world } = await scene([{ calls: [shell("echo run >> runs.txt; sleep 0.3; echo the outcome")] }, { text: "I see." }]);
      const running = start(world, ["exec", ...FULL_ACCESS, "--json", "go"]);
      const file = join(world.home, "sessions/active/rollout.jsonl");
      await until(() => read(join(world.project, "runs.txt")) === "run\n");
      // Without giving way to anybody: the next request is a few milliseconds off.
      spinUntil(() => read(file).includes('"call.ended"'));
      running.child.kill("SIGKILL");
      const { stdout } = await running.done;
      await delay(100);
      misses.push(server.requests.length);
      if (server.requests.length > 1) continue;
      expect(types(log(world)).findLast((type) => type.startsWith("call."))).toBe("call.ended");
      expect(await run(world, ["exec", "resume", "--last", "and?"])).toMatchObject({ code: 0, stdout: "I see.\n" });
      expect(inputOf(server.requests[1]!).find((item) => item.type === "function_call_output")!.output).toMatch(/^Exit code: 0[\s\S]*the outcome\n$/u);
      expect(read(join(world.project, "runs.txt"))).toBe("run\n");
      check(world, server, [stdout]);
      return;
    }
    throw new Error(`the next request was always faster: ${misses.join(" ")}`);
  }, 120_000);

  it("between the prompt and its turn: the prompt is kept and sent with the next", async () => {
    for (let attempt = 0; attempt < 30; attempt++) {
      const { server, world } = await scene([{ text: "Fine." }, { text: "Fine." }]);
      await run(world, ["exec", "first"]);
      const running = start(world, ["exec", "resume", "--last", "--json", "second"]);
      const file = join(world.home, "sessions/active/rollout.jsonl");
      await running.line((line) => line.includes("thread.started"));
      spinUntil(() => read(file).split('"input.queued"').length >= 3);
      running.child.kill("SIGKILL");
      await running.done;
      if (types(logSoFar(world)).filter((type) => type === "turn.started").length > 1) continue;
      const result = await run(world, ["exec", "resume", "--last", "--json", "third"]);
      expect(result.code, result.stderr).toBe(0);
      expect(inputOf(server.requests[1]!).filter((item) => item.role === "user").map((item) => item.content![0]!.text)).toEqual(["first", "second", "third"]);
      expect(itemsOf(jsonLines(result.stdout))[0]).toMatchObject({ type: "error", message: expect.stringContaining("never answered") });
      check(world, server, [result.stdout]);
      return;
    }
    throw new Error("the turn always started first");
  }, 120_000);

  it(`at ${KILLS} random moments of one thread`, async () => {
    const random = createRandom(SEED);
    const { server, world } = await scene((request) => replyTo(request, random));
    mkdirSync(join(world.project, "marks"));
    const printed: string[] = [];
    const told: string[] = [];
    let thread: string | null = null;
    let kills = 0;
    for (let round = 0; kills < KILLS; round++) {
      const prompt = `prompt ${round}`;
      const running = start(world, ["exec", ...FULL_ACCESS, "--json", ...(thread === null ? [] : ["resume", thread]), prompt]);
      await killSometime(running, random);
      const result = await running.done.catch((error: unknown) => {
        throw new Error(`seed ${SEED}, round ${round}: ${String(error)}`);
      });
      if (result.signal === "SIGKILL") kills += 1;
      else expect([result.code, result.stderr], `seed ${SEED}, round ${round}`).toEqual([0, ""]);
      printed.push(result.stdout);
      const whole = jsonLines(result.stdout.slice(0, result.stdout.lastIndexOf("\n") + 1));
      thread = (whole.find((line) => line["type"] === "thread.started")?.["thread_id"] as string | undefined) ?? thread;
      if (whole.some((line) => line["type"] === "turn.started")) told.push(prompt);
    }
    const last = await run(world, ["exec", ...FULL_ACCESS, "--json", "resume", thread!, "the last"]);
    expect(last.code, `seed ${SEED}: ${last.stderr}`).toBe(0);
    check(world, server, [...printed, last.stdout], thread!);
    const said = inputOf(server.requests.at(-1)!)
      .filter((item) => item.role === "user")
      .map((item) => item.content![0]!.text);
    expect(said.filter((text) => told.includes(text!)), `seed ${SEED}`).toEqual(told);
    const marks = readdirSync(join(world.project, "marks"));
    console.info(`${kills} kills (seed ${SEED}): ${server.requests.length} requests, ${marks.length} commands run, ${log(world, thread!).length} records`);
  }, 60_000 + KILLS * 10_000);
});

/** Everything that must hold after kills. */
function check(world: World, server: ModelServer, printed: readonly string[], thread = "active"): void {
  const about = `seed ${SEED}`;
  expect(server.problems, about).toEqual([]);
  const records = log(world, thread);
  expect(records.map((record) => record["seq"]), about).toEqual([...records.keys()]);

  const ended = new Map(records.filter((record) => record["type"] === "call.ended").map((record) => [record["call"] as string, (record["output"] as { output: string }).output]));
  const texts = new Set(records.filter((record) => record["type"] === "item.added").map((record) => textOf(record["item"] as Json)));
  for (const stdout of printed) {
    const lines = jsonLines(stdout.slice(0, stdout.lastIndexOf("\n") + 1));
    for (const item of itemsOf(lines.filter((line) => line["type"] === "item.completed"))) {
      if (item["type"] === "agent_message" || item["type"] === "reasoning") expect(texts.has(String(item["text"])), `${about}: ${JSON.stringify(item)}`).toBe(true);
      if (item["type"] !== "command_execution") continue;
      const call = /marks\/(call_\d+)/u.exec(String(item["command"]))?.[1] ?? "call_1";
      expect(ended.get(call)?.endsWith(String(item["aggregated_output"])), `${about}: ${JSON.stringify(item)}`).toBe(true);
    }
  }

  for (const request of server.requests) {
    for (const item of inputOf(request)) {
      if (item.type !== "function_call_output") continue;
      if (!item.output!.includes("outcome unknown")) expect(item.output, `${about}: ${item.call_id}`).toBe(ended.get(item.call_id!));
    }
  }
  const marks = join(world.project, "marks");
  for (const name of existsSync(marks) ? readdirSync(marks) : []) expect([name, read(join(marks, name))], about).toEqual([name, "run\n"]);
  const starts = records.filter((record) => record["type"] === "call.started").map((record) => record["call"]);
  expect(starts.length, about).toBe(new Set(starts).size);
}

let calls = 0;

/** A model that works for a while: commands, alone and several at once, then words, slowly. */
function replyTo(request: RecordedRequest, random: () => number): Reply {
  const last = inputOf(request).at(-1)!;
  const work = last.type === "function_call_output" ? random() < 0.4 : random() < 0.8;
  const words = Array.from({ length: 3 + Math.floor(random() * 12) }, (_, n) => `word${calls}.${n} `);
  const slow = random() < 0.5 ? { slowMs: Math.floor(random() * 8) } : {};
  if (!work) return { text: words, ...slow };
  const commands = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
    const id = `call_${++calls}`;
    return shell(`echo run >> marks/${id}; echo begun ${id}; sleep 0.${Math.floor(random() * 15)}; echo ended ${id}`, id);
  });
  return { reasoning: `thought ${calls}`, ...(random() < 0.5 ? { text: words } : {}), calls: commands, ...slow };
}

/** While it starts, or a moment after so many lines; some runs are spared. */
async function killSometime(running: ReturnType<typeof start>, random: () => number): Promise<void> {
  const over = Promise.allSettled([running.done]);
  const lines = Math.floor(random() * 12);
  if (lines === 0) await Promise.race([delay(random() * 600), over]);
  else {
    const seen = new Set<string>();
    await Promise.race([running.line((line) => seen.add(line).size >= lines), over]).catch(() => {});
    await Promise.race([delay(random() ** 2 * 250), over]);
  }
  running.child.kill("SIGKILL");
}

function inputOf(request: RecordedRequest): InputItem[] {
  return conversation((request.body as { input: InputItem[] }).input);
}

function textOf(item: Json): string {
  const parts = (item["content"] ?? item["summary"] ?? []) as { text?: string }[];
  return parts.map((part) => part.text ?? "").join("");
}

function types(records: readonly Json[]): string[] {
  return records.map((record) => String(record["type"]));
}

/** A command does not outlive the process that ran it, however that ended. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Bounded, since no timeout of the test ends what never gives way. */
function spinUntil(holds: () => boolean): void {
  for (const end = performance.now() + 20_000; !holds(); ) if (performance.now() > end) throw new Error(`it never happened: ${String(holds)}`);
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
