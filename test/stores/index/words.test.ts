import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadSqlite, type Database } from "../../../src/stores/file/index/sqlite.ts";
import { indexable, matches, parseQuery, snippet, toMatch, wordsOf } from "../../../src/stores/file/index/words.ts";
import { runs } from "./indexing.ts";

const words = (text: string) => Array.from(wordsOf(text), ({ word }) => word);
const anyText = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.string({ unit: fc.constantFrom(..."aAbBéÉe\u0301ßςΣİı漢字かガｶﾞไทยकी한 _-./\"'*()\0\n😀ﬁ\u{1F468}\u200d\ud800") }),
);

async function fullText(): Promise<(text: string, query: string) => boolean> {
  const db: Database = (await loadSqlite())!.open(":memory:");
  db.exec("CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='ascii')");
  return (text, query) => {
    db.exec("DELETE FROM words");
    db.prepare("INSERT INTO words (rowid, text) VALUES (1, ?)").run(indexable(text));
    return db.prepare("SELECT rowid FROM words WHERE words MATCH ?").all(query).length > 0;
  };
}

describe("words", () => {
  test.each([
    ["foo_bar/baz.ts", ["foo", "bar", "baz", "ts"]],
    ["Café CAFE\u0301", ["cafe", "cafe"]],
    ["ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]],
    ["検索する", ["検", "索", "す", "る"]],
    ["a漢b", ["a", "漢", "b"]],
    ["v1.2 — ok…", ["v1", "2", "ok"]],
  ])("%j is %j", (text, expected) => expect(words(text)).toEqual(expected));

  test("SQLite finds these words and no others, in any text, for any query", async () => {
    const found = await fullText();
    fc.assert(
      fc.property(anyText, anyText, fc.boolean(), (text, other, part) => {
        const query = parseQuery(part ? text.slice(0, 20) : other);
        if (query.length === 0) return;
        expect(found(text, toMatch(query, () => null))).toBe(matches(text, query));
      }),
      runs(2000),
    );
  });

  test("a query is well formed, whatever is typed", async () => {
    const found = await fullText();
    fc.assert(fc.property(anyText, (text) => void (parseQuery(text).length > 0 && found("some text", toMatch(parseQuery(text), (word) => [word])))), runs(2000));
    for (const text of ['"', "AND", "NOT x", "a OR", "(", "col:x", "NEAR(a b)", "^a", "a*", "-a", "+", "\0", "'; DROP TABLE words", "{a b}: c"]) {
      const query = parseQuery(text);
      if (query.length > 0) expect(() => found("x", toMatch(query, () => null))).not.toThrow();
    }
  });

  test("all phrases must occur, the words of one side by side, the last may go on", () => {
    const text = "Fix the index_worker in src/stores/file";
    const match = (query: string) => matches(text, parseQuery(query));
    expect(["fix", "FIX worker", "index_work", "stores/file", "src fix", "wor"].map(match)).toEqual([true, true, true, true, true, true]);
    expect(["fi", "worker_index", "file/stores", "fix nothing", "wor "].map(match)).toEqual([false, false, false, false, false]);
  });
});

describe("snippet", () => {
  test("shows the first match in its surroundings, on one line", () => {
    const text = `${"before ".repeat(30)}\n\tthe needle is here\n${"after ".repeat(60)}`;
    const shown = snippet(text, parseQuery("needle"));
    expect(shown).toMatch(/^…(before )+the «needle» is here (after )+…$/u);
    expect(shown.length).toBeLessThan(230);
  });
  test("marks a whole phrase, folded or begun", () => {
    expect(snippet("Le Café_noir ferme", parseQuery("cafe_noi"))).toBe("Le «Café_noir» ferme");
    expect(snippet("全文検索です", parseQuery("検索"))).toBe("全文«検索»です");
  });
  test("of a text without the word is its beginning", () => expect(snippet("hello world", parseQuery("zzz"))).toBe("hello world"));
  test("never cuts a character in two", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 150, maxLength: 400 }), (text) => {
        const shown = snippet(`${text} needle ${text}`, parseQuery("needle"));
        expect(Buffer.from(shown).toString()).toBe(shown);
      }),
    );
  });
});
