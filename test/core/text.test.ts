import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { preview, PREVIEW_LENGTH } from "../../src/core/text.ts";
import { runs } from "./given.ts";

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const graphemes = (text: string) => [...segmenter.segment(text)].map(({ segment }) => segment);

const FAMILY = "👩‍👩‍👧‍👦";
const FLAG = "🇨🇭";
const MARKED = "e\u0301\u0323";

describe("preview", () => {
  test.each([
    ["short text", "hello", "hello"],
    ["whitespace, folded", "  a\n\n\tb \u00a0 c\r\n", "a b c"],
    ["exactly a hundred letters", "x".repeat(100), "x".repeat(100)],
    ["more than a hundred letters", "x".repeat(101), "x".repeat(100)],
    ["families", FAMILY.repeat(120), FAMILY.repeat(100)],
    ["flags", FLAG.repeat(120), FLAG.repeat(100)],
    ["letters with marks", MARKED.repeat(120), MARKED.repeat(100)],
    ["a hundred families", FAMILY.repeat(100), FAMILY.repeat(100)],
    ["Hangul in parts", "\u1112\u1161\u11ab".repeat(101), "\u1112\u1161\u11ab".repeat(100)],
    ["text after a lot of white", `${" \n".repeat(5000)}hello`, "hello"],
  ])("of %s", (_what, text, shown) => {
    expect(preview(text)).toBe(shown);
  });

  test.each([[""], ["   "], ["\n\t\r\n\u00a0\u3000"], [" ".repeat(10_000)]])("of blank text is null (%j)", (text) => {
    expect(preview(text)).toBe(null);
  });

  test("never cuts a character of what it looked at, however long that is", () => {
    const zalgo = `a${"\u0301".repeat(9000)}`;
    const shown = preview(`intro ${zalgo} end`);
    expect(shown).toBe("intro");
    expect(preview(`${"x".repeat(50)}${" ".repeat(3949)}😀😀`)).toBe("x".repeat(50));
  });

  test("is at most a hundred characters as people count them, the first of the text", () => {
    const text = fc.array(fc.oneof(fc.constantFrom(FAMILY, FLAG, MARKED, " ", "\n", "a"), fc.string({ unit: "grapheme" })), { maxLength: 300, size: "max" }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (whole) => {
        const line = whole.replace(/\s+/gu, " ").trim();
        expect(preview(whole)).toBe(graphemes(line).slice(0, PREVIEW_LENGTH).join("").trimEnd() || null);
      }),
      runs(200),
    );
  });
});
