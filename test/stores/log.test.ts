import { appendFileSync, copyFileSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { StoreFault } from "../../src/core/store.ts";
import { realFiles, type Files } from "../../src/stores/file/files.ts";
import { FaultyFiles } from "./faulty.ts";
import { added, created, logFile, mustOpen, newHome, range, records, ROOT, seqs, sized, storeAt, ticking } from "./given.ts";

async function writing(base: Files = realFiles) {
  const home = newHome();
  const faulty = new FaultyFiles(base);
  const store = storeAt(home, { files: faulty.files });
  const log = await store.create(ROOT, created());
  return { home, faulty, store, log, file: logFile(home) };
}
function faultOf(action: () => unknown): StoreFault {
  try {
    action();
  } catch (error) {
    if (error instanceof StoreFault) return error;
    throw error;
  }
  throw new Error("there was no fault");
}

describe("a line", () => {
  it("is the record's text and its checksum, as the format says", async () => {
    const { log, file } = await writing();
    log.append([{ type: "item.added", id: "x", item: { type: "note", text: "é" } }]);
    expect(readFileSync(file, "utf8").split("\n")[1]).toBe('{"v":1,"seq":1,"at":"2026-01-31T09:00:03.000Z","type":"item.added","id":"x","item":{"type":"note","text":"é"},"crc":"ede519f5"}');
    await log.close();
  });
});

describe("a write that fails", () => {
  it.each(["ENOSPC", "EIO", "short_write"] as const)("with %s is cut off again; nothing was acknowledged and the log goes on", async (kind) => {
    const { log, faulty, store, file } = await writing();
    log.append([added("a")]);
    const { size } = statSync(file);
    faulty.arm(kind, kind === "EIO" ? 1 : 0);
    const fault = faultOf(() => log.append([added("lost"), added("lost too")]));
    expect(fault).toMatchObject({ code: kind, poisoned: false });
    expect(fault.message).toMatch(/Nothing of it was written/u);
    expect([log.head, log.bytes, statSync(file).size]).toEqual([2, size, size]);
    expect(log.append([added("b")])[0]!.seq).toBe(2);
    await log.durable(2);
    expect(await seqs(store)).toEqual([0, 1, 2]);
    await store.close();
  });

  it("and cannot be cut off poisons the log; opening again mends it", async () => {
    const { log, faulty, store } = await writing({
      ...realFiles,
      truncate: (fd, length) => {
        if (failing) throw Object.assign(new Error("EIO"), { code: "EIO" });
        realFiles.truncate(fd, length);
      },
    });
    let failing = true;
    log.append([added("a")]);
    faulty.arm("short_write");
    expect(faultOf(() => log.append([sized("lost", 5000)]))).toMatchObject({ code: "short_write", poisoned: true });
    expect(faultOf(() => log.append([added("b")]))).toMatchObject({ poisoned: true });
    await expect(log.durable(1)).rejects.toMatchObject({ poisoned: true });
    await log.close();
    failing = false;
    const { log: again, repairs } = await mustOpen(store);
    expect(repairs).toEqual([expect.stringMatching(/cut off/u)]);
    expect(again.append([added("b")])[0]!.seq).toBe(2);
    expect(await seqs(store)).toEqual([0, 1, 2]);
    await store.close();
  });
});

describe("durable", () => {
  it("shares syncs: one in flight, and all who wait meanwhile share the next", async () => {
    let syncs = 0;
    const release: (() => void)[] = [];
    let held = false;
    const { log, store } = await writing({
      ...realFiles,
      sync: (fd) => {
        syncs += 1;
        return held ? new Promise((resolve) => release.push(resolve)) : realFiles.sync(fd);
      },
    });
    syncs = 0;
    held = true;
    const done: number[] = [];
    const wait = (seq: number) => log.durable(seq).then(() => done.push(seq));
    log.append([added("1")]);
    const first = wait(1);
    const later = range(2, 50).map((seq) => {
      log.append([added(String(seq))]);
      return wait(seq);
    });
    expect(syncs).toBe(1);
    release.shift()!();
    await first;
    expect([syncs, done]).toEqual([2, [1]]);
    release.shift()!();
    await Promise.all(later);
    expect(done).toEqual(range(1, 50));
    await log.durable(7);
    expect(syncs).toBe(2);
    held = false;
    await store.close();
  });

  it("that fails poisons the log and everybody who waits; what was durable stays so", async () => {
    const { log, faulty, store } = await writing();
    log.append([added("a")]);
    await log.durable(1);
    log.append([added("b"), added("c")]);
    faulty.arm("EIO");
    const outcomes = await Promise.allSettled([log.durable(2), log.durable(3), log.durable(1)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect((outcomes[0] as PromiseRejectedResult).reason).toMatchObject({ code: "EIO", poisoned: true });
    expect(faultOf(() => log.append([added("d")]))).toMatchObject({ poisoned: true });
    await expect(log.durable(3)).rejects.toMatchObject({ poisoned: true });
    await log.close();
    const { log: again, repairs } = await mustOpen(store);
    expect(repairs).toEqual([expect.stringMatching(/were written again/u)]);
    expect(again.append([added("d")])[0]!.seq).toBe(4);
    await again.durable(4);
    expect(await seqs(store)).toEqual(range(0, 5));
    await again.close();
    expect((await mustOpen(store)).repairs).toEqual([]);
    await store.close();
  });

  it("is what closing leaves", async () => {
    let syncs = 0;
    const { log } = await writing({
      ...realFiles,
      sync: (fd) => {
        syncs += 1;
        return realFiles.sync(fd);
      },
    });
    syncs = 0;
    log.append([added("a")]);
    await log.close();
    expect(syncs).toBe(1);
  });
});

describe("a foreign writer", () => {
  it.each([
    ["appends", (file: string) => appendFileSync(file, "{}\n")],
    ["removes the file", (file: string) => rmSync(file)],
    [
      "replaces the file",
      (file: string) => {
        copyFileSync(file, `${file}.new`);
        renameSync(`${file}.new`, file);
      },
    ],
  ])("who %s is noticed before anything is written", async (_what, meddle) => {
    const { log, store, file } = await writing();
    log.append([added("a")]);
    meddle(file);
    const fault = faultOf(() => log.append([added("b")]));
    expect(fault).toMatchObject({ code: "foreign_writer", poisoned: true });
    expect(fault.message).toMatch(/open the thread again/u);
    expect(faultOf(() => log.append([added("c")]))).toBe(fault);
    await log.close();
    const { log: again } = await mustOpen(store);
    again.append([added("goes on")]);
    await store.close();
  });
});

describe("sizes", () => {
  it("a 100 MB item survives; a larger record is refused clearly and nothing is written", async () => {
    const { log, store } = await writing();
    const big = "0123456789abcdef".repeat((100 * 1024 * 1024) / 16);
    log.append([added("before"), added("big", big), added("after")]);
    const bytes = log.bytes;
    const fault = faultOf(() => log.append([added("fits"), added("huge", "x".repeat(128 * 1024 * 1024))]));
    expect(fault).toMatchObject({ code: "too_large", poisoned: false });
    expect(fault.message).toMatch(/128 MiB.*Nothing was written/u);
    expect(log.bytes).toBe(bytes);
    log.append([added("last")]);
    const read = await records(store);
    expect(read.map(({ seq }) => seq)).toEqual(range(0, 5));
    expect((read[2] as unknown as { item: { content: { text: string }[] } }).item.content[0]!.text === big).toBe(true);
    await log.close();
    expect(await store.head(ROOT)).toBe(5);
    await store.close();
  });

  it("long lines are read and found in both directions", async () => {
    const { log, store } = await writing();
    const sizes = [10, 3_000_000, 20, 700_000, 300_000, 5, 9_000_000, 1];
    log.append(sizes.map((size, index) => sized(`i${index}`, size)));
    const all = range(0, sizes.length + 1);
    expect(await seqs(store)).toEqual(all);
    expect(await seqs(store, ROOT, { order: "backward" })).toEqual(all.toReversed());
    for (const at of all) {
      expect(await seqs(store, ROOT, { from: at, before: at + 1 })).toEqual([at]);
      expect(await seqs(store, ROOT, { before: at, order: "backward", from: at - 1 })).toEqual(at === 0 ? [] : [at - 1]);
    }
    await log.close();
    expect((await mustOpen(store)).log.head).toBe(sizes.length + 1);
    await store.close();
  });

  it("a record that is no record is an error of the caller, and nothing is written", async () => {
    const { log, store } = await writing();
    expect(() => log.append([added("a"), { id: "no type" } as never])).toThrow(TypeError);
    expect(await seqs(store)).toEqual([0]);
    await store.close();
  });
});

describe("the clock", () => {
  it("may stand still or jump; it stamps and orders nothing", async () => {
    const home = newHome();
    const jumps = [5e12, 0, 1.7e12, 1.7e12];
    const ordered = ticking();
    const store = storeAt(home, { now: () => (jumps.length > 0 ? new Date(jumps.shift()!).toISOString() : ordered()) });
    const log = await store.create(ROOT, created());
    for (const n of range(0, 5)) log.append([added(`i${n}`)]);
    expect(await seqs(store)).toEqual(range(0, 6));
    await store.close();
  });
});
