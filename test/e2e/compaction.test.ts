/** Compaction by itself, through the real binary: whatever happens, each request is valid, fits, and nothing goes that was not summarised. */
import { describe, expect, it } from "vitest";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { checkRequests, compactionScene, compactionsOf, counted, filler, isSummary, marksIn, run, textIn, turn, WIRES } from "./compaction.ts";
import { itemsOf, jsonLines, log, shell, type World } from "./skein.ts";

const WINDOW = 12_000;
const window = (tokens: number) => `model_context_window = ${tokens}`;

/** Files with marks that no command names, so that only their contents carry them. */
function files(world: World, count: number, tokens: number): void {
  for (let n = 0; n < count; n++) writeFileSync(join(world.project, `part-${n}.txt`), filler(`mark-1-${n}`, tokens));
}

/** A model that reads `rounds` times two files at once after each prompt and then answers at length. */
function reader(rounds: number, tokens: number): { script: (request: RecordedRequest) => Reply; said: Map<number, string> } {
  const said = new Map<number, string>();
  let file = 0;
  let left = rounds;
  let answers = 0;
  const script = (request: RecordedRequest): Reply => {
    const reply = answer(request);
    said.set(request.n, JSON.stringify(reply));
    // Now and then a server does not count.
    return request.n % 5 === 4 ? { ...reply, noUsage: true } : counted(request, reply);
  };
  const answer = (request: RecordedRequest): Reply => {
    if (isSummary(request)) return { text: `Summary ${request.n}.` };
    if (left > 0) {
      left -= 1;
      const [one, two] = [file++, file++];
      return { calls: [{ name: "read_file", arguments: { path: `part-${one}.txt` }, id: `call_${one}` }, shell(`cat part-${two}.txt`, `call_${two}`)] };
    }
    left = rounds;
    return { text: filler(`mark-2-${answers++}`, tokens) };
  };
  return { script, said };
}

/** Whatever was said so far stands in each request, or stood in the request for the summary that it shows; a ledger goes with each. */
function checkNothingLost(requests: readonly RecordedRequest[], said: ReadonlyMap<number, string>): void {
  const byNumber = new Map(requests.map((request) => [request.n, request]));
  const covered = (request: RecordedRequest): string[] => {
    const text = textIn(request);
    const summaries = [...new Set(text.match(/(?<=Summary )\d+(?=\.)/gu))].map((n) => byNumber.get(Number(n))!);
    return [...marksIn(text), ...summaries.flatMap(covered)];
  };
  const seen = new Set<string>();
  for (const request of requests) {
    const text = textIn(request);
    if (!isSummary(request)) {
      for (const mark of marksIn(text)) seen.add(mark);
      const here = new Set(covered(request));
      expect([...seen].filter((mark) => !here.has(mark)), `request ${request.n}`).toEqual([]);
      expect(text.match(/Ledger of this conversation so far/gu)?.length, `request ${request.n}`).toBe(text.match(/Previous conversation summary:\nSummary \d+\./gu)?.length);
    }
    for (const mark of marksIn(said.get(request.n) ?? "")) seen.add(mark);
  }
}

it("a thread goes on over 30 compactions and as many processes as it takes", async () => {
  const { script, said } = reader(7, 1500);
  const { server, world } = await compactionScene(script, { config: [window(WINDOW)], compact: ["prepare = false", "keep_turns = 2"] });
  files(world, 300, 1300);
  const shown: object[] = [];
  let turns = 0;
  while (shown.length < 30) {
    const result = await turn(world, `prompt ${turns++}`);
    shown.push(...itemsOf(jsonLines(result.stdout)).filter(({ type }) => type === "compaction"));
  }
  checkRequests(server, WINDOW);
  checkNothingLost(server.requests, said);
  const done = compactionsOf(world);
  expect(shown).toEqual(done.map(({ tokens, strategy, trigger }) => expect.objectContaining({ type: "compaction", old_token_count: tokens.before, new_token_count: tokens.after, strategy, trigger })));
  expect(server.requests.filter(isSummary).length).toBe(done.length);
  for (const { tokens, strategy, trigger } of done) expect({ fits: tokens.after <= WINDOW * 0.7, strategy, trigger }).toEqual({ fits: true, strategy: "summary", trigger: "auto" });
  // What was asked first is in the ledger still, and so are files and commands of the last turns.
  const last = textIn(server.requests.findLast((request) => !isSummary(request))!);
  expect(last).toMatch(/Asked by the user:\n- prompt \d+\n/u);
  expect(last).toMatch(/Files read \(hash then\):\n- part-\d+\.txt/u);
  expect(last).toMatch(/Commands run \(last exit code\):\n- cat part-\d+\.txt → 0/u);
}, 120_000);

describe.each(WIRES)("%s", (wire) => {
  it("compacts between the requests of a turn with calls side by side, and another process goes on", async () => {
    const { script, said } = reader(8, 500);
    const { server, world } = await compactionScene(script, { wire, config: [window(WINDOW)] });
    files(world, 40, 1000);
    await turn(world, "read everything");
    expect(compactionsOf(world).length).toBeGreaterThanOrEqual(2);
    expect(log(world).filter(({ type }) => type === "turn.started")).toHaveLength(1);
    await turn(world, "again");
    checkRequests(server, WINDOW);
    checkNothingLost(server.requests, said);
  });

  it("compacts when the server says that it is too long, and the turn goes on", async () => {
    const { script, said } = reader(3, 500);
    const { server, world } = await compactionScene(script, { wire, maxTokens: 9000 });
    files(world, 40, 1000);
    for (const prompt of ["one", "two", "three"]) await turn(world, prompt);
    checkRequests(server, 9000);
    expect(server.requests.some(({ overflowed }) => overflowed)).toBe(true);
    expect(compactionsOf(world).map(({ trigger }) => trigger)).toContain("overflow");
    checkNothingLost(server.requests.filter(({ overflowed }) => !overflowed), said);
  });
});

describe("when no summary comes", () => {
  const refusals: [string, Reply][] = [
    ["the server fails", { status: 500 }],
    ["the request is refused", { status: 400, error: { message: "no" } }],
    ["the answer is empty", { text: "" }],
    ["the answer is cut off", { text: "half", drop: { afterEvents: 3 } }],
    ["it calls a tool instead", { calls: [shell("touch called")] }],
  ];
  it.each(refusals)("because %s, what the user asked and the ledger stand for it", async (_why, refusal) => {
    const { server, world } = await compactionScene((request) => (isSummary(request) ? refusal : { text: filler("mark-1-1", 4500), noUsage: true }), { config: [window(WINDOW)] });
    let told = "";
    for (let n = 0; compactionsOf0(world) === 0; n++) told = (await turn(world, `prompt ${n}`)).stdout;
    checkRequests(server, WINDOW);
    expect(compactionsOf(world)[0]).toMatchObject({ strategy: "user-messages", trigger: "auto" });
    expect(told).toContain("No summary could be made");
    const last = textIn(server.requests.at(-1)!);
    expect(last).toContain("Previous conversation summary:\nPrevious requests:\n- prompt 0\n");
    expect(last).toContain("Ledger of this conversation so far");
    expect(log(world).filter(({ type }) => type === "call.started")).toEqual([]);
  });
});

const compactionsOf0 = (world: World): number => {
  try {
    return compactionsOf(world).length;
  } catch {
    return 0;
  }
};

describe("what was too long does not stand in the way for ever", () => {
  it("a message that is longer than the window fails its turn, and the next one works", async () => {
    const { server, world } = await compactionScene((request) => (isSummary(request) ? { text: `Summary ${request.n}.` } : { text: "Fine." }), { maxTokens: 9000 });
    await turn(world, "one");
    const long = await run(world, ["exec", "--json", "resume", "--last", "-"], { stdin: filler("mark-1-1", 20_000) });
    expect(long.code).toBe(1);
    await turn(world, "short question");
    await turn(world, "another");
    checkRequests(server, 9000);
    expect(server.problems).toEqual([]);
  });

  it("skills that were used go with the history when there is no room for them", async () => {
    const { server, world } = await compactionScene((request) => (isSummary(request) ? { text: `Summary ${request.n}.` } : { text: filler("mark-1-1", 800), noUsage: true }), { config: [window(20_000)] });
    for (const name of ["a", "b", "c", "d", "e"]) {
      mkdirSync(join(world.home, "skills", name), { recursive: true });
      writeFileSync(join(world.home, "skills", name, "SKILL.md"), `---\nname: ${name}\ndescription: does ${name}\n---\nbody-of-${name}\n${"x ".repeat(6000)}`);
    }
    for (const name of ["a", "b", "c", "d", "e", "a"]) await turn(world, `use $${name}`);
    await turn(world, "and go on");
    checkRequests(server, 20_000);
    expect(compactionsOf(world).length).toBeGreaterThan(0);
    // What went is told again when it is used again.
    expect(textIn(server.requests.at(-2)!)).toContain("body-of-a");
  });
});

it("an o-series model is shown the user's messages instead of a summary", async () => {
  const { server, world } = await compactionScene(() => ({ text: filler("mark-1-1", 4500), noUsage: true }), { model: "o4-mini", config: [window(WINDOW)] });
  for (let n = 0; compactionsOf0(world) === 0; n++) await turn(world, `prompt ${n}`);
  checkRequests(server, WINDOW);
  expect(compactionsOf(world)[0]).toMatchObject({ strategy: "user-messages", trigger: "auto" });
  expect(server.requests.filter(isSummary)).toEqual([]);
  expect(textIn(server.requests.at(-1)!)).toContain("Previous conversation summary:\nPrevious requests:\n- prompt 0\n");
});

it("a text of many windows in another script is summarised in pieces that fit", async () => {
  const { server, world } = await compactionScene((request) => (isSummary(request) ? { text: `要約 ${request.n} ${"長".repeat(20_000)}` } : { text: `mark-1-${request.n} ${"言葉".repeat(9000)}`, noUsage: true }), { config: [window(400_000)] });
  for (let n = 0; n < 4; n++) await turn(world, `prompt ${n}`);
  await turn(world, "now in little room", ["-c", "model_context_window=12000"]);
  checkRequests(server, 400_000);
  const small = server.requests.slice(4);
  expect(small.filter(({ raw }) => raw.length / 4 > WINDOW).map(({ n, raw }) => `request ${n} has ${raw.length / 4} tokens`)).toEqual([]);
  expect(small.filter(isSummary).length).toBeGreaterThan(4);
  expect(small.filter(isSummary).length).toBeLessThan(30);
  expect(compactionsOf(world)).toMatchObject([{ strategy: "summary", trigger: "auto" }]);
});

it("a summary for which the server finds the history too long is made in pieces", async () => {
  const said = new Map<number, string>();
  const script = (request: RecordedRequest): Reply => {
    const reply = { text: isSummary(request) ? `Summary ${request.n}.` : filler(`mark-2-${request.n}`, 2500), noUsage: true };
    said.set(request.n, reply.text);
    return reply;
  };
  const { server, world } = await compactionScene(script, { maxTokens: 6500 });
  for (const prompt of ["one", "two", "three"]) await turn(world, prompt);
  checkRequests(server, 6500);
  const kinds = server.requests.map((request) => `${isSummary(request) ? "summary" : "work"}${request.overflowed ? " too long" : ""}`).join(", ");
  expect(kinds).toMatch(/^work, work, work too long, summary too long(?:, summary){2,6}, work$/u);
  expect(compactionsOf(world)).toMatchObject([{ strategy: "summary", trigger: "overflow" }]);
  checkNothingLost(server.requests.filter(({ overflowed }) => !overflowed), said);
});

describe("a summary made ahead of time", () => {
  /**
   * A turn takes longer than the summary that is made beside it: a process that ends takes one that is not finished with it. One is due
   * when four fifths of what may be used are, once for each compaction; a little earlier is waited for in vain at most.
   */
  const story = ({ prepares }: { prepares: boolean }) => {
    const nearly = WINDOW * 0.9 * 0.8 - 200;
    let summary: Promise<unknown> | null = null;
    let before = 0;
    return async (request: RecordedRequest): Promise<Reply> => {
      if (isSummary(request)) {
        summary = request.ended;
        return counted(request, { text: `Summary ${request.n}.` });
      }
      const tokens = request.raw.length / 4;
      if (tokens < before) summary = null;
      before = tokens;
      const isMissing = () => prepares && tokens > nearly && summary === null;
      for (let tries = 0; isMissing() && tries < 200; tries++) await delay(10);
      await summary;
      return counted(request, { text: filler(`mark-2-${request.n}`, 1500) });
    };
  };

  it("is used by the compaction that needs it", async () => {
    const { server, world } = await compactionScene(story({ prepares: true }), { config: [window(WINDOW)], compact: ["prepare = true"] });
    for (let n = 0; compactionsOf0(world) < 2; n++) await turn(world, `prompt ${n}`);
    checkRequests(server, WINDOW);
    const records = log(world);
    const prepared = records.filter(({ type }) => type === "summary.prepared");
    expect(records.filter(({ type, purpose }) => type === "sample.started" && purpose === "compact")).toEqual([]);
    expect(server.requests.filter(isSummary).length).toBe(prepared.length);
    for (const { usage } of prepared) expect(usage).toMatchObject({ input_tokens: expect.any(Number) as number, output_tokens: expect.any(Number) as number });
    checkNothingLost(server.requests, new Map());
  });

  it("is counted by skein usage", async () => {
    const { server, world } = await compactionScene(story({ prepares: true }), { config: [window(WINDOW)], compact: ["prepare = true"] });
    for (let n = 0; compactionsOf0(world) < 1; n++) await turn(world, `prompt ${n}`);
    const rows = jsonLines((await run(world, ["usage", "--by", "model", "--json"])).stdout) as { requests: number; input_tokens: number }[];
    expect(rows).toMatchObject([{ requests: server.requests.length, input_tokens: server.requests.reduce((sum, { raw }) => sum + Math.ceil(raw.length / 4), 0) }]);
  });

  it("is not made where that is turned off", async () => {
    const { server, world } = await compactionScene(story({ prepares: false }), { config: [window(WINDOW)], compact: ["prepare = false"] });
    for (let n = 0; compactionsOf0(world) < 1; n++) await turn(world, `prompt ${n}`);
    expect(log(world).filter(({ type }) => type === "summary.prepared")).toEqual([]);
    expect(server.requests.filter(isSummary)).toHaveLength(1);
  });
});

it("a turn that compacts again and again without getting on fails and says so", async () => {
  let calls = 0;
  const { server, world } = await compactionScene((request) => counted(request, isSummary(request) ? { text: "Nothing new." } : { calls: [shell("cat big.txt", `call_${++calls}`)] }), { config: [window(WINDOW)] });
  writeFileSync(join(world.project, "big.txt"), filler("mark-1-1", 4000));
  const result = await run(world, ["exec", "--json", "go"]);
  checkRequests(server, WINDOW);
  expect(result.code).toBe(1);
  expect(jsonLines(result.stdout).at(-1)).toMatchObject({ type: "turn.failed", error: { message: expect.stringMatching(/compacted .*without getting on/u) as string } });
  expect(compactionsOf(world).length).toBeLessThanOrEqual(4);
  expect(log(world).at(-2)).toMatchObject({ type: "turn.ended", status: "failed", failure: { code: "compaction_loop" } });
});

it.each([
  ["the model table", [], 272_000],
  ["the table of the config", ['[models."gpt-5"]', "context_window = 5000000"], 5_000_000],
  ["model_context_window", [], 12_345],
] as const)("the window that a turn is told of comes from %s", async (from, table, expected) => {
  const { world } = await compactionScene([{ text: "Hi." }], { model: "gpt-5", config: from === "model_context_window" ? [window(expected)] : [], compact: ["prepare = true", ...table] });
  await turn(world, "hello");
  const events = jsonLines((await run(world, ["follow", "--last", "--once", "--events"])).stdout);
  expect(events.filter(({ type }) => type === "turn/started")).toMatchObject([{ model_context_window: expected }]);
});
