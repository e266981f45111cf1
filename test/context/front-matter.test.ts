import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseFrontMatter } from "../../src/context/front-matter.ts";

const fields = (lines: string) => Object.fromEntries(parseFrontMatter(`---\n${lines}\n---\nbody\n`)!.fields);

test.each<[string, string, Record<string, string>]>([
  ["plain values", "name: pdf-tools\ndescription: Reads PDFs: text, forms, tables", { name: "pdf-tools", description: "Reads PDFs: text, forms, tables" }],
  ["quotes", `a: "say \\"hi\\"\\n\\u00e9 # no comment"\nb: 'it''s # so'\nc: "open`, { a: 'say "hi"\né # no comment', b: "it's # so", c: '"open' }],
  ["comments", "# above\na: one # two\nb: x#y\nc: # nothing", { a: "one", b: "x#y", c: "" }],
  ["values that go on", "description: Reads\n  and writes\n  files\nname: x", { description: "Reads and writes files", name: "x" }],
  ["quotes that go on", 'a: "one\n  two"\nb: 1', { a: "one two", b: "1" }],
  ["folded blocks", "a: >\n  one\n  two\n\n  three\nb: >-\n  four\n", { a: "one two\nthree", b: "four" }],
  ["literal blocks", "a: |\n  one\n    two\n\n  three\nb: |+2\n  x\n", { a: "one\n  two\n\nthree", b: "x" }],
  ["tables and lists are kept as text", "metadata:\n  author: me\n  version: 1\nallowed-tools:\n  - Read\n  - Write\n", { metadata: "author: me version: 1", "allowed-tools": "- Read - Write" }],
  ["what is no key is skipped, the first of two counts", "just words\nname: one\nname: two\n: x", { name: "one" }],
  ["nothing", "", {}],
])("%s", (_, lines, expected) => {
  expect(fields(lines)).toEqual(expected);
});

test("windows line ends", () => {
  const parsed = parseFrontMatter("---\r\nname: x\r\ndescription: >\r\n  a\r\n  b\r\n---\r\nbody\r\n")!;
  expect([Object.fromEntries(parsed.fields), parsed.body]).toEqual([{ name: "x", description: "a b" }, "body\n"]);
});

test("no front matter, or one that does not end", () => {
  for (const text of ["", "# Title\n", "---\nname: x\n", " ---\nname: x\n---\n", "----\nname: x\n----\n"]) expect(parseFrontMatter(text)).toBeNull();
});

test("any text is read without an exception, and soon", () => {
  fc.assert(fc.property(fc.string(), (text) => void parseFrontMatter(`---\n${text}\n---\n`)));
  const long = `---\na: "${"\\".repeat(20_000)}\nb: ${" #".repeat(20_000)}\nc: '${"'".repeat(20_001)}\n---\n`;
  expect(parseFrontMatter(long)!.fields.size).toBe(3);
});
