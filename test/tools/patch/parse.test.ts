import { describe, expect, test } from "vitest";
import { parsePatch } from "../../../src/tools/patch/parse.ts";

const PLAIN = ["*** Begin Patch", "*** Update File: a.txt", "@@ header", " one", "-two", "+three", "*** End Patch"].join("\n");

const UPDATE = {
  ok: true,
  sections: [
    {
      kind: "update",
      path: "a.txt",
      moveTo: null,
      hunks: [
        {
          headers: ["header"],
          lines: [
            { kind: "context", text: "one" },
            { kind: "delete", text: "two" },
            { kind: "add", text: "three" },
          ],
          atEnd: false,
        },
      ],
    },
  ],
};

describe("the same patch in every wrapping that models use", () => {
  test.each([
    ["plain", PLAIN],
    ["with a last newline", `${PLAIN}\n`],
    ["with blank lines around it", `\n\n${PLAIN}\n  \n`],
    ["with carriage returns", PLAIN.replaceAll("\n", "\r\n")],
    ["in a quoted heredoc", `<<'EOF'\n${PLAIN}\nEOF`],
    ["in a bare heredoc", `<<EOF\n${PLAIN}\nEOF\n`],
    ["in a heredoc of the command", `apply_patch <<"PATCH"\n${PLAIN}\nPATCH`],
    ["with blank lines before its end", PLAIN.replace("*** End Patch", "\n\n*** End Patch")],
    ["with spaces after headers", PLAIN.replace("a.txt", "a.txt  ").replace("Begin Patch", "Begin Patch ")],
  ])("%s", (_name, text) => {
    expect(parsePatch(text)).toEqual(UPDATE);
  });
});

test("reads every kind of section, in order", () => {
  const text = [
    "*** Begin Patch",
    "*** Add File: new file.txt",
    "+first",
    "+",
    "++plus",
    "*** Delete File: old.txt",
    "*** Update File: from.ts",
    "*** Move to: to.ts",
    "*** Update File: b.ts",
    "@@ class A",
    "@@   method()",
    " x",
    "",
    "-y",
    "@@",
    "+z",
    "*** End of File",
    "*** Add File: empty",
    "*** End Patch",
  ].join("\n");
  expect(parsePatch(text)).toEqual({
    ok: true,
    sections: [
      { kind: "add", path: "new file.txt", lines: ["first", "", "+plus"] },
      { kind: "delete", path: "old.txt" },
      { kind: "update", path: "from.ts", moveTo: "to.ts", hunks: [] },
      {
        kind: "update",
        path: "b.ts",
        moveTo: null,
        hunks: [
          {
            headers: ["class A", "  method()"],
            lines: [
              { kind: "context", text: "x" },
              { kind: "context", text: "" },
              { kind: "delete", text: "y" },
            ],
            atEnd: false,
          },
          { headers: [], lines: [{ kind: "add", text: "z" }], atEnd: true },
        ],
      },
      { kind: "add", path: "empty", lines: [] },
    ],
  });
});

test("lines that look like headers are content after their mark", () => {
  const text = ["*** Begin Patch", "*** Update File: a", " *** Add File: x", "-*** End Patch", "+*** End of File", " *** End of File", "*** End Patch"].join("\n");
  expect(parsePatch(text)).toEqual({
    ok: true,
    sections: [
      {
        kind: "update",
        path: "a",
        moveTo: null,
        hunks: [
          {
            headers: [],
            lines: [
              { kind: "context", text: "*** Add File: x" },
              { kind: "delete", text: "*** End Patch" },
              { kind: "add", text: "*** End of File" },
              { kind: "context", text: "*** End of File" },
            ],
            atEnd: false,
          },
        ],
      },
    ],
  });
});

test("numbers of a unified diff are no header", () => {
  const parsed = parsePatch(["*** Begin Patch", "*** Update File: a", "@@ -1,2 +1,3 @@ int main()", "+x", "@@ -9 +9 @@", "+y", "@@ @@", "+z", "*** End Patch"].join("\n"));
  expect(parsed.ok && parsed.sections.flatMap((section) => (section.kind === "update" ? section.hunks.map(({ headers }) => headers) : []))).toEqual([[], [], []]);
});

describe("what cannot be read is refused with the line", () => {
  test.each([
    ["", 'The patch cannot be read: its first line must be "*** Begin Patch".'],
    ["hello", 'The patch cannot be read: its first line must be "*** Begin Patch".'],
    ["*** Begin Patch\n*** End Patch", "The patch cannot be read: it names no file."],
    ["*** Begin Patch\n*** Add File: a\n+x", 'The patch cannot be read: its last line must be "*** End Patch"; if the patch was cut off, send it in smaller parts.'],
    ["*** Begin Patch\n*** Update File: a\n x\n *** End Patch", 'The patch cannot be read: its last line must be "*** End Patch"; if the patch was cut off, send it in smaller parts.'],
    ["*** Begin Patch\n+x\n*** End Patch", 'The patch cannot be read: line 2 must name a file ("*** Add File: …", "*** Update File: …" or "*** Delete File: …"): "+x".'],
    ["*** Begin Patch\n*** Add File: \n+x\n*** End Patch", 'The patch cannot be read: line 2 names no usable path: "*** Add File: ".'],
    ["*** Begin Patch\n*** Add File: d/\n+x\n*** End Patch", 'The patch cannot be read: line 2 names no usable path: "*** Add File: d/".'],
    ["*** Begin Patch\n*** Add File: a\n+x\ny\n*** End Patch", 'The patch cannot be read: line 4: every line of the new file a must begin with "+": "y".'],
    ["*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", 'The patch cannot be read: line 3: nothing may follow "*** Delete File: a".'],
    ["*** Begin Patch\n*** Update File: a\n*** End Patch", 'The patch cannot be read: line 2: "*** Update File: a" has no hunk.'],
    ["*** Begin Patch\n*** Update File: a\n x\nwrong\n*** End Patch", 'The patch cannot be read: line 4 must begin with " ", "-", "+" or "@@": "wrong".'],
    ["*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch", "The patch cannot be read: hunk 1 before line 4 has no lines."],
    ["*** Begin Patch\n*** Update File: a\n*** End of File\n*** End Patch", 'The patch cannot be read: line 3: "*** End of File" must follow the lines of a hunk.'],
    ["*** Begin Patch\n*** Update File: a\n x\n*** Move to: b\n*** End Patch", 'The patch cannot be read: line 4 must name a file ("*** Add File: …", "*** Update File: …" or "*** Delete File: …"): "*** Move to: b".'],
    ["*** Begin Patch\n*** Add File: a\n+\ud800\n*** End Patch", "The patch cannot be read: it has half of a character (a lone surrogate), which no file can hold."],
  ])("%j", (text, message) => {
    expect(parsePatch(text)).toEqual({ ok: false, message });
  });
});
