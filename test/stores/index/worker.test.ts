/** The indexer in its thread, in real processes: it catches up, is never waited for, and may die anywhere. */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { openIndex, type Index } from "../../../src/stores/file/index/open.ts";
import { build, ended, type Built } from "./built.ts";
import { indexOf, removeHome, temporaryHome } from "./indexing.ts";
import { answered, appendDrafts, folderOf, idAt, makeSession, printed, said } from "./sessions.ts";

vi.setConfig({ testTimeout: 120_000 });

let built: Built;
beforeAll(async () => {
  built = await build();
});
afterAll(() => built.remove());

let home: string;
let index: Index;
beforeEach(() => {
  home = temporaryHome();
  index = openIndex({ home, worker: built.worker });
});
afterEach(async () => {
  await index.close();
  removeHome(home);
});

const START = 1_750_000_000_000;
const FILLER = Array.from({ length: 300 }, (_, n) => `word${n * 7}`).join(" ");

function fill(count: number, { texts = 3 } = {}): void {
  for (let made = 0; made < count; made++) {
    const drafts = Array.from({ length: texts }, (_, n) => (n % 2 ? printed(`needle ${FILLER}`) : said(`needle ${FILLER}`)));
    makeSession(home, { id: idAt(START + made * 5000), title: `Session ${made}`, drafts });
  }
}

/** Every hit of "needle", through all pages, from an index that is complete. */
function needles(): string[] {
  const reader = indexOf(home);
  const hits: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = reader.search({ text: "needle", limit: 1000, cursor });
    expect(page.incomplete).toBe(false);
    hits.push(...page.items.map(({ thread, seq }) => `${thread} ${seq}`));
    cursor = page.next;
    if (cursor === null) break;
  }
  reader.close();
  return hits;
}

function expectedNeedles(count: number, texts: number): string[] {
  return Array.from({ length: count * texts }, (_, n) => `${idAt(START + Math.floor(n / texts) * 5000)} ${2 + (n % texts)}`).toReversed();
}

describe("catching up", () => {
  test("a missing index is built after the first list, which does not wait for it", async () => {
    fill(20);
    expect((await index.list({ limit: 5 })).items.map(({ title }) => title)).toEqual(["Session 19", "Session 18", "Session 17", "Session 16", "Session 15"]);
    while ((await index.search({ text: "needle" })).incomplete) await sleep(50);
    expect(needles()).toEqual(expectedNeedles(20, 3));
  });

  test("catchUp tells how far it is and resolves when everything that was there can be found", async () => {
    fill(300, { texts: 6 });
    const told: { done: number; total: number }[] = [];
    expect(await index.catchUp({ onProgress: (progress) => told.push(progress) })).toBe(true);
    expect((await index.search({ text: "needle", limit: 1000 })).incomplete).toBe(false);
    expect(needles()).toEqual(expectedNeedles(300, 6));
    expect(told.length).toBeGreaterThan(0);
    expect(told.every(({ done, total }) => done <= total)).toBe(true);
  });

  test("catchUp can be given up", async () => {
    fill(100);
    const abort = new AbortController();
    const waiting = index.catchUp({ signal: abort.signal });
    abort.abort();
    expect(await waiting).toBe(false);
    expect(await index.catchUp({ signal: abort.signal })).toBe(false);
  });

  test("a mark goes when its thread is taken in and closed, and stays while a writer is at it", async () => {
    const [open, closed] = [idAt(START), idAt(START + 5000)];
    makeSession(home, { id: open, drafts: [said("needle")], open: true });
    makeSession(home, { id: closed, drafts: [said("needle")] });
    index.touched(open);
    index.touched(closed);
    index.gone(idAt(START + 9000));
    expect(await index.catchUp()).toBe(true);
    expect(readdirSync(join(home, "dirty")).filter((name) => !name.startsWith("."))).toEqual([open]);
    appendDrafts(folderOf(home, open), { id: open, seq: 3, drafts: [answered("needle"), { type: "writer.closed" }] });
    index.touched(open);
    expect(await index.catchUp()).toBe(true);
    expect(readdirSync(join(home, "dirty")).filter((name) => !name.startsWith("."))).toEqual([]);
    expect(needles()).toHaveLength(3);
  });

  test("damage that a reader finds is mended", async () => {
    fill(30);
    expect(await index.catchUp()).toBe(true);
    const path = join(home, "index.sqlite");
    const size = statSync(path).size;
    await index.close();
    writeFileSync(path, Buffer.alloc(size, 0x5a));
    index = openIndex({ home, worker: built.worker });
    expect((await index.list({ limit: 50 })).items).toHaveLength(30);
    expect(await index.catchUp()).toBe(true);
    expect(needles()).toEqual(expectedNeedles(30, 3));
  });
});

describe("never waited for", () => {
  test("close ends it in the middle of its work, and leaves what the next one goes on from", async () => {
    fill(400, { texts: 8 });
    const started = new Promise<void>((resolve) => void index.catchUp({ onProgress: () => resolve() }));
    await started;
    const before = performance.now();
    await index.close();
    expect(performance.now() - before).toBeLessThan(3000);
    index = openIndex({ home, worker: built.worker });
    expect(await index.catchUp()).toBe(true);
    expect(needles()).toEqual(expectedNeedles(400, 8));
  });

  test("a short run marks what it changed and starts no indexer", async () => {
    fill(1);
    expect(await built.run("touch", home, idAt(START))).toEqual({ lines: ["touched"], code: 0 });
    expect(readdirSync(home).toSorted()).toEqual(["dirty", "sessions"]);
  });

  test("a process ends although its indexer is at work", async () => {
    fill(400, { texts: 8 });
    expect(await built.run("list", home)).toEqual({ lines: [50], code: 0 });
    expect((await index.search({ text: "needle" })).incomplete).toBe(true);
    expect(await index.catchUp()).toBe(true);
    expect(needles()).toEqual(expectedNeedles(400, 8));
  });

  test.each(["exit", "close", "return"])("a process may end at any moment of its indexer's work (%s)", async (how) => {
    fill(400, { texts: 8 });
    const ends = [];
    for (const ms of [5, 60, 90, 120, 150, 200]) ends.push((await built.run("leave", home, `${how} ${ms}`)).code);
    expect(ends).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("a process that goes on starts it by itself", async () => {
    fill(3);
    const child = built.start("linger", home, idAt(START));
    try {
      while (indexOf(home).search({ text: "needle" }).incomplete) await sleep(100);
      expect(needles()).toEqual(expectedNeedles(3, 3));
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("without its script, or with one that fails, lists go on", async () => {
    fill(3);
    const broken = join(home, "broken.js");
    writeFileSync(broken, "throw new Error('no')");
    for (const worker of [pathToFileURL(join(home, "missing.js")), pathToFileURL(broken)]) {
      const other = openIndex({ home, worker });
      expect((await other.list({})).items).toHaveLength(3);
      expect(await other.catchUp()).toBe(false);
      expect((await other.list({})).items).toHaveLength(3);
      await other.close();
    }
  });
});

describe("several, and killed", () => {
  test("processes that catch up at once all succeed, and nothing is taken twice", async () => {
    fill(150);
    const all = await Promise.all([1, 2, 3].map(() => built.run("catch-up", home)));
    expect(all.map(({ lines }) => lines.at(-1))).toEqual([{ complete: true }, { complete: true }, { complete: true }]);
    expect(needles()).toEqual(expectedNeedles(150, 3));
  });

  test("killed again and again, it goes on from where it was", async () => {
    const [count, texts] = [400, 8];
    fill(count, { texts });
    let unfinished = 0;
    for (let kill = 0; kill < 8; kill++) {
      const child = built.start("catch-up", home);
      const over = ended(child);
      await new Promise((resolve) => child.stdout!.once("data", resolve));
      await sleep(kill * 10);
      child.kill("SIGKILL");
      await over;
      const reader = indexOf(home);
      expect(reader.list({ limit: 1000 }).items).toHaveLength(count);
      if (reader.search({ text: "needle" }).incomplete) unfinished += 1;
      reader.close();
    }
    expect(unfinished).toBeGreaterThan(0);
    expect((await built.run("catch-up", home)).lines.at(-1)).toEqual({ complete: true });
    expect(needles()).toEqual(expectedNeedles(count, texts));
  });
});

test("only the user may read what is derived, whatever the umask", async () => {
  fill(5);
  const child = built.start("linger", home, idAt(START));
  try {
    while (!existsSync(join(home, "index.sqlite-wal")) || indexOf(home).search({ text: "needle" }).incomplete) await sleep(50);
    const modes = (folder: string) => Object.fromEntries(readdirSync(folder).filter((name) => !name.startsWith(".stamp")).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]));
    const { sessions: _, ...files } = modes(home);
    expect(files).toMatchObject({ dirty: "700", "index.lock": "600", "index.sqlite": "600", "index.sqlite-wal": "600", "index.sqlite-shm": "600" });
    expect(Object.values(modes(join(home, "dirty"))).every((mode) => mode === "600")).toBe(true);
  } finally {
    child.kill("SIGKILL");
  }
});
