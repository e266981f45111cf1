import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encode } from "../../src/protocol/codec.ts";
import { realFiles } from "../../src/stores/file/files.ts";
import { sealLine, sealOf } from "../../src/stores/file/line.ts";
import { inOrder, inOrderBackward } from "../../src/stores/file/order.ts";
import { linesBackward, linesForward, readCounters, scanForward, type LogFile, type ScannedLine } from "../../src/stores/file/scan.ts";
import { offsetOf } from "../../src/stores/file/seek.ts";
import { added, appended, created, newHome, range, records, ROOT, seqs, sized, storeAt } from "./given.ts";

const SEAL = sealOf(ROOT);
const line = (seq: number, size: number) => sealLine(encode(sized(`i${seq}`, size), { seq, at: "2026-01-31T09:00:00.000Z" }), SEAL);

function withLog<T>(content: Buffer, use: (log: LogFile) => T): T {
  const path = join(newHome(), "log");
  writeFileSync(path, content);
  const fd = realFiles.open(path, "read");
  try {
    return use({ files: realFiles, fd, seal: SEAL });
  } finally {
    realFiles.close(fd);
  }
}
const isGood = (found: ScannedLine) => found.ok;

/** Lines of a log: good ones of any size, and damage of any kind between them. */
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.record({ good: fc.constant(true), size: fc.oneof(fc.nat(300), fc.nat(60_000)) }) },
  { weight: 1, arbitrary: fc.record({ good: fc.constant(false), size: fc.oneof(fc.nat(300), fc.nat(60_000)) }) },
);

describe("scanning", () => {
  it("gives the same lines forwards and backwards, whatever they are, and never the incomplete one", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.nat(200_000), (pieces, tail) => {
        const content = Buffer.concat([...pieces.map(({ good, size }, seq) => (good ? line(seq, size) : Buffer.concat([Buffer.alloc(size, "{"), Buffer.from("\n")]))), Buffer.alloc(tail, "x")]);
        withLog(content, (log) => {
          const forward = [...linesForward(log, { from: 0 })];
          expect(forward).toHaveLength(pieces.length);
          expect(forward.map(isGood)).toEqual(pieces.map(({ good }) => good));
          expect([...linesBackward(log)].reverse()).toEqual(forward);
          expect(forward.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(content.length - tail);
        });
      }),
      { numRuns: 60 },
    );
  });

  it("goes on from any line's start", () => {
    const content = Buffer.concat(range(0, 20).map((seq) => line(seq, seq * 100)));
    withLog(content, (log) => {
      const all = [...linesForward(log, { from: 0 })];
      for (const [index, { offset }] of all.entries()) expect([...linesForward(log, { from: offset })]).toEqual(all.slice(index));
    });
  });

  it("is there for others by path", () => {
    const path = join(newHome(), "log");
    writeFileSync(path, Buffer.concat([line(0, 10), Buffer.from("bad\n"), line(2, 10), Buffer.from("incomplete")]));
    expect([...scanForward(path, { thread: ROOT })].map((found) => (found.ok ? found.record.seq : found.why))).toEqual([0, "no checksum", 2]);
    expect([...scanForward(path, { thread: "01900000-other" })].every(({ ok }) => !ok)).toBe(true);
  });
});

describe("seeking", () => {
  it("finds the first record at or after a seq, among bad lines and long ones", () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 60 }), fc.nat(70), (pieces, seq) => {
        const content = Buffer.concat(pieces.map(({ good, size }, at) => (good ? line(at, size) : Buffer.concat([Buffer.alloc(size, "{"), Buffer.from("\n")]))));
        withLog(content, (log) => {
          const expected = [...linesForward(log, { from: 0 })].find((found) => found.ok && found.record.seq >= seq);
          const found = offsetOf(log, seq);
          const rest = [...linesForward(log, { from: found })].filter(isGood);
          if (expected) expect(rest[0]).toEqual(expected);
          else expect(rest).toEqual([]);
        });
      }),
      { numRuns: 150 },
    );
  });

  it("reads as much of a log ten times as long, but for a few probes", async () => {
    const cost = async (lines: number) => {
      const store = storeAt(newHome());
      const log = await store.create(ROOT, created());
      for (let at = 0; at < lines; at += 500) log.append(range(0, 500).map((n) => sized(`i${n}`, 1000)));
      await log.durable(log.head - 1);
      readCounters.bytes = 0;
      const middle = Math.floor(lines / 2);
      expect((await records(store, ROOT, { from: middle, before: middle + 1 })).map(({ seq }) => seq)).toEqual([middle]);
      for await (const { seq } of store.read(ROOT, { order: "backward" })) {
        expect(seq).toBe(lines);
        break;
      }
      expect(await store.head(ROOT)).toBe(lines + 1);
      const { bytes } = readCounters;
      await store.close();
      return bytes;
    };
    const [one, ten] = [await cost(2000), await cost(20_000)];
    expect(ten).toBeLessThan(one + 4 * 64 * 1024);
  });

  it("opens for the price of the end, whatever lies before", async () => {
    const cost = async (lines: number) => {
      const home = newHome();
      const store = storeAt(home);
      const log = await store.create(ROOT, created());
      for (let at = 0; at < lines; at += 500) log.append(range(0, 500).map((n) => sized(`i${n}`, 1000)));
      await log.derive({ metadata: { ...(await storeSummary(home)) }, state: {}, diffs: [] });
      await log.close();
      readCounters.bytes = 0;
      const opened = await store.open(ROOT);
      expect(opened.ok).toBe(true);
      const { bytes } = readCounters;
      await store.close();
      return bytes;
    };
    expect(await cost(10_000)).toBe(await cost(1000));
  });
});

async function storeSummary(home: string) {
  const { summarize } = await import("../../src/stores/file/summary.ts");
  return summarize(home, ROOT)!;
}

describe("order", () => {
  it("holds for any pasting: each seq once, rising, nothing invented, the rest reported", () => {
    const original = range(0, 12).map((seq) => line(seq, 5));
    fc.assert(
      fc.property(fc.array(fc.nat(11), { maxLength: 40 }), (pasted) => {
        withLog(Buffer.concat(pasted.map((index) => original[index]!)), (log) => {
          let damage = 0;
          const onDamage = () => (damage += 1);
          const forward = [...inOrder(linesForward(log, { from: 0 }), { after: null, onDamage })].map(({ record }) => record.seq);
          expect(forward).toEqual([...new Set(forward)].toSorted((a, b) => a - b));
          expect(damage + forward.length).toBe(pasted.length);
          damage = 0;
          const backward = [...inOrderBackward(linesBackward(log), { before: Infinity, onDamage })].map(({ record }) => record.seq);
          expect(backward).toEqual([...new Set(backward)].toSorted((a, b) => b - a));
          expect(damage + backward.length).toBe(pasted.length);
        });
      }),
      { numRuns: 300 },
    );
  });

  it("agrees in both directions after a few lines were pasted anywhere", () => {
    const original = range(0, 60).map((seq) => line(seq, 5));
    fc.assert(
      fc.property(fc.nat(59), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 60 }), (from, count, at) => {
        const block = original.slice(from, from + count);
        withLog(Buffer.concat([...original.slice(0, at), ...block, ...original.slice(at)]), (log) => {
          const forward = [...inOrder(linesForward(log, { from: 0 }), { after: null, onDamage: undefined })].map(({ record }) => record.seq);
          const backward = [...inOrderBackward(linesBackward(log), { before: Infinity, onDamage: undefined })].map(({ record }) => record.seq);
          expect(backward.reverse()).toEqual(forward);
        });
      }),
      { numRuns: 300 },
    );
  });

  it("is kept when a thread is read from a place near pasted lines", async () => {
    const home = newHome();
    const store = storeAt(home);
    const log = await store.create(ROOT, created());
    await appended(log, range(0, 3000).map((n) => added(`i${n}`)));
    await log.close();
    const { readFileSync } = await import("node:fs");
    const path = join(home, "sessions", ROOT, "rollout.jsonl");
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    writeFileSync(path, [...lines.slice(0, 1500), lines[5], ...lines.slice(1500), ""].join("\n"));
    for (const from of [2, 900, 1499, 1500, 1501, 2900]) {
      expect(await seqs(store, ROOT, { from, before: from + 5 })).toEqual(range(from, from + 5));
      expect(await seqs(store, ROOT, { before: from + 5, from, order: "backward" })).toEqual(range(from, from + 5).reverse());
    }
    await store.close();
  });
});
