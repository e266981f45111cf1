/** What a page costs does not grow with the number of sessions: counted, not timed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { counters } from "../../../src/stores/file/index/counters.ts";
import { STATEMENTS } from "../../../src/stores/file/index/rows.ts";
import { readCounters } from "../../../src/stores/file/scan.ts";
import { indexOf, removeHome, sqlite, temporaryHome, type TestIndex } from "./indexing.ts";
import { answered, idAt, makeSession, ran, said } from "./sessions.ts";

const COUNT = 250;

function homeWith(count: number): TestIndex {
  const home = temporaryHome();
  for (let made = 0; made < count; made++) {
    makeSession(home, {
      id: idAt(1_750_000_000_000 + made * 10_000),
      title: `Session ${made}`,
      preview: "the first message",
      provider: made % 2 ? "openai" : "anthropic",
      source: made % 2 ? "exec" : "interactive",
      cwd: made % 2 ? "/w" : "/v",
      drafts: [said("the first message"), ran("npm test"), answered("All tests pass now.")],
    });
  }
  return indexOf(home);
}

function cost(action: () => unknown): object {
  const before = { ...counters, ...readCounters };
  action();
  const after = { ...counters, ...readCounters };
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name as keyof typeof before]]));
}

describe("1× and 10× the sessions", () => {
  let small: TestIndex;
  let large: TestIndex;
  beforeAll(() => {
    small = homeWith(COUNT);
    large = homeWith(COUNT * 10);
  });
  afterAll(() => {
    for (const index of [small, large]) {
      index.close();
      removeHome(index.home);
    }
  });

  test("without an index an unfiltered page reads the summaries of that page and no others", () => {
    const page = (index: TestIndex) => cost(() => index.list({ limit: 20 }));
    expect(page(large)).toEqual(page(small));
    expect(page(large)).toMatchObject({ summaries: 21, looks: 21, rows: 0 });
  });

  test("without an index a filtered page reads no more than 500", () => {
    expect(cost(() => large.list({ cwd: "/nowhere" }))).toMatchObject({ summaries: 500 });
  });

  describe("with an index", () => {
    beforeAll(() => {
      small.pass();
      large.pass();
    }, 120_000);

    test.each([
      ["unfiltered", { limit: 20 }],
      ["a later page", { limit: 20, cursor: idAt(1_750_000_000_000 + 200 * 10_000) }],
      ["cwd", { limit: 20, cwd: "/w" }],
      ["no such cwd", { limit: 20, cwd: "/nowhere" }],
      ["provider", { limit: 20, provider: ["openai", "anthropic"] }],
      ["source", { limit: 20, source: ["exec" as const] }],
      ["text", { limit: 20, text: "tests" }],
      ["the beginning of a word", { limit: 20, text: "mess" }],
      ["text and cwd", { limit: 20, text: "npm test", cwd: "/w" }],
    ])("a list page costs the same: %s", (_, query) => {
      expect(small.list(query).incomplete).toBe(false);
      expect(large.list(query).incomplete).toBe(false);
      const page = cost(() => large.list(query));
      expect(page).toEqual(cost(() => small.list(query)));
      expect(page).toMatchObject({ summaries: 0, folders: 0, bytes: 0 });
    });

    test.each(["tests", "npm test", "first", "nowhere", "the"])("a page of hits costs the same: %s", (text) => {
      expect(large.search({ text, limit: 20 }).incomplete).toBe(false);
      const page = cost(() => large.search({ text, limit: 20 }));
      expect(page).toEqual(cost(() => small.search({ text, limit: 20 })));
      expect(page).toMatchObject({ summaries: 0, folders: 0 });
    });

    test("a stale row costs one summary", () => {
      const { id } = large.list({ limit: 20 }).items[5]!;
      writeFileSync(join(large.home, "sessions", id, "metadata.json"), "{}");
      expect(cost(() => large.list({ limit: 20 }))).toMatchObject({ summaries: 1, folders: 0 });
    });
  });
});

describe("query plans", () => {
  let index: TestIndex;
  beforeAll(() => {
    index = homeWith(3);
    index.pass();
  });
  afterAll(() => {
    index.close();
    removeHome(index.home);
  });

  const plan = (sql: string) => {
    const db = sqlite.open(join(index.home, "index.sqlite"), { readOnly: true });
    try {
      return db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all().map((row) => String(row["detail"]));
    } finally {
      db.close();
    }
  };

  test.each([
    ["byId", /^SEARCH sessions USING INDEX sqlite_autoindex_sessions_1 \(id=\?\)$/u],
    ["byNo", /^SEARCH sessions USING INTEGER PRIMARY KEY \(rowid=\?\)$/u],
    ["all", /^SEARCH sessions USING INDEX sessions_all \(archived=\? AND id<\?\)$/u],
    ["source", /^SEARCH sessions USING INDEX sessions_source \(archived=\? AND source=\? AND id<\?\)$/u],
    ["provider", /^SEARCH sessions USING INDEX sessions_provider \(archived=\? AND provider=\? AND id<\?\)$/u],
    ["cwd", /^SEARCH sessions USING INDEX sessions_cwd \(archived=\? AND cwd=\? AND id<\?\)$/u],
    ["behind", /^SCAN sessions USING (?:COVERING )?INDEX sessions_behind$/u],
    ["fact", /^SEARCH facts USING PRIMARY KEY \(name=\?\)$/u],
  ] as const)("%s walks an index and does not sort", (name, expected) => {
    expect(plan(STATEMENTS[name])).toEqual([expect.stringMatching(expected)]);
  });

  test("full-text matches are taken in order and each is looked up", () => {
    const matches = expect.stringMatching(/^SCAN words VIRTUAL TABLE INDEX \d+:.*M/u);
    const docs = "SEARCH docs USING INTEGER PRIMARY KEY (rowid=?)";
    expect(plan(STATEMENTS.hits)).toEqual([matches, docs]);
    const [first, second, third, ...rest] = plan(STATEMENTS.matches);
    expect([first, second, third]).toEqual([matches, docs, "SEARCH sessions USING INTEGER PRIMARY KEY (rowid=?)"]);
    expect(rest.filter((line) => !/^LIST SUBQUERY|^SCAN json_each|^CREATE BLOOM FILTER/u.test(line))).toEqual([]);
  });
});
