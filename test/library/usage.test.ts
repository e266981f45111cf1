import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Range, Store } from "../../src/core/store.ts";
import { usageFile } from "../../src/library/usage-cache.ts";
import { readUsage } from "../../src/library/usage.ts";
import type { Draft, Failure, Position, ThreadId, Usage } from "../../src/protocol/record.ts";
import type { UsageQuery } from "../../src/protocol/usage.ts";
import { newHome, SETTINGS, storeAt, threadId } from "../stores/given.ts";

/** A file store whose clock is set by the test, and how many records were read of it. */
function createWorld() {
  const home = newHome();
  const clock = { day: "2026-03-01" };
  let second = 0;
  const store = storeAt(home, { now: () => new Date(Date.parse(`${clock.day}T10:00:00Z`) + second++).toISOString() });
  const reads: string[] = [];
  const counted: Pick<Store, "list" | "head" | "read"> = {
    list: (query) => store.list(query),
    head: (thread) => store.head(thread),
    async *read(thread: ThreadId, range: Range) {
      for await (const record of store.read(thread, range)) {
        reads.push(`${Number(thread.slice(-4))}:${record.seq}`);
        yield record;
      }
    },
  };
  const file = join(home, "usage.json");
  return {
    home,
    store,
    clock,
    file,
    reads,
    async write(thread: ThreadId, ...drafts: Draft[]) {
      const opened = await store.open(thread);
      if (!opened.ok) throw new Error(opened.message);
      opened.log.append(drafts);
      await opened.log.close();
    },
    async create(n: number, { base = null, cwd = "/repo" }: { base?: Position | null; cwd?: string } = {}) {
      const log = await store.create(threadId(n), { type: "thread.created", id: threadId(n), base, source: "exec", settings: { ...SETTINGS, cwd } });
      await log.close();
      return threadId(n);
    },
    usage: (query: UsageQuery = {}, models = {}) => readUsage({ store: counted, cache: usageFile(file), models, query }),
  };
}

const used = (input_tokens: number, output_tokens = 0, more: Partial<Usage> = {}): Usage => ({ input_tokens, output_tokens, total_tokens: input_tokens + output_tokens, ...more });
const turn = (): Draft => ({ type: "turn.started", turn: "t1", inputs: [] });
const origin = (model: string, wire: "responses" | "replay" = "responses") => ({ wire, provider: "openai", model });
const asked = (model: string | null = null, more: object = {}): Draft => ({ type: "sample.started", turn: "t1", ...(model === null ? {} : { origin: origin(model) }), ...more });
const told = (usage?: Usage): Draft => ({ type: "sample.ended", turn: "t1", sample: 0, status: "done", ...(usage ? { usage } : {}) });
const failed = (failure?: Failure): Draft => ({ type: "sample.ended", turn: "t1", sample: 0, status: failure ? "failed" : "lost", ...(failure ? { failure } : {}) });

const row = (more: object) => ({ day: "2026-03-01", model: "gpt-5", provider: "openai", cwd: "/repo", requests: 1, unknown_requests: 0, input_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cost: null, ...more });

test("requests are summed by day, model and folder, with what they cost", async () => {
  const world = createWorld();
  const [one, two] = [await world.create(1), await world.create(2, { cwd: "/other" })];
  await world.write(one, turn(), asked("gpt-5"), told(used(1_000_000, 100_000, { cached_tokens: 400_000, reasoning_tokens: 7 })), asked(), told(used(1000)), turn(), asked("strange-model"), told(used(5, 6, { cache_write_tokens: 3 })));
  world.clock.day = "2026-03-02";
  await world.write(two, turn(), asked("gpt-5"), told(used(1_000_000)));
  expect(await world.usage()).toEqual({
    incomplete: false,
    rows: [
      row({ requests: 2, input_tokens: 1_001_000, cached_tokens: 400_000, output_tokens: 100_000, reasoning_tokens: 7, cost: 0.75 + 0.05 + 1 + 0.00125 }),
      row({ model: "strange-model", input_tokens: 5, output_tokens: 6, cache_write_tokens: 3 }),
      row({ day: "2026-03-02", cwd: "/other", input_tokens: 1_000_000, cost: 1.25 }),
    ],
  });
});

test("since and cwd choose; the config's prices count", async () => {
  const world = createWorld();
  for (const [n, cwd] of ["/repo", "/repo/sub", "/repository"].entries()) await world.write(await world.create(n, { cwd }), turn(), asked("gpt-5"), told(used(1_000_000)));
  world.clock.day = "2026-03-05";
  await world.write(threadId(0), turn(), asked("gpt-5"), told(used(2_000_000)));
  const chosen = async (query: UsageQuery) => (await world.usage(query, { "gpt-5": { price_input: 1, price_output: 1 } })).rows.map(({ day, cwd, cost }) => [day, cwd, cost]);
  expect(await chosen({ cwd: "/repo" })).toEqual([["2026-03-01", "/repo", 1], ["2026-03-01", "/repo/sub", 1], ["2026-03-05", "/repo", 2]]);
  expect(await chosen({ since: "2026-03-02" })).toEqual([["2026-03-05", "/repo", 2]]);
  expect(await chosen({ cwd: "/", since: "2026-03-06" })).toEqual([]);
});

test("what was rewound and what was spent on compaction counts; a fork counts its own requests only", async () => {
  const world = createWorld();
  const parent = await world.create(1);
  await world.write(parent, turn(), asked("gpt-5"), told(used(10)), asked("gpt-5-mini", { purpose: "compact" }), told(used(20)), { type: "turn.ended", turn: "t1", status: "completed" });
  const state = (await world.store.head(parent))!;
  const fork = await world.create(2, { base: { thread: parent, before: state } });
  await world.write(fork, turn(), asked("gpt-5"), told(used(40)));
  const { loadState } = await import("../../src/runtime/loading.ts");
  const { carryOf } = await import("../../src/core/state.ts");
  const carry = carryOf((await loadState(world.store, { thread: parent, before: 2 }))!);
  await world.write(parent, { type: "thread.rewound", op: "o", before: 2, carry }, turn(), asked("gpt-5"), told(used(80)));
  expect((await world.usage()).rows.map(({ model, requests, input_tokens: tokens }) => [model, requests, tokens])).toEqual([
    ["gpt-5", 3, 130],
    ["gpt-5-mini", 1, 20],
  ]);
});

test("requests that never told what they used are counted as such; refused ones used nothing; replayed ones are not counted", async () => {
  const world = createWorld();
  const thread = await world.create(1);
  await world.write(thread, turn(), asked("gpt-5"), failed(), asked(), told(), asked(), failed({ code: "stream_dropped", message: "" }), asked(), failed({ code: "rate_limited", message: "", status: 429 }), asked(), failed({ code: "network", message: "" }));
  await world.write(thread, turn(), { type: "sample.started", turn: "t1", origin: origin("gpt-5", "replay") }, told(used(99)), asked(), told(used(99)));
  await world.write(thread, turn(), asked("gpt-5"));
  expect((await world.usage()).rows).toEqual([row({ requests: 6, unknown_requests: 4, cost: 0 })]);
  // The open one ends.
  await world.write(thread, told(used(1_000_000)));
  expect((await world.usage()).rows).toEqual([row({ requests: 6, unknown_requests: 3, input_tokens: 1_000_000, cost: 1.25 })]);
});

test("a turn is counted where it was started, with the model that was asked", async () => {
  const world = createWorld();
  const thread = await world.create(1);
  await world.write(thread, turn(), asked("gpt-5"), { type: "settings.changed", op: "o", settings: { cwd: "/new", model: "gpt-5-mini" } }, told(used(1)), asked(), told(used(2)), turn(), asked("gpt-5-mini"), told(used(4)));
  expect((await world.usage()).rows.map(({ model, cwd, input_tokens: tokens }) => [model, cwd, tokens])).toEqual([
    ["gpt-5", "/repo", 3],
    ["gpt-5-mini", "/new", 4],
  ]);
});

test("long requests cost more than the same tokens in short ones", async () => {
  const world = createWorld();
  await world.write(await world.create(1), turn(), asked("gpt-5.4"), told(used(200_000)), asked(), told(used(200_000)), asked(), told(used(400_000)));
  expect((await world.usage()).rows).toEqual([row({ model: "gpt-5.4", requests: 3, input_tokens: 800_000, cost: 1 + 2 })]);
});

test("archived threads count, removed ones do not", async () => {
  const world = createWorld();
  for (const n of [1, 2]) await world.write(await world.create(n), turn(), asked("gpt-5"), told(used(n)));
  await world.store.archive(threadId(2));
  const tokens = async () => (await world.usage()).rows.map(({ input_tokens: sum }) => sum);
  expect(await tokens()).toEqual([3]);
  await world.store.remove(threadId(2));
  expect(await tokens()).toEqual([1]);
});

test("only what is new is read, and the file may be deleted, damaged or old", async () => {
  const world = createWorld();
  for (const n of [1, 2]) await world.write(await world.create(n), turn(), asked("gpt-5"), told(used(n)));
  const first = await world.usage();
  world.reads.length = 0;
  expect(await world.usage()).toEqual(first);
  expect(world.reads).toEqual([]);
  const head = (await world.store.head(threadId(2)))!;
  await world.write(threadId(2), turn(), asked("gpt-5"), told(used(4)));
  const second = await world.usage();
  expect(second.rows.map(({ requests, input_tokens: tokens }) => [requests, tokens])).toEqual([[3, 7]]);
  expect(world.reads[0]).toBe(`2:${head - 1}`);
  expect(world.reads.every((read) => read.startsWith("2:"))).toBe(true);
  const kept = readFileSync(world.file, "utf8");
  for (const damage of [null, "", "{", "null", '{"v":1}', '{"v":0,"threads":{}}', kept.replaceAll('"seq":', '"seq":9')]) {
    if (damage === null) rmSync(world.file);
    else writeFileSync(world.file, damage);
    expect(await world.usage()).toEqual(second);
    expect(JSON.parse(readFileSync(world.file, "utf8"))).toEqual(JSON.parse(kept));
  }
});

test("a log that lost its end is read again from the start", async () => {
  const world = createWorld();
  const thread = await world.create(1);
  await world.write(thread, turn(), asked("gpt-5"), told(used(1)));
  await world.usage();
  const log = join(world.home, "sessions", thread, "rollout.jsonl");
  const lines = readFileSync(log, "utf8").split("\n");
  writeFileSync(log, lines.slice(0, 3).map((line) => `${line}\n`).join(""));
  await world.write(thread, asked("gpt-5"), told(used(20)), asked(), told(used(300)), asked(), told(used(4000)));
  const { rows } = await world.usage();
  rmSync(world.file);
  expect(rows).toEqual((await world.usage()).rows);
  expect(rows[0]!.input_tokens).toBe(4320);
});

test("where the file cannot be written, the answer is the same", async () => {
  const world = createWorld();
  await world.write(await world.create(1), turn(), asked("gpt-5"), told(used(1)));
  const cache = usageFile(join(world.home, "no/such/folder/usage.json"));
  expect(await readUsage({ store: world.store, cache, models: {}, query: {} })).toEqual(await world.usage());
});

test("however often it is asked in between, the answer is that of reading everything at once", async () => {
  const draft = fc.oneof(
    fc.constant(turn()),
    fc.record({ model: fc.constantFrom(null, "gpt-5", "gpt-5.4", "odd"), wire: fc.constantFrom("responses" as const, "replay" as const) }).map(({ model, wire }): Draft => ({ type: "sample.started", turn: "t1", ...(model === null ? {} : { origin: origin(model, wire) }) })),
    fc.record({ input: fc.constantFrom(0, 1000, 150_000, 300_000), output: fc.nat(1000) }).map(({ input, output }) => told(used(input, output))),
    fc.constantFrom(told(), failed(), failed({ code: "rate_limited", message: "", status: 429 })),
    fc.constantFrom("/repo", "/other").map((cwd): Draft => ({ type: "settings.changed", op: "o", settings: { cwd } })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.array(draft, { minLength: 1, maxLength: 6 }), fc.boolean()), { maxLength: 8 }), async (writes) => {
      const world = createWorld();
      const thread = await world.create(1);
      for (const [drafts, ask] of writes) {
        await world.write(thread, ...drafts);
        if (ask) await world.usage();
      }
      const stepwise = await world.usage();
      rmSync(world.file, { force: true });
      expect(stepwise).toEqual(await world.usage());
    }),
    { numRuns: 60 },
  );
});
