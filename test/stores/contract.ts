/** What every store promises: one suite, run against each implementation. */
import { describe, expect, it } from "vitest";
import { load, runReads } from "../../src/core/load.ts";
import { StoreFault, type Store } from "../../src/core/store.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { added, appended, created, mustOpen, queued, range, records, ROOT, seqs, SETTINGS, threadId, threadWith, ticking } from "./given.ts";

export interface Subject {
  name: string;
  make: (now: () => string) => Promise<Store> | Store;
}

export function storeContract({ name, make }: Subject): void {
  const fresh = async () => make(ticking());

  describe(`${name}: the store contract`, () => {
    it("gives a new thread its header with seq 0, durable, and the next records without gaps", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      expect(log.head).toBe(1);
      const written = log.append([queued("a"), added("b")]);
      expect(written.map(({ seq, type }) => [seq, type])).toEqual([
        [1, "input.queued"],
        [2, "item.added"],
      ]);
      expect(log.append([])).toEqual([]);
      expect(log.head).toBe(3);
      await log.durable(2);
      expect(await store.header(ROOT)).toMatchObject({ seq: 0, type: "thread.created", id: ROOT, base: null, settings: SETTINGS });
      expect(await store.head(ROOT)).toBe(3);
      await log.close();
      await store.close();
    });

    it("reads back what was appended, whole, with fields and types that it does not know", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      const strange = [
        { type: "planet.discovered", mass: 5.97e24, moons: ["Luna"], critical: true as const },
        { ...added("x"), later: { deep: [1, null, "é\u2028\ud83d\ude00"] } },
        added("lone", "\ud800 lone \udfff"),
        { type: "odd.key", ["__proto__"]: 1, "": "", "a\u0000b": "\u0000" },
      ];
      const written = log.append(strange);
      const read = await records(store);
      expect(read.slice(1)).toEqual(written);
      expect(read.slice(1).map(({ seq: _seq, at: _at, v: _v, ...rest }) => rest)).toEqual(strange);
      await store.close();
    });

    it("does not let a draft decide its own seq", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      log.append([{ ...added("copied"), seq: 77, crc: "00000000" }]);
      expect(await seqs(store)).toEqual([0, 1]);
      await store.close();
    });

    it("reads ranges forwards and backwards", async () => {
      const store = await fresh();
      await threadWith(store, range(0, 50).map((n) => added(`i${n}`)));
      expect(await seqs(store)).toEqual(range(0, 51));
      expect(await seqs(store, ROOT, { from: 10, before: 20 })).toEqual(range(10, 20));
      expect(await seqs(store, ROOT, { from: 10, before: 20, order: "backward" })).toEqual(range(10, 20).reverse());
      expect(await seqs(store, ROOT, { before: 3, order: "backward" })).toEqual([2, 1, 0]);
      expect(await seqs(store, ROOT, { from: 49 })).toEqual([49, 50]);
      expect(await seqs(store, ROOT, { from: 51 })).toEqual([]);
      expect(await seqs(store, ROOT, { before: 0 })).toEqual([]);
      expect(await seqs(store, ROOT, { from: 20, before: 10, order: "backward" })).toEqual([]);
      await store.close();
    });

    it("stops reading when the reader has enough", async () => {
      const store = await fresh();
      await threadWith(store, range(0, 50).map((n) => added(`i${n}`)));
      for await (const record of store.read(ROOT, { order: "backward" })) {
        expect(record.seq).toBe(50);
        break;
      }
      await store.close();
    });

    it("orders by seq, whatever the clock does", async () => {
      const times = ["2030-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z", "2026-06-01T00:00:00.000Z", "1999-01-01T00:00:00.000Z"];
      let asked = 0;
      const store = await make(() => times[asked++ % times.length]!);
      await threadWith(store, []);
      for (const n of range(0, 3)) {
        const { log } = await mustOpen(store);
        await appended(log, [added(`a${n}`), added(`b${n}`)]);
        await log.close();
      }
      expect(await seqs(store)).toEqual(range(0, 7));
      expect(await seqs(store, ROOT, { order: "backward" })).toEqual(range(0, 7).reverse());
      await store.close();
    });

    it("has one writer a thread, says who it is, and lets the next one go on where it ended", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      const refused = await store.open(ROOT);
      expect(refused).toMatchObject({ ok: false, why: "busy", owner: { pid: process.pid, host: "testhost", socket: null } });
      log.append([added("a")]);
      await log.close();
      const { log: next } = await mustOpen(store);
      expect(next.head).toBe(2);
      expect(next.append([added("b")])[0]!.seq).toBe(2);
      expect(await store.open(ROOT)).toMatchObject({ ok: false, why: "busy" });
      await next.close();
      await next.close();
      expect(await seqs(store)).toEqual([0, 1, 2]);
      await store.close();
    });

    it("accepts nothing on a closed log", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      await log.close();
      expect(() => log.append([added("late")])).toThrow(StoreFault);
      expect(await seqs(store)).toEqual([0]);
      await store.close();
    });

    it("refuses to call durable what was not written", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      await expect(log.durable(1)).rejects.toThrow(/was not written/u);
      await store.close();
    });

    it("knows nothing of a thread that is not there", async () => {
      const store = await fresh();
      expect(await store.open(ROOT)).toMatchObject({ ok: false, why: "not_found" });
      expect(await store.header(ROOT)).toBeNull();
      expect(await store.head(ROOT)).toBeNull();
      expect(await seqs(store)).toEqual([]);
      expect(await store.find("0")).toEqual([]);
      expect(await store.active()).toBeNull();
      await expect(store.remove(ROOT)).rejects.toMatchObject({ code: "not_found" });
      await expect(store.blobs.put(ROOT, new Uint8Array(1))).rejects.toMatchObject({ code: "not_found" });
      await store.close();
    });

    it("does not create a thread twice", async () => {
      const store = await fresh();
      await threadWith(store, [added("kept")]);
      await expect(store.create(ROOT, created())).rejects.toMatchObject({ code: "exists", poisoned: false });
      expect(await seqs(store)).toEqual([0, 1]);
      await store.close();
    });

    it("starts a fork at the seq where it leaves its base, and parent appends never change it", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      log.append(range(0, 9).map((n) => added(`p${n}`)));
      const fork = threadId(1);
      const forked = await store.create(fork, created(fork, { thread: ROOT, before: 4 }));
      expect(forked.head).toBe(5);
      forked.append([added("f")]);
      const before = loaded(await everything(store, [ROOT, fork]), fork);
      log.append([added("later in the parent")]);
      expect(await seqs(store, fork)).toEqual([4, 5]);
      expect(await store.header(fork)).toMatchObject({ seq: 4, base: { thread: ROOT, before: 4 } });
      expect(loaded(await everything(store, [ROOT, fork]), fork)).toEqual(before);
      await store.close();
    });

    it("does not fork from what is not there yet", async () => {
      const store = await fresh();
      await threadWith(store, [added("a")]);
      const fork = threadId(1);
      await expect(store.create(fork, created(fork, { thread: ROOT, before: 3 }))).rejects.toMatchObject({ code: "bad_base" });
      await expect(store.create(fork, created(fork, { thread: threadId(9), before: 1 }))).rejects.toMatchObject({ code: "not_found" });
      expect(await store.header(fork)).toBeNull();
      expect(await store.find("")).toEqual([ROOT]);
      await store.close();
    });

    it("keeps blobs, also for forks of forks", async () => {
      const store = await fresh();
      await threadWith(store, [added("a")]);
      const content = new Uint8Array([0, 255, 10, 13, 128]);
      const ref = await store.blobs.put(ROOT, content);
      expect(ref).toEqual({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/u) as string, bytes: 5 });
      expect(await store.blobs.put(ROOT, content)).toEqual(ref);
      const [fork, forkOfFork] = [threadId(1), threadId(2)];
      await (await store.create(fork, created(fork, { thread: ROOT, before: 2 }))).close();
      await (await store.create(forkOfFork, created(forkOfFork, { thread: fork, before: 3 }))).close();
      expect([...(await store.blobs.get(forkOfFork, ref))!]).toEqual([...content]);
      expect(await store.blobs.get(forkOfFork, { sha256: "0".repeat(64), bytes: 1 })).toBeNull();
      expect(await store.blobs.get(ROOT, { sha256: "../../../etc/passwd", bytes: 1 })).toBeNull();
      await store.close();
    });

    it("keeps the text being streamed for the next writer, until it is cleared", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      log.live.add({ id: "m1", kind: "message", delta: "Hello, " });
      log.live.add({ id: "r1", kind: "reasoning", delta: "hm" });
      log.live.add({ id: "m1", kind: "message", delta: "wörld\n" });
      await log.close();
      const opened = await mustOpen(store);
      expect(opened.live).toEqual([
        { id: "m1", kind: "message", text: "Hello, wörld\n" },
        { id: "r1", kind: "reasoning", text: "hm" },
      ]);
      await opened.log.close();
      const again = await mustOpen(store);
      expect(again.live).toHaveLength(2);
      again.log.live.clear();
      again.log.live.clear();
      again.log.live.add({ id: "m2", kind: "message", delta: "new" });
      await again.log.close();
      const last = await mustOpen(store);
      expect(last.live).toEqual([{ id: "m2", kind: "message", text: "new" }]);
      await store.close();
    });

    it("follows a thread from a cursor while it is written", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      log.append([added("one"), added("two")]);
      const stop = new AbortController();
      const seen: number[] = [];
      const following = (async () => {
        for await (const record of store.follow(ROOT, 1, stop.signal)) {
          seen.push(record.seq);
          if (record.seq === 40) stop.abort();
        }
      })();
      for (const n of range(3, 41)) {
        log.append([added(`n${n}`)]);
        if (n % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await following;
      expect(seen).toEqual(range(1, 41));
      await store.close();
    });

    it("ends following when it is told to, also while nothing happens", async () => {
      const store = await fresh();
      await threadWith(store, []);
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 20);
      const seen: number[] = [];
      for await (const { seq } of store.follow(ROOT, 0, stop.signal)) seen.push(seq);
      expect(seen).toEqual([0]);
      await expect(store.follow(threadId(9), 0, stop.signal)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "not_found" });
      await store.close();
    });

    it("finds threads by the beginning of their id and knows the last one opened", async () => {
      const store = await fresh();
      for (const n of range(0, 25)) await threadWith(store, [], threadId(n));
      expect(await store.active()).toBe(threadId(24));
      await (await mustOpen(store, threadId(3))).log.close();
      expect(await store.active()).toBe(threadId(3));
      expect(await store.find(threadId(7))).toEqual([threadId(7)]);
      expect(await store.find(threadId(7).slice(0, -1))).toEqual(range(0, 10).map(threadId));
      expect(await store.find("")).toHaveLength(20);
      expect(await store.find("nothing")).toEqual([]);
      await store.archive(threadId(7));
      expect(await store.find(threadId(7))).toEqual([threadId(7)]);
      await store.close();
    });

    it("lists newest first, in pages, archived ones apart", async () => {
      const store = await fresh();
      for (const n of range(0, 5)) await threadWith(store, [{ type: "thread.described", title: n === 3 ? "Third Rail" : `thread ${n}` }], threadId(n));
      await store.archive(threadId(1));
      const first = await store.list({ limit: 2 });
      expect(first.items.map(({ id }) => id)).toEqual([threadId(4), threadId(3)]);
      const second = await store.list({ limit: 2, cursor: first.next });
      expect(second.items.map(({ id }) => id)).toEqual([threadId(2), threadId(0)]);
      expect(second.next).toBeNull();
      expect((await store.list({ archived: true })).items.map(({ id }) => id)).toEqual([threadId(1)]);
      expect((await store.list({ text: "third" })).items.map(({ title }) => title)).toEqual(["Third Rail"]);
      expect((await store.list({ provider: ["nobody"] })).items).toEqual([]);
      expect((await store.list({ cwd: SETTINGS.cwd, source: ["exec"], provider: ["openai"] })).items).toHaveLength(4);
      await store.close();
    });

    it("searches what was said", async () => {
      const store = await fresh();
      await threadWith(store, [queued("a", "where is the Needle?"), added("b", "in the haystack")]);
      const { items } = await store.search({ text: "needle" });
      expect(items.map(({ thread, seq, kind }) => ({ thread, seq, kind }))).toEqual([{ thread: ROOT, seq: 1, kind: "user" }]);
      expect((await store.search({ text: "haystack" })).items).toHaveLength(1);
      expect((await store.search({ text: "camel" })).items).toEqual([]);
      await store.close();
    });

    it("archives and takes out again without losing anything, but not while somebody writes", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      await expect(store.archive(ROOT)).rejects.toMatchObject({ code: "busy" });
      await log.close();
      await store.archive(ROOT);
      await store.archive(ROOT);
      expect(await seqs(store)).toEqual([0]);
      const { log: again } = await mustOpen(store);
      again.append([added("a")]);
      await again.close();
      await store.unarchive(ROOT);
      expect(await seqs(store)).toEqual([0, 1]);
      await store.close();
    });

    it("removes a thread, but keeps what its forks stand on until the last of them goes", async () => {
      const store = await fresh();
      await threadWith(store, range(0, 9).map((n) => added(`p${n}`)));
      const [early, late] = [threadId(1), threadId(2)];
      await (await store.create(early, created(early, { thread: ROOT, before: 3 }))).close();
      await (await store.create(late, created(late, { thread: ROOT, before: 6 }))).close();
      const ref = await store.blobs.put(ROOT, Buffer.from("named by nobody"));
      const before = loaded(await everything(store, [ROOT, early, late]), late);
      await store.remove(ROOT);
      expect(await store.open(ROOT)).toMatchObject({ ok: false, why: "not_found" });
      expect(await store.find("")).toEqual([early, late]);
      expect((await store.list({})).items.map(({ id }) => id)).toEqual([late, early]);
      expect(await store.active()).toBe(late);
      await expect(store.remove(ROOT)).rejects.toMatchObject({ code: "not_found" });
      expect(await seqs(store)).toEqual(range(0, 6));
      expect(await store.header(ROOT)).toMatchObject({ seq: 0 });
      expect(loaded(await everything(store, [ROOT, early, late]), late)).toEqual(before);
      await store.remove(late);
      expect(await store.header(ROOT)).not.toBeNull();
      await store.remove(early);
      expect(await store.header(ROOT)).toBeNull();
      expect(await store.find("")).toEqual([]);
      expect(await store.blobs.get(ROOT, ref)).toBeNull();
      await store.close();
    });

    it("does not remove what somebody writes", async () => {
      const store = await fresh();
      const log = await store.create(ROOT, created());
      await expect(store.remove(ROOT)).rejects.toMatchObject({ code: "busy" });
      log.append([added("still there")]);
      expect(await seqs(store)).toEqual([0, 1]);
      await store.close();
    });
  });
}

async function everything(store: Store, threads: readonly string[]): Promise<Map<string, LogRecord[]>> {
  return new Map(await Promise.all(threads.map(async (thread) => [thread, await records(store, thread)] as const)));
}

/** The state at the end of a thread, from logs in memory. */
function loaded(logs: ReadonlyMap<string, LogRecord[]>, thread: string): unknown {
  const head = logs.get(thread)!.at(-1)!.seq + 1;
  return runReads(load({ thread, before: head }), (need) => {
    const log = logs.get(need.thread) ?? [];
    return need.kind === "header" ? log.slice(0, 1) : log.filter(({ seq }) => seq < need.before).toReversed();
  });
}
