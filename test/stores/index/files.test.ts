/** index.sqlite as a file: whatever is in its place, lists are right and the next pass mends it. Also: what its row ids promise. */
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bucketOf, bucketRange } from "../../../src/stores/file/index/rowids.ts";
import { isThreadId } from "../../../src/stores/file/layout.ts";
import { indexOf, removeHome, runs, sqlite, temporaryHome, type TestIndex } from "./indexing.ts";
import { idAt, makeSession, said } from "./sessions.ts";

let index: TestIndex;
let path: string;
const ID = idAt(1_750_000_000_000);
beforeEach(() => {
  index = indexOf(temporaryHome());
  path = join(index.home, "index.sqlite");
  makeSession(index.home, { id: ID, title: "A title", drafts: [said("needle")] });
});
afterEach(() => {
  index.close();
  removeHome(index.home);
});

function change(sql: string): void {
  const db = sqlite.open(path);
  db.exec(sql);
  db.close();
}

describe("what may be in the place of the index", () => {
  test.each<[string, () => void]>([
    ["nothing", () => {}],
    ["an empty file", () => writeFileSync(path, "")],
    ["some text", () => writeFileSync(path, "not a database ".repeat(1000))],
    ["a folder", () => mkdirSync(join(path, "x"), { recursive: true })],
    ["a database of somebody else", () => change("CREATE TABLE sessions (x); INSERT INTO sessions VALUES (1)")],
    ["an index of another version", () => {
      index.pass();
      change("PRAGMA user_version = 999");
    }],
    ["an index without a table", () => {
      index.pass();
      change("DROP TABLE docs");
    }],
    ["an index whose words are gone", () => {
      index.pass();
      change("DROP TABLE completions; DROP TABLE words");
    }],
    ["an index with a changed row", () => {
      index.pass();
      change("UPDATE sessions SET summary = replace(summary, 'A title', 'B title')");
    }],
    ["an index with a leftover of another's log beside it", () => {
      index.pass();
      index.close();
      rmSync(path);
      writeFileSync(`${path}-wal`, Buffer.alloc(5000, 7));
    }],
  ])("%s", (_, put) => {
    put();
    for (let round = 0; round < 2; round++) {
      expect(index.list().items.map(({ id, title }) => [id, title])).toEqual([[ID, "A title"]]);
      index.search({ text: "needle" });
      expect(index.pass()).toBe("complete");
    }
    expect(index.list({ text: "title" })).toMatchObject({ items: [{ id: ID }], incomplete: false, need: "nothing" });
    expect(index.search({ text: "needle" })).toMatchObject({ items: [{ thread: ID }], incomplete: false, need: "nothing" });
  });

  test("only one indexer works at a time", () => {
    index.pass();
    const lock = sqlite.open(join(index.home, "index.lock"));
    lock.exec("BEGIN EXCLUSIVE");
    expect(index.pass()).toBe("busy");
    expect(index.list().items).toHaveLength(1);
    lock.close();
    expect(index.pass()).toBe("complete");
  });

  test("a pass with nothing to do writes nothing", () => {
    index.pass();
    const before = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs);
    index.pass();
    expect([path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs)).toEqual(before);
  });

  test("a home that does not exist has nothing to index", () => {
    const none = indexOf(join(index.home, "none"));
    expect(none.pass()).toBe("complete");
    expect(none.list()).toMatchObject({ items: [], incomplete: false });
  });
});

describe("row ids", () => {
  const id = fc.oneof(
    fc.uuid({ version: 7 }),
    fc.string({ unit: fc.constantFrom(..."-0129AZafgz"), minLength: 8, maxLength: 20 }),
    fc.tuple(fc.string({ unit: fc.constantFrom(..."0f9"), minLength: 8, maxLength: 8 }), fc.string({ unit: fc.constantFrom(..."-0af"), maxLength: 8 })).map((parts) => parts.join("")),
  );
  test("grow with the ids of threads, whatever shape these have", () => {
    fc.assert(
      fc.property(id.filter(isThreadId), id.filter(isThreadId), (a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(bucketOf(low)).toBeLessThanOrEqual(bucketOf(high));
      }),
      runs(5000),
    );
  });
  test("are safe integers, apart for threads of different seconds", () => {
    fc.assert(
      fc.property(id, (thread) => Number.isSafeInteger(bucketRange(bucketOf(thread)).to)),
      runs(1000),
    );
    expect(bucketOf(idAt(1_750_000_002_000))).toBeGreaterThan(bucketOf(idAt(1_750_000_000_000)));
  });
});
