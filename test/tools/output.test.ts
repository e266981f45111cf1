import fc from "fast-check";
import { expect, test } from "vitest";
import { createCollector, keptAs, shorten } from "../../src/tools/output.ts";

function collect(chunks: readonly Buffer[], keptBytes?: number) {
  const collector = createCollector(keptBytes);
  for (const chunk of chunks) collector.add(chunk);
  return collector.collected();
}

test("what fits is whole, however it was cut into pieces", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.nat(20)), (text, cuts) => {
      const bytes = Buffer.from(text);
      const chunks: Buffer[] = [];
      let at = 0;
      for (const cut of cuts) chunks.push(bytes.subarray(at, (at += cut)));
      chunks.push(bytes.subarray(at));
      expect(collect(chunks)).toEqual({ bytes: bytes.length, lines: text.split("\n").length - 1, text, kept: null, hasForeignBytes: false });
    }),
  );
});

test("of a flood head and tail are kept, and the middle is counted", () => {
  const lines = Array.from({ length: 1000 }, (_, index) => `line ${String(index).padStart(3, "0")}\n`);
  const all = lines.join("");
  for (const size of [1, 7, 64, 5000]) {
    const chunks = all.match(new RegExp(`[^]{1,${size}}`, "gu"))!.map((piece) => Buffer.from(piece));
    expect(collect(chunks, 90)).toEqual({
      bytes: 9000,
      lines: 1000,
      kept: 45,
      hasForeignBytes: false,
      text: `${lines.slice(0, 5).join("")}[… 991 lines (8919 bytes) were too much to keep …]\n${lines.slice(-4).join("")}`,
    });
  }
});

test("bytes that are not UTF-8 are noticed and replaced", () => {
  expect(collect([Buffer.from([0x61, 0xff, 0x62, 0xc3])])).toEqual({ bytes: 4, lines: 0, text: "a\uFFFDb\uFFFD", kept: null, hasForeignBytes: true });
  expect(collect([Buffer.from("\uFFFD")])).toMatchObject({ hasForeignBytes: false });
});

test("a short text is not shortened", () => {
  expect(shorten("a".repeat(40), 40)).toBeNull();
});

test("a long text keeps whole lines of its head and tail", () => {
  const text = Array.from({ length: 100 }, (_, index) => `${index}`.padStart(9, "0")).join("\n");
  expect(shorten(text, 50)!("left out")).toBe(`000000000\n000000001\n[… 96 lines (960 bytes) left out …]\n000000098\n000000099`);
});

test("what is left out of a flood is counted from all of it, not from what was kept", () => {
  const flood = collect([Buffer.from("abc\n".repeat(10_000))], 4000);
  expect(shorten(flood, 16)!(keptAs({ sha256: "f00", bytes: 4000 }, 5_000_000))).toBe('abc\nabc\n[… 9997 lines (39988 bytes) left out; read_file "blob:f00" has the first and the last 5 MB …]\nabc\n');
  expect([keptAs({ sha256: "f00", bytes: 1 }), keptAs(undefined)]).toEqual(['left out; read_file "blob:f00" has it all', "left out and not kept"]);
});

test("a long line is cut between characters as people count them", () => {
  const family = "👨‍👩‍👧‍👦";
  const short = shorten(family.repeat(100), 200)!("left out");
  const [head, note, tail] = short.split("\n");
  expect(head).toBe(family.repeat(3));
  expect(note).toMatch(/^\[… \d+ bytes left out …\]$/u);
  expect(tail).toBe(family.repeat(3));
});

test("what is shortened never exceeds the limit by more than its note, and never holds half a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 50, maxLength: 400 }), fc.integer({ min: 20, max: 200 }), (text, limit) => {
      const short = shorten(text, limit)?.("left out");
      if (short === undefined) return;
      expect(Buffer.byteLength(short)).toBeLessThanOrEqual(limit + 80);
      if (!text.includes("\uFFFD")) expect(short).not.toContain("\uFFFD");
    }),
  );
});
