/** What is sealed comes back, whatever it is. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { decode, encode } from "../../src/protocol/codec.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { openLine, sealLine, sealOf } from "../../src/stores/file/line.ts";

const json = fc.jsonValue({ maxDepth: 4 });
const drafts = fc
  .tuple(fc.dictionary(fc.string({ unit: "binary" }), json, { maxKeys: 6 }), fc.constantFrom("item.added", "turn.ended", "thread.described", "never.heard.of"))
  .map(([fields, type]): Draft => ({ ...fields, type }))
  .filter((draft) => !["v", "seq", "at", "crc"].some((name) => name in draft));
const places = fc.record({ seq: fc.nat(), at: fc.constantFrom("2026-01-31T09:00:00.000Z", "whenever") });
const seal = sealOf("01900000-0000-7000-8000-000000000000");

it("decode∘encode keeps every field, known or not, and any type", () => {
  fc.assert(
    fc.property(drafts, places, (draft, place) => {
      const decoded = decode(encode(draft, place));
      expect(decoded).toEqual({ ok: true, record: JSON.parse(JSON.stringify({ v: 1, ...place, ...draft })) as unknown });
    }),
  );
});

it("a line is one line of UTF-8 that opens to the same record, for its own thread only", () => {
  fc.assert(
    fc.property(drafts, places, (draft, place) => {
      const line = sealLine(encode(draft, place), seal);
      expect(line.indexOf(0x0a)).toBe(line.length - 1);
      expect(openLine(line.subarray(0, -1), seal)).toEqual(decode(encode(draft, place)));
      expect(openLine(line.subarray(0, -1), sealOf("another"))).toEqual({ ok: false, why: "checksum mismatch" });
    }),
  );
});

it("lone surrogates survive", () => {
  const draft: Draft = { type: "item.added", id: "x", item: { type: "note", text: "\ud800 \udfff ok \ud83d\ude00" } };
  const opened = openLine(sealLine(encode(draft, { seq: 1, at: "" }), seal).subarray(0, -1), seal);
  expect(opened).toMatchObject({ ok: true, record: draft });
});

it("no change of one byte passes", () => {
  const line = sealLine(encode({ type: "item.added", id: "ä", item: { type: "note", n: 1 } }, { seq: 17, at: "2026-01-31T09:00:00.000Z" }), seal).subarray(0, -1);
  for (const [at, byte] of line.entries()) {
    for (let value = 0; value < 256; value++) {
      if (value === byte) continue;
      const changed = Buffer.from(line);
      changed[at] = value;
      if (openLine(changed, seal).ok) expect.fail(`byte ${at} as ${value}`);
    }
  }
});
