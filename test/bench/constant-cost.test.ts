/**
 * What opening, forking and appending cost, proved by counting bytes and calls instead of by a clock: the same at ten times the length.
 * (What listing and searching cost is proved in test/stores/index.)
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeSession, type Made } from "../../bench/generate/session.ts";
import { counted, countingFiles, type FileCounts } from "../../bench/store/counting.ts";
import { folderBytes } from "../../bench/store/disk.ts";
import { converse, SETTINGS, threadsOn } from "../../bench/store/host.ts";
import { userText } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { CARRY_EVERY_BYTES } from "../../src/runtime/commit.ts";
import { loadState } from "../../src/runtime/loading.ts";
import { filesIn, homeAt, threadFolder } from "../../src/stores/file/layout.ts";
import { openFileStore, type FileStore } from "../../src/stores/file/store.ts";

const ONE = 2_000_000;
let root = "";
let short: Sample;
let long: Sample;
/** Long, with a rewind since the last compaction. */
let rewound: Sample;

interface Sample {
  home: string;
  made: Made;
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "skein-cost-"));
  const sample = (name: string, wish: { bytes: number; seed: number }): Sample => ({ home: join(root, name), made: makeSession({ home: join(root, name), ...wish }) });
  short = sample("short", { bytes: ONE, seed: 3 });
  long = sample("long", { bytes: 10 * short.made.bytes, seed: 3 });
  rewound = sample("rewound", { bytes: 20_000_000, seed: 7 });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function openCounted(home: string): { store: FileStore; counts: FileCounts } {
  const { files, counts } = countingFiles();
  return { store: openFileStore({ home, host: "test", pid: process.pid, now: () => new Date().toISOString(), files }), counts };
}

async function openingCost({ home, made }: Sample): Promise<FileCounts> {
  const { store, counts } = openCounted(home);
  const { cost } = await counted(counts, async () => {
    const opened = await store.open(made.thread);
    if (!opened.ok) throw new Error(opened.message);
    const state = await loadState(store, { thread: made.thread, before: opened.log.head });
    expect(state!.history.entries.length).toBeGreaterThan(100);
  });
  await store.close();
  return cost;
}

describe("opening", () => {
  test("a log ten times as long takes no more reading, within a carry's interval", async () => {
    const [one, ten] = [await openingCost(short), await openingCost(long)];
    expect(long.made.bytes).toBeGreaterThan(10 * short.made.bytes);
    expect(Math.abs(ten.read - one.read)).toBeLessThan(CARRY_EVERY_BYTES);
    expect(ten.read).toBeLessThan(2 * CARRY_EVERY_BYTES);
    expect(ten.reads).toBeLessThan(30);
  });

  test("a rewind on the way back is a search for its place, not a scan", async () => {
    const cost = await openingCost(rewound);
    expect(cost.read).toBeLessThan(3 * CARRY_EVERY_BYTES);
    expect(cost.reads).toBeLessThan(90);
  });

  test("nor does it when everything derived is gone", async () => {
    const withoutDerived = (sample: Sample) => {
      const { metadata, state } = filesIn(threadFolder(homeAt(sample.home).sessions, sample.made.thread));
      for (const path of [metadata, state]) rmSync(path);
      return openingCost(sample);
    };
    const [one, ten] = [await withoutDerived(short), await withoutDerived(long)];
    expect(Math.abs(ten.read - one.read)).toBeLessThan(CARRY_EVERY_BYTES);
    expect(ten.read).toBeLessThan(3 * CARRY_EVERY_BYTES);
  });
});

describe("forking", () => {
  async function forkingCost({ home, made }: Sample): Promise<{ cost: FileCounts; folder: string }> {
    const { store, counts } = openCounted(home);
    const threads = threadsOn(store, "");
    const fork = () => threads.fork({ thread: made.thread, source: "exec" });
    await fork();
    const { result, cost } = await counted(counts, fork);
    if (!result.ok) throw new Error(result.refusal.message);
    const folder = threadFolder(homeAt(home).sessions, result.session.thread);
    expect(folderBytes(folder)).toBeLessThan(1024);
    await threads.closeAll("counted");
    await store.close();
    return { cost, folder };
  }

  test("reads a bounded tail and writes the same few bytes, whatever the length of the parent", async () => {
    const [one, ten] = [await forkingCost(short), await forkingCost(long)];
    expect(Math.abs(ten.cost.read - one.cost.read)).toBeLessThan(CARRY_EVERY_BYTES);
    expect(ten.cost.read).toBeLessThan(2 * CARRY_EVERY_BYTES);
    expect(Math.abs(ten.cost.written - one.cost.written)).toBeLessThan(32);
    expect(ten.cost.written).toBeLessThan(1024);
    const calls = ({ writes, syncs, folderSyncs }: FileCounts) => ({ writes, syncs, folderSyncs });
    expect(calls(ten.cost)).toEqual(calls(one.cost));
  });

  test("leaves a folder of at most 2 KB, derived files and all", async () => {
    const { folder } = await forkingCost(long);
    expect(folderBytes(folder)).toBeLessThanOrEqual(2048);
  });
});

describe("writing", () => {
  const message = "word ".repeat(400);
  const drafts: Draft[] = [
    { type: "input.queued", op: "op-1", items: [userText(message)], deliver: "next" },
    { type: "turn.started", turn: "t1", inputs: [1] },
    { type: "turn.ended", turn: "t1", status: "completed" },
  ];

  test("a batch is one write of exactly its bytes, and no sync until somebody waits; then one for all who do", async () => {
    const home = join(root, "append");
    const { store, counts } = openCounted(home);
    const id = "01900000-0000-7000-8000-000000000003";
    const log = await store.create(id, { type: "thread.created", id, base: null, source: "exec", settings: SETTINGS });
    const before = log.bytes;
    const { cost } = await counted(counts, async () => void log.append(drafts));
    expect(cost).toEqual({ writes: 1, written: log.bytes - before, reads: 0, read: 0, syncs: 0, folderSyncs: 0 });
    const { cost: waited } = await counted(counts, () => Promise.all([1, 2, 3].map((seq) => log.durable(seq))));
    expect(waited).toMatchObject({ writes: 0, syncs: 1, folderSyncs: 0 });
    await store.close();
  });

  test("who waits for what a running sync covers starts no other", async () => {
    const { store, counts } = openCounted(join(root, "shared"));
    const id = "01900000-0000-7000-8000-000000000004";
    const log = await store.create(id, { type: "thread.created", id, base: null, source: "exec", settings: SETTINGS });
    const { cost } = await counted(counts, async () => {
      log.append(drafts);
      const first = log.durable(1);
      await Promise.resolve();
      const covered = log.durable(3);
      log.append(drafts);
      const later = log.durable(6);
      await Promise.all([first, covered, later]);
    });
    expect(cost.syncs).toBe(2);
    await store.close();
  });

  test("a turn through the runtime takes at most two syncs, and the log grows with the turns and with nothing else", async () => {
    const home = join(root, "turns");
    const { store, counts } = openCounted(home);
    const threads = threadsOn(store, message);
    const session = await threads.start({ source: "exec", settings: SETTINGS });
    const log = filesIn(threadFolder(homeAt(home).sessions, session.thread)).log;
    const run = async (turns: number) => {
      const before = statSync(log).size;
      const { cost } = await counted(counts, () => converse(session, { turns, message }));
      return { bytes: statSync(log).size - before, cost };
    };
    await run(1);
    const one = await run(12);
    const ten = await run(120);
    for (const { cost, turns } of [{ ...one, turns: 12 }, { ...ten, turns: 120 }]) {
      expect(cost.syncs + cost.folderSyncs).toBeLessThanOrEqual(2 * turns);
    }
    expect(ten.bytes / one.bytes).toBeGreaterThan(9.9);
    expect(ten.bytes / one.bytes).toBeLessThan(10.1);
    expect(ten.bytes).toBeLessThan(1.3 * 120 * 2 * message.length);
    await threads.closeAll("counted");
    await store.close();
  });
});
