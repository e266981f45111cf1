/** The generator makes logs that the store and the core take for their own. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeMany, wordOf } from "../../bench/generate/many.ts";
import { makeSession, type Made } from "../../bench/generate/session.ts";
import { visible } from "../../src/core/history.ts";
import { live } from "../../src/core/lineage.ts";
import { reduce } from "../../src/core/reduce.ts";
import { born, type State } from "../../src/core/state.ts";
import type { Damage } from "../../src/core/store.ts";
import type { BlobRef, LogRecord, ThreadId } from "../../src/protocol/record.ts";
import { loadState } from "../../src/runtime/loading.ts";
import { filesIn, homeAt, threadFolder } from "../../src/stores/file/layout.ts";
import { openFileStore, type FileStore } from "../../src/stores/file/store.ts";

const SEED = 11;
let home = "";
let made: Made;
let store: FileStore;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "skein-generate-"));
  made = makeSession({ home, bytes: 12_000_000, seed: SEED });
  store = openFileStore({ home, host: "test", pid: process.pid, now: () => new Date().toISOString() });
});
afterAll(async () => {
  await store.close();
  rmSync(home, { recursive: true, force: true });
});

async function recordsOf(thread: ThreadId): Promise<LogRecord[]> {
  const damage: Damage[] = [];
  const records: LogRecord[] = [];
  for await (const record of store.read(thread, { onDamage: (found) => damage.push(found) })) records.push(record);
  expect(damage).toEqual([]);
  return records;
}

/** From the first record on, every live one. */
async function replayed(thread: ThreadId): Promise<State> {
  const logs = new Map([[made.thread, await recordsOf(made.thread)]]);
  if (thread !== made.thread) logs.set(thread, await recordsOf(thread));
  const [first, ...rest] = live(logs, { thread, before: logs.get(thread)!.at(-1)!.seq + 1 });
  let state = born(first!, null);
  for (const record of rest) state = reduce(state, record);
  return state;
}

test("every line is valid and seq has no gaps", async () => {
  const seqs = (await recordsOf(made.thread)).map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: made.records }, (_, seq) => seq));
});

test("it has what the mix says: compactions, rewinds, resumes, images, calls and forks", () => {
  for (const [what, count] of Object.entries({ ...made.counts, forks: made.forks.length })) expect(count, what).toBeGreaterThan(0);
  expect(made.bytes).toBeGreaterThan(12_000_000);
  expect(made.bytes).toBeLessThan(14_000_000);
});

test("its carries are true: opening at the end gives what a replay from the start gives", async () => {
  for (const thread of [made.thread, made.forks[0]!]) {
    const head = (await store.head(thread))!;
    const loaded = (await loadState(store, { thread, before: head }))!;
    const whole = await replayed(thread);
    expect({ thread: loaded.thread, talk: loaded.talk }).toEqual({ thread: whole.thread, talk: whole.talk });
    expect(visible(loaded.history).length).toBeGreaterThan(20);
  }
});

test("its derived files are those that the store makes from the log", async () => {
  for (const thread of [made.thread, made.forks[0]!]) {
    const { metadata, state } = filesIn(threadFolder(homeAt(home).sessions, thread));
    const contents = () => [metadata, state].map((path) => readFileSync(path, "utf8"));
    const before = contents();
    for (const path of [metadata, state]) rmSync(path);
    await store.rebuildDerived(thread);
    expect(contents()).toEqual(before);
  }
});

test("its blobs are there under their names", async () => {
  let blobs = 0;
  for (const record of await recordsOf(made.thread)) {
    const { diff, instructions, tools, full } = record as { diff?: BlobRef; instructions?: BlobRef; tools?: BlobRef; full?: BlobRef };
    const refs = [diff, instructions, tools, full].filter((ref) => ref !== undefined);
    for (const ref of refs) expect((await store.blobs.get(made.thread, ref))?.byteLength).toBe(ref.bytes);
    blobs += refs.length;
  }
  expect(blobs).toBeGreaterThan(10);
});

test("the same seed gives the same bytes, another one others", () => {
  const hashOf = (seed: number) => {
    const folder = mkdtempSync(join(tmpdir(), "skein-generate-"));
    const { log } = makeSession({ home: folder, bytes: 500_000, seed });
    const hash = createHash("sha256").update(readFileSync(log)).digest("hex");
    rmSync(folder, { recursive: true });
    return hash;
  };
  expect(hashOf(5)).toBe(hashOf(5));
  expect(hashOf(6)).not.toBe(hashOf(5));
});

test("many small sessions are listed newest first, each with a word of its own", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-generate-"));
  const many = makeMany({ home: folder, sessions: 30, seed: 2 });
  const library = openFileStore({ home: folder, host: "test", pid: process.pid, now: () => new Date().toISOString() });
  const { items } = await library.list({ limit: 100 });
  expect(items.length).toBe(30);
  expect([items[0]!.id, items.at(-1)!.id]).toEqual([many.newest, many.oldest]);
  expect(items.map(({ title }) => title)).toEqual(items.map((_, index) => `Work on ${wordOf(29 - index)}`));
  await library.close();
  rmSync(folder, { recursive: true });
});
