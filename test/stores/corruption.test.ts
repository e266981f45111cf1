/** Every byte of a real log is changed in several ways: no crash, nothing undetected, at most one record lost (two on a newline). */
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Draft, LogRecord } from "../../src/protocol/record.ts";
import { realFiles } from "../../src/stores/file/files.ts";
import { homeAt } from "../../src/stores/file/layout.ts";
import { locate, readThread } from "../../src/stores/file/reader.ts";
import { quickFiles } from "./faulty.ts";
import { added, folderOf, logFile, newHome, queued, range, ROOT, storeAt, threadWith } from "./given.ts";

const DRAFTS: Draft[] = range(0, 40).map((n) => (n % 5 === 0 ? queued(`op${n}`, `größer ${n} 🧵`) : n % 7 === 0 ? { type: "unknown.kind", n, list: [n, "}", "\n"] } : added(`i${n}`, `said "${n}"`)));
const NEWLINE = 0x0a;

/** CI changes each byte in two ways, which differ from byte to byte; `CORRUPTIONS=all` in all 255. */
const changesOf = (byte: number, position: number): number[] => {
  const values = process.env["CORRUPTIONS"] === "all" ? range(0, 256) : [byte ^ (1 << (position % 8)), position % 3 === 0 ? 0x20 : NEWLINE];
  return [...new Set(values)].filter((value) => value !== byte);
};

async function realLog() {
  const home = newHome();
  const store = storeAt(home);
  await threadWith(store, DRAFTS);
  const opened = await store.open(ROOT);
  if (opened.ok) await opened.log.close();
  return { home, bytes: readFileSync(logFile(home)), place: locate(homeAt(home), ROOT, realFiles)! };
}

it("a reader loses at most the record that was hit, and says so", async () => {
  const { home, bytes, place } = await realLog();
  const read = (order: "forward" | "backward") => {
    const damage: string[] = [];
    const found = [...readThread(place, { order, onDamage: ({ why }) => damage.push(why) }, realFiles)].map(({ record }) => record);
    return { found, damage };
  };
  const original = new Map(read("forward").found.map((record) => [record.seq, JSON.stringify(record)]));
  expect(original.size).toBe(41);
  const fd = openSync(logFile(home), "r+");
  let changes = 0;
  for (const [position, byte] of bytes.entries()) {
    for (const value of changesOf(byte, position)) {
      changes += 1;
      writeSync(fd, Buffer.from([value]), 0, 1, position);
      const isLast = position === bytes.length - 1;
      for (const order of ["forward", "backward"] as const) {
        const { found, damage } = read(order);
        const lost = original.size - found.length;
        if (found.some((record) => original.get(record.seq) !== JSON.stringify(record)) || new Set(found.map(({ seq }) => seq)).size !== found.length) {
          expect.fail(`byte ${position} as ${value}, ${order}: a record was read that was not written`);
        }
        if (lost < 0 || lost > (byte === NEWLINE ? 2 : 1)) expect.fail(`byte ${position} as ${value}, ${order}: lost ${lost}`);
        if (damage.length === 0 && !isLast) expect.fail(`byte ${position} as ${value}, ${order}: undetected`);
      }
    }
    writeSync(fd, Buffer.from([byte]), 0, 1, position);
  }
  closeSync(fd);
  expect(changes).toBeGreaterThanOrEqual(10_000);
  expect(readFileSync(logFile(home)).equals(bytes)).toBe(true);
}, 600_000);

it("a writer opens it, keeps everything that can be read, and gives no seq twice", async () => {
  const { home, bytes } = await realLog();
  const kept = ["metadata.json", "state.json"].map((name) => [name, readFileSync(join(folderOf(home), name))] as const);
  const positions = range(0, bytes.length).filter((at) => at % 29 === 0 || bytes[at] === NEWLINE || at > bytes.length - 150 || at < 50);
  for (const position of positions) {
    for (const value of changesOf(bytes[position]!, position).slice(0, 3)) {
      const changed = Buffer.from(bytes);
      changed[position] = value;
      rmSync(folderOf(home), { recursive: true });
      mkdirSync(folderOf(home));
      for (const [name, content] of kept) writeFileSync(join(folderOf(home), name), content);
      writeFileSync(logFile(home), changed);
      const store = storeAt(home, { files: quickFiles });
      const what = `byte ${position} as ${value}`;
      const opened = await store.open(ROOT);
      if (!opened.ok) throw new Error(`${what}: ${opened.message}`);
      const { log, repairs } = opened;
      if (log.head < 41) expect.fail(`${what}: seq ${log.head} is given again`);
      const [written] = log.append([added("goes on")]);
      await log.close();
      const seqs: number[] = [];
      const records: LogRecord[] = [];
      for await (const record of store.read(ROOT, {})) {
        seqs.push(record.seq);
        records.push(record);
      }
      if (seqs.length < 40 || new Set(seqs).size !== seqs.length) expect.fail(`${what}: read ${seqs.join(" ")}`);
      expect(records.at(-1)).toEqual(written);
      if (position === bytes.length - 1) expect(repairs, what).toHaveLength(1);
      await store.close();
    }
  }
  expect(readdirSync(folderOf(home))).toContain("rollout.jsonl");
}, 600_000);
