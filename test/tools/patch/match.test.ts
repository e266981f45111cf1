/** Files and hunks as text: what becomes of the one by the other, or what the model is told. */
import { describe, expect, test } from "vitest";
import { applyHunks } from "../../../src/tools/patch/apply.ts";
import { explainMiss } from "../../../src/tools/patch/explain.ts";
import { matchHunk, searched, type Placed } from "../../../src/tools/patch/match.ts";
import { parsePatch } from "../../../src/tools/patch/parse.ts";
import { encodeText, splitText } from "../../../src/tools/patch/text.ts";

function patched(content: string, ...hunkLines: string[]): string {
  const parsed = parsePatch(["*** Begin Patch", "*** Update File: f", ...hunkLines, "*** End Patch"].join("\n"));
  if (!parsed.ok || parsed.sections[0]?.kind !== "update") throw new Error(JSON.stringify(parsed));
  const text = splitText(content);
  const file = searched(text.lines);
  const placed: Placed[] = [];
  let from = 0;
  for (const hunk of parsed.sections[0].hunks) {
    const matched = matchHunk(hunk, { file, from });
    if (!matched.ok) return `refused: ${explainMiss(matched, { where: "f", lines: text.lines, from })}`;
    placed.push(matched.placed);
    from = matched.placed.at + matched.placed.lines.filter(({ kind }) => kind !== "add").length;
  }
  return encodeText(applyHunks(text, placed)).toString("utf8");
}

describe("passes", () => {
  test("exact wins over lines that differ in white space only", () => {
    expect(patched("  a\na\na  \n", "-a", "+b")).toBe("  a\nb\na  \n");
  });
  test("without trailing white space", () => {
    expect(patched("x\na \t\n  a\n", " x", "-a", "+b")).toBe("x\nb\n  a\n");
  });
  test("without white space at both ends", () => {
    expect(patched("def f():\n    return 1\n", " def f():", "-return 1", "+    return 2")).toBe("def f():\n    return 2\n");
  });
  test("with dashes, quotes and spaces folded", () => {
    expect(patched("say \u201Chi\u201D \u2014 it\u2019s\u00A0me\nend\n", ' say "hi" - it\'s me', "-end", "+END")).toBe("say \u201Chi\u201D \u2014 it\u2019s\u00A0me\nEND\n");
  });
  test("context keeps the bytes of the file, however the patch wrote it", () => {
    expect(patched("\ta \nb\n", " a", "-b", "+c")).toBe("\ta \nc\n");
  });
  test("one pass for the whole hunk: lines are not matched by different ones", () => {
    expect(patched("a\n b\nx\na\nb\n", " a", "-b", "+c")).toBe("a\n b\nx\na\nc\n");
  });
  test("each hunk has its own pass", () => {
    expect(patched("a\n  b\n", "-a", "+A", "@@", "-b", "+B")).toBe("A\nB\n");
  });
});

describe("places", () => {
  const TWICE = "class A\n  run()\n    1\nclass B\n  run()\n    1\n";

  test("several places are refused with their lines", () => {
    expect(patched(TWICE, "   run()", "-    1", "+    2")).toBe('refused: f: its lines are in the file 2 times, at lines 2, 5. Add more context, or "@@" with a line above the place that is meant.');
  });
  test("a header decides", () => {
    expect(patched(TWICE, "@@ class B", "-    1", "+    2")).toBe("class A\n  run()\n    1\nclass B\n  run()\n    2\n");
    expect(patched(TWICE, "@@ class A", "-    1", "+    2")).toBe("class A\n  run()\n    2\nclass B\n  run()\n    1\n");
  });
  test("headers narrow one after another", () => {
    expect(patched(TWICE, "@@ class B", "@@ run()", "-    1", "+    2")).toBe("class A\n  run()\n    1\nclass B\n  run()\n    2\n");
  });
  test("a header that is there twice and leads to two places does not decide", () => {
    expect(patched(TWICE, "@@ run()", "-    1", "+    2")).toMatch(/^refused: f: its lines are in the file 2 times, at lines 3, 6\./u);
  });
  test("a header may be the first line of the hunk as well, and serve two hunks", () => {
    expect(patched("f()\n  a\n  b\n", "@@ f()", " f()", "-  a", "+  A", "@@ f()", "-  b", "+  B")).toBe("f()\n  A\n  B\n");
  });
  test("the end of the file decides", () => {
    expect(patched("a\nb\na\n", "-a", "+c", "*** End of File")).toBe("a\nb\nc\n");
  });
  test("a mark of the end that is wrong falls back to the only place", () => {
    expect(patched("a\nb\n", "-a", "+c", "*** End of File")).toBe("c\nb\n");
  });
  test("hunks go in order: the second of two places is meant after the first", () => {
    expect(patched("a\nx\na\n", " x", "@@", "-a", "+b")).toBe("a\nx\nb\n");
  });
  test("an empty last line of context may stand for the end of the file", () => {
    expect(patched("a\nb\n", " a", "-b", "+c", " ")).toBe("a\nc\n");
  });
  test("added lines without context go after the header, else to the end", () => {
    expect(patched("a\nb\n", "@@ a", "+x")).toBe("a\nx\nb\n");
    expect(patched("a\nb\n", "+x")).toBe("a\nb\nx\n");
    expect(patched("", "+x")).toBe("x\n");
  });
});

describe("files and hunks that are slow to search", () => {
  test("a long hunk of equal lines in a long file of equal lines", () => {
    const many = "a\n".repeat(200_000);
    expect(patched(many, ...Array.from({ length: 1000 }, () => " a"), "-b", "+c")).toMatch(/^refused: f: these lines are not in the file/u);
    expect(patched(`${many}b\n`, ...Array.from({ length: 1000 }, () => " a"), "-b", "+c")).toBe(`${many}c\n`);
  });
  test("the same with a placeholder", () => {
    expect(patched("a\n".repeat(100_000), ...Array.from({ length: 1000 }, () => " a"), "-[REDACTED:jwt]b", "+c")).toMatch(/^refused: f: these lines are not in the file/u);
  });
});

describe("endings", () => {
  test("CRLF stays CRLF", () => expect(patched("a\r\nb\r\n", " a", "-b", "+c", "+d")).toBe("a\r\nc\r\nd\r\n"));
  test("mixed endings stay with their lines; an added line ends like the one that it replaces", () => {
    expect(patched("a\r\nb\nc\r\n", " a", "-b", "-c", "+B", "+C", "+D")).toBe("a\r\nB\nC\r\nD\r\n");
  });
  test("a missing last newline stays missing", () => {
    expect(patched("a\nb", "-b", "+c")).toBe("a\nc");
    expect(patched("a\nb", " b", "+c")).toBe("a\nb\nc");
    expect(patched("a\nb", " a", "-b")).toBe("a");
    expect(patched("a", "+b", " a")).toBe("b\na");
  });
  test("a byte order mark stays, and is no part of the first line", () => expect(patched("\uFEFFa\nb\n", "-a", "+c")).toBe("\uFEFFc\nb\n"));
  test("everything may be deleted", () => expect(patched("a\nb\n", "-a", "-b")).toBe(""));
});

describe("placeholders of secrets", () => {
  const KEY = "sk-0123456789abcdefghij";
  test("stand for one token and are copied into added lines", () => {
    expect(patched(`key = "${KEY}" # old\n`, '-key = "[REDACTED:openai-key]" # old', '+key = "[REDACTED:openai-key]" # new')).toBe(`key = "${KEY}" # new\n`);
  });
  test("in context, they match and stay", () => {
    expect(patched(`key=${KEY}\na\n`, " key=[REDACTED:openai-key]", "-a", "+b")).toBe(`key=${KEY}\nb\n`);
  });
  test("keep the bytes of the file in the forgiving passes", () => {
    expect(patched(`  \u201Ck\u201D \u2014 ${KEY}\u2014x\n`, '-"k" - [REDACTED:openai-key]', '+"k": [REDACTED:openai-key]')).toBe(`"k": ${KEY}\u2014x\n`);
  });
  test("several texts are told by order when as many are added as deleted", () => {
    expect(patched("a=S1\nb=S2\n", "-a=[REDACTED:pattern]", "-b=[REDACTED:pattern]", "+A=[REDACTED:pattern]", "+B=[REDACTED:pattern]")).toBe("A=S1\nB=S2\n");
  });
  test("do not match white space or nothing", () => {
    expect(patched("key= a b\nx\n", " key=[REDACTED:pattern]", "-x", "+y")).toMatch(/^refused: f: these lines are not in the file/u);
    expect(patched("key=\nx\n", " key=[REDACTED:pattern]", "-x", "+y")).toMatch(/^refused: f: these lines are not in the file/u);
  });
  test("an added one without a counterpart, or with several, is refused", () => {
    const refused = /^refused: f: \[REDACTED:pattern\] is added, and it cannot be told/u;
    expect(patched("a\n", " a", "+key=[REDACTED:pattern]")).toMatch(refused);
    expect(patched("a=S1\nb=S2\n", " a=[REDACTED:pattern]", " b=[REDACTED:pattern]", "+c=[REDACTED:pattern]")).toMatch(refused);
    expect(patched("a=S1\n", "-a=[REDACTED:jwt]", "+a=[REDACTED:pattern]")).toMatch(refused);
  });
  test("many on a long line take linear time", () => {
    const pattern = "[REDACTED:pattern]a".repeat(50);
    expect(patched(`${"a".repeat(200_000)}b\n`, `-${pattern}`, "+x")).toMatch(/^refused/u);
  });
});

describe("what a failed hunk is told with", () => {
  test("the lines looked for, the nearest ones, and what differs", () => {
    expect(patched("const a = 1;\nconst b = 3;\nconst c = 4;\n", " const a = 1;", "-const b = 2;", "+const b = 5;")).toBe(
      [
        "refused: f: these lines are not in the file:",
        "\tconst a = 1;",
        "\tconst b = 2;",
        "The nearest in the file:",
        "1\tconst a = 1;",
        "2\tconst b = 3;",
        'What differs: line 2 is "const b = 3;", not "const b = 2;".',
      ].join("\n"),
    );
  });
  test("a line that only shares words", () => {
    expect(patched("x\nfunction total(items, rate) {\n", "-function total(items) {", "+y")).toBe(
      [
        "refused: f: these lines are not in the file:",
        "\tfunction total(items) {",
        "The nearest in the file:",
        "2\tfunction total(items, rate) {",
        'What differs: line 2 is "function total(items, rate) {", not "function total(items) {".',
      ].join("\n"),
    );
  });
  test("lines that share no word are told by their characters", () => {
    expect(patched("one\ntwo\nthree\n4\n", " threee", "-4x", "+5")).toBe(
      [
        "refused: f: these lines are not in the file:",
        "\tthreee",
        "\t4x",
        "The nearest in the file:",
        "3\tthree",
        "4\t4",
        'What differs: line 3 is "three", not "threee"; line 4 is "4", not "4x".',
      ].join("\n"),
    );
  });
  test("nothing alike", () => {
    expect(patched("x\n", "-hello world", "+y")).toBe("refused: f: these lines are not in the file:\n\thello world\nNothing in the file is like them. Read the file again.");
  });
  test("hunks out of order", () => {
    expect(patched("a\nb\n", "-b", "+B", "@@", "-a", "+A")).toBe("refused: f: these lines are not in the file after line 2:\n\ta\nThey are at line 1, before or inside of the hunk before: hunks must be in the order of the file and must not overlap.");
  });
  test("a header that is not there", () => {
    expect(patched("def a():\n  1\n", "@@ def b():", "-  1", "+  2")).toBe(
      ['refused: f: the line after "@@" is not in the file: "def b():"', "The nearest in the file:", "1\tdef a():", 'What differs: line 1 is "def a():", not "def b():".'].join("\n"),
    );
  });
});
