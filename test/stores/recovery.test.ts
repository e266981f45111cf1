import { appendFileSync, copyFileSync, cpSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Damage } from "../../src/core/store.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { encode } from "../../src/protocol/codec.ts";
import { sealLine, sealOf } from "../../src/stores/file/line.ts";
import { added, appended, created, folderOf, logFile, mustOpen, newHome, range, records, ROOT, seqs, SETTINGS, storeAt, threadId, threadWith, tornFiles } from "./given.ts";

const TEN = range(1, 11).map((n) => added(`i${n}`, `text ${n}`));

/** A closed thread of a header and ten records, and its lines. */
async function ten() {
  const home = newHome();
  const store = storeAt(home);
  await threadWith(store, TEN);
  const file = logFile(home);
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1).map((text) => `${text}\n`);
  return { home, store, file, lines, original: await records(store) };
}

function spoil(text: string): string {
  return text.replace('"type"', '"tyqe"');
}
function line(seq: number, thread = ROOT): string {
  return sealLine(encode(added(`i${seq}`, `text ${seq}`), { seq, at: "2026-01-31T09:00:00.000Z" }), sealOf(thread)).toString();
}

describe("a torn tail", () => {
  it("is kept beside the log, cut off and reported; its seq is given again", async () => {
    const { home, store, file, original } = await ten();
    const torn = '{"v":1,"seq":11,"at":"2026-01-31T09:00';
    appendFileSync(file, torn);
    expect(await records(store)).toEqual(original);
    expect(await store.head(ROOT)).toBe(11);
    const { log, repairs } = await mustOpen(store);
    expect(repairs).toHaveLength(1);
    expect(repairs[0]).toMatch(/last 38 bytes .* rollout\.jsonl\.torn-/u);
    expect(tornFiles(home).map(String)).toEqual([torn]);
    expect((await appended(log, [added("next")]))[0]!.seq).toBe(11);
    await log.close();
    expect((await mustOpen(store)).repairs).toEqual([]);
    expect(await seqs(store)).toEqual(range(0, 12));
    await store.close();
  });

  it("never overwrites one that was kept before", async () => {
    const { home, file } = await ten();
    for (const torn of ["{one", "{two", "{three"]) {
      appendFileSync(file, torn);
      const store = storeAt(home, { now: () => "2026-01-31T09:00:00.000Z" });
      await mustOpen(store);
      await store.close();
    }
    expect(tornFiles(home).map(String).toSorted()).toEqual(["{one", "{three", "{two"]);
  });

  it("that is a whole record without its newline loses nothing", async () => {
    for (const ending of ["", "X", "\u0000"]) {
      const { home, store, file, original } = await ten();
      truncateSync(file, readFileSync(file).length - 1);
      appendFileSync(file, ending);
      expect(await seqs(store)).toEqual(range(0, 10));
      const { log, repairs } = await mustOpen(store);
      expect(repairs[0]).toMatch(/lost its newline/u);
      expect(await records(store)).toEqual(original);
      expect(log.append([added("next")])[0]!.seq).toBe(11);
      expect(tornFiles(home)).toHaveLength(1);
      await store.close();
    }
  });

  it("of zeros, as a power cut may leave, is cut off", async () => {
    const { store, file, original } = await ten();
    appendFileSync(file, Buffer.alloc(9000));
    const { log } = await mustOpen(store);
    expect(log.head).toBe(11);
    expect(await records(store)).toEqual(original);
    await store.close();
  });
});

describe("a bad line", () => {
  it("in the middle is left out and reported with its place; everything else is read", async () => {
    const { store, file, lines, original } = await ten();
    writeFileSync(file, lines.map((text, index) => (index === 4 ? spoil(text) : text)).join(""));
    const offset = Buffer.byteLength(lines.slice(0, 4).join(""));
    for (const order of ["forward", "backward"] as const) {
      const damage: Damage[] = [];
      const read = await records(store, ROOT, { order, onDamage: (found) => damage.push(found) });
      expect(read.toSorted((a, b) => a.seq - b.seq)).toEqual(original.filter(({ seq }) => seq !== 4));
      expect(damage).toEqual([{ offset, bytes: Buffer.byteLength(lines[4]!), why: "checksum mismatch" }]);
    }
    const { log, repairs } = await mustOpen(store);
    expect([log.head, repairs]).toEqual([11, []]);
    await store.close();
  });

  it("at the end may have been acknowledged: it stays, and its seq is not given again", async () => {
    const { store, file, lines } = await ten();
    writeFileSync(file, lines.map((text, index) => (index >= 9 ? spoil(text) : text)).join(""));
    expect(await store.head(ROOT)).toBe(11);
    const { log, repairs } = await mustOpen(store);
    expect(repairs).toEqual([expect.stringMatching(/is damaged \(checksum mismatch\)/u), expect.stringMatching(/is damaged/u)]);
    expect(log.append([added("next")])[0]!.seq).toBe(11);
    expect(await seqs(store)).toEqual([...range(0, 9), 11]);
    expect(await seqs(store, ROOT, { order: "backward" })).toEqual([...range(0, 9), 11].reverse());
    await store.close();
  });

  it("that holds two records because the newline between them went, counts as two", async () => {
    const { store, file, lines } = await ten();
    const text = lines.join("");
    writeFileSync(file, `${text.slice(0, text.length - lines[10]!.length - 1)} ${lines[10]}`);
    expect(await seqs(store)).toEqual(range(0, 9));
    expect((await mustOpen(store)).log.head).toBe(11);
    await store.close();
  });

  it("of invalid UTF-8, of no JSON, of nothing, or without a checksum is damage, never a crash", async () => {
    const { store, file, original } = await ten();
    const noCrc = `${encode(added("forged"), { seq: 11, at: "2026-01-31T09:00:00.000Z" })}\n`;
    appendFileSync(file, Buffer.concat([Buffer.from([0xff, 0xfe, 0x0a, 0x0a]), Buffer.from("[]\nnull\n{}\n"), Buffer.from(noCrc)]));
    const damage: string[] = [];
    expect(await records(store, ROOT, { onDamage: ({ why }) => damage.push(why) })).toEqual(original);
    expect(damage).toHaveLength(6);
    expect((await mustOpen(store)).repairs).toHaveLength(6);
    await store.close();
  });

  it("longer than any record can be is passed over, in both directions", async () => {
    const { store, file, original } = await ten();
    appendFileSync(file, Buffer.alloc(129 * 1024 * 1024, "x"));
    appendFileSync(file, `\n${line(12)}`);
    for (const order of ["forward", "backward"] as const) {
      const damage: Damage[] = [];
      const read = await records(store, ROOT, { order, onDamage: (found) => damage.push(found) });
      expect(read.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual([...original.map(({ seq }) => seq), 12]);
      expect(damage).toEqual([{ offset: expect.any(Number) as number, bytes: 129 * 1024 * 1024 + 1, why: "longer than any record" }]);
    }
    await store.close();
  });

  it("signed for another thread is not of this one", async () => {
    const { store, file, original } = await ten();
    appendFileSync(file, line(11, threadId(5)));
    expect(await records(store)).toEqual(original);
    await store.close();
  });
});

describe("lines that are not where they belong", () => {
  const both = async (store: ReturnType<typeof storeAt>) => {
    const forward: string[] = [];
    const backward: string[] = [];
    const read = await records(store, ROOT, { onDamage: ({ why }) => forward.push(why) });
    const back = await records(store, ROOT, { order: "backward", onDamage: ({ why }) => backward.push(why) });
    expect(back.toReversed()).toEqual(read);
    expect(backward.toSorted()).toEqual(forward.toSorted());
    return { read, damage: forward };
  };

  const cases: [string, (lines: string[]) => string[], number][] = [
    ["a line pasted twice", (l) => [...l.slice(0, 6), l[5]!, ...l.slice(6)], 1],
    ["an old line pasted at the end", (l) => [...l, l[2]!], 1],
    ["old lines pasted in the middle", (l) => [...l.slice(0, 8), l[1]!, l[2]!, l[3]!, ...l.slice(8)], 3],
    ["a later line pasted too early", (l) => [...l.slice(0, 3), l[9]!, ...l.slice(3)], 1],
    ["later lines pasted too early", (l) => [...l.slice(0, 3), l[8]!, l[9]!, ...l.slice(3)], 2],
    ["the whole log twice", (l) => [...l, ...l], 11],
  ];
  it.each(cases)("%s: every record is read once, in order, and the rest is damage", async (_name, change, strays) => {
    const { store, file, lines, original } = await ten();
    writeFileSync(file, change(lines).join(""));
    const { read, damage } = await both(store);
    expect(read).toEqual(original);
    expect(damage).toHaveLength(strays);
    expect(damage.every((why) => why.includes("not where it belongs"))).toBe(true);
    expect((await mustOpen(store)).log.head).toBe(11);
    await store.close();
  });

  it("of two records with one seq the first wins", async () => {
    const { store, file, lines } = await ten();
    const other = sealLine(encode(added("other"), { seq: 5, at: "2026-01-31T09:00:00.000Z" }), sealOf(ROOT)).toString();
    writeFileSync(file, [...lines.slice(0, 6), other, ...lines.slice(6)].join(""));
    const { read } = await both(store);
    expect(read[5]).toMatchObject({ seq: 5, id: "i5" });
    await store.close();
  });

  it("two swapped lines lose one record", async () => {
    const { store, file, lines } = await ten();
    writeFileSync(file, [...lines.slice(0, 5), lines[6], lines[5], ...lines.slice(7)].join(""));
    const { read } = await both(store);
    expect(read.map(({ seq }) => seq)).toEqual(range(0, 11).filter((seq) => seq !== 5));
    await store.close();
  });

  it("lines that were deleted leave a gap and nothing else", async () => {
    const { store, file, lines } = await ten();
    writeFileSync(file, [...lines.slice(0, 4), ...lines.slice(7)].join(""));
    const { read } = await both(store);
    expect(read.map(({ seq }) => seq)).toEqual([...range(0, 4), ...range(7, 11)]);
    expect(await seqs(store, ROOT, { from: 5 })).toEqual(range(7, 11));
    expect(await seqs(store, ROOT, { before: 6, order: "backward" })).toEqual(range(0, 4).reverse());
    await store.close();
  });
});

describe("a header that is damaged or missing", () => {
  const header = (store: ReturnType<typeof storeAt>, thread = ROOT) => store.header(thread) as Promise<LogRecord & Record<string, unknown>>;

  it("is rebuilt from metadata.json, for readers and writers alike", async () => {
    const { home, file, lines, original } = await ten();
    const store = storeAt(home);
    await (await mustOpen(store)).log.close();
    writeFileSync(file, [spoil(lines[0]!), ...lines.slice(1)].join(""));
    expect(await header(store)).toMatchObject({ seq: 0, type: "thread.created", id: ROOT, base: null, source: "exec", settings: SETTINGS });
    const damage: Damage[] = [];
    expect(await records(store, ROOT, { onDamage: (found) => damage.push(found) })).toEqual(original);
    expect(damage).toHaveLength(1);
    expect((await records(store, ROOT, { order: "backward" })).toReversed()).toEqual(original);
    const { log, repairs } = await mustOpen(store);
    expect(repairs).toEqual([expect.stringMatching(/first record .* rebuilt from metadata\.json/u)]);
    expect(log.append([added("next")])[0]!.seq).toBe(11);
    await store.close();
  });

  it("is rebuilt from a carry in the log when metadata.json is gone too", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, [added("a")]);
    const carry = { thread: { id: ROOT, base: null, source: "mcp", createdAt: "2020-01-01T00:00:00.000Z", settings: { ...SETTINGS, model: "from-carry" } }, talk: {} };
    const { log } = await mustOpen(store);
    log.append([{ type: "state.saved", carry }]);
    await log.close();
    const file = logFile(home);
    const [first, ...rest] = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, [spoil(first!), ...rest].join("\n"));
    rmSync(join(folderOf(home), "metadata.json"));
    expect(await header(store)).toMatchObject({ seq: 0, source: "mcp", at: "2020-01-01T00:00:00.000Z", settings: { model: "from-carry" } });
    await store.close();
  });

  it("is rebuilt from the folder's name and the parent's marker when nothing else is left", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, TEN);
    const fork = threadId(1);
    const log = await store.create(fork, created(fork, { thread: ROOT, before: 7 }));
    log.append([added("f8"), added("f9")]);
    await log.close();
    const file = logFile(home, fork);
    const [first, ...rest] = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, [spoil(first!), ...rest].join("\n"));
    expect(await header(store, fork)).toMatchObject({ seq: 7, id: fork, base: { thread: ROOT, before: 7 }, at: new Date(0x019000000000).toISOString() });
    expect(await seqs(store, fork)).toEqual([7, 8, 9]);
    expect(await seqs(store, fork, { order: "backward" })).toEqual([9, 8, 7]);
    expect((await mustOpen(store, fork)).log.head).toBe(10);
    await store.close();
  });

  it.each(["empty", "missing"])("comes back when the log is %s", async (how) => {
    const { home, store, file } = await ten();
    await (await mustOpen(store)).log.close();
    if (how === "empty") truncateSync(file, 0);
    else rmSync(file);
    expect(await header(store)).toMatchObject({ seq: 0, id: ROOT, settings: SETTINGS });
    expect(await store.head(ROOT)).toBe(1);
    expect(await seqs(store)).toEqual([0]);
    const { log, repairs } = await mustOpen(store);
    expect(repairs).toEqual([expect.stringMatching(/log was empty/u)]);
    expect((await appended(log, [added("goes on")]))[0]!.seq).toBe(1);
    await log.close();
    expect((await records(storeAt(home))).map(({ type }) => type)).toEqual(["thread.created", "item.added"]);
    await store.close();
  });

  it("is not missed in a folder that holds nothing at all", async () => {
    const { home, store } = await ten();
    rmSync(folderOf(home), { recursive: true });
    cpSync(newHome(), folderOf(home), { recursive: true });
    const { log } = await mustOpen(store);
    expect(log.head).toBe(1);
    await store.close();
  });
});

describe("a folder that was copied or renamed", () => {
  it("is read with the id that its lines were sealed with", async () => {
    const { home, store, original } = await ten();
    const copy = threadId(77);
    cpSync(folderOf(home), folderOf(home, copy), { recursive: true });
    const read = await records(store, copy);
    expect(read.slice(1)).toEqual(original.slice(1));
    expect(read[0]).toEqual({ ...original[0], id: copy });
    const { log, repairs } = await mustOpen(store, copy);
    expect(repairs).toEqual([]);
    log.append([added("next")]);
    await log.close();
    renameSync(folderOf(home, copy), folderOf(home, threadId(78)));
    expect(await seqs(store, threadId(78))).toEqual(range(0, 12));
    await store.close();
  });
});

describe("an imported log", () => {
  it("may have lines without a checksum when its header says so", async () => {
    const home = newHome();
    const store = storeAt(home);
    const log = await store.create(ROOT, { ...created(), unverified: true });
    await log.close();
    appendFileSync(logFile(home), `${encode(added("plain"), { seq: 1, at: "2026-01-31T09:00:00.000Z" })}\n`);
    appendFileSync(logFile(home), line(2));
    expect(await seqs(store)).toEqual([0, 1, 2]);
    expect((await mustOpen(store)).log.head).toBe(3);
    await store.close();
  });
});

describe("an old log", () => {
  const id = ROOT;

  it("of version 0 is upcast on read and never rewritten", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, [], threadId(99));
    const fixture = join(import.meta.dirname, "../history/v0/rollout.jsonl");
    cpSync(folderOf(home, threadId(99)), folderOf(home, id), { recursive: true });
    copyFileSync(fixture, logFile(home, id));
    const before = readFileSync(fixture);
    const read = await records(store, id);
    expect(read.map(({ v, seq, type }) => [v, seq, type])).toEqual([
      [1, 0, "thread.created"],
      [1, 1, "input.queued"],
      [1, 2, "turn.started"],
      [1, 3, "item.added"],
      [1, 4, "constellation.named"],
      [1, 5, "turn.ended"],
    ]);
    expect(read[3]).toMatchObject({ item: { type: "message", role: "assistant" } });
    expect(read[3]).not.toHaveProperty("message");
    const { log, repairs } = await mustOpen(store, id);
    expect(repairs).toEqual([]);
    await appended(log, [added("new")]);
    await log.close();
    expect(readFileSync(logFile(home, id)).subarray(0, before.length).equals(before)).toBe(true);
    expect(existsSync(join(folderOf(home, id), "metadata.json"))).toBe(true);
    await store.close();
  });
});
