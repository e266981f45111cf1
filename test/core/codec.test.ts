import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, decodeValue, encode } from "../../src/protocol/codec.ts";
import { LOG_VERSION } from "../../src/protocol/record.ts";
import { worlds } from "./arbitrary.ts";
import { runs } from "./given.ts";

const place = { seq: 7, at: "2026-01-31T09:00:00.000Z" };
const RESERVED = ["v", "seq", "at", "crc", "type"];

/** Any JSON: encoding knows no negative zero. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const body = fc
  .tuple(fc.string(), fc.dictionary(fc.string().filter((key) => !RESERVED.includes(key)), json))
  .map(([type, fields]) => ({ ...fields, type }));

describe("encode and decode", () => {
  test("keep every field of any body, known or not", () => {
    fc.assert(
      fc.property(body, fc.nat(), fc.string(), (draft, seq, at) => {
        const decoded = decode(encode(draft, { seq, at }));
        expect(JSON.stringify(decoded)).toBe(JSON.stringify({ ok: true, record: { v: LOG_VERSION, seq, at, ...draft } }));
      }),
      runs(500),
    );
  });

  test("write back any record as it was read, newer versions included", () => {
    fc.assert(
      fc.property(worlds("orderly"), ({ logs }) => {
        for (const record of [...logs.values()].flat()) {
          const { seq, at, ...draft } = record;
          expect(encode(draft, { seq, at })).toBe(JSON.stringify(record));
        }
      }),
      runs(20),
    );
  });

  test("put v, seq and at first, then the draft's own keys in their order", () => {
    expect(encode({ turn: "t1", type: "future.thing", b: 1, a: { d: 1, c: 2 } }, place)).toBe('{"v":1,"seq":7,"at":"2026-01-31T09:00:00.000Z","turn":"t1","type":"future.thing","b":1,"a":{"d":1,"c":2}}');
  });

  test("keep lone surrogates, line separators and a key called __proto__", () => {
    const text = '{"v":1,"seq":7,"at":"x","type":"t","s":"\\ud83d \u2028\\u0000","__proto__":{"a":1}}';
    const decoded = decode(text);
    expect(decoded.ok && JSON.stringify(decoded.record)).toBe(JSON.stringify(JSON.parse(text)));
  });
});

describe("decode", () => {
  test("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json(), json.map((value) => JSON.stringify(value)), fc.constantFrom("[".repeat(200_000), '{"a":'.repeat(100_000), "")), (text) => {
        expect(typeof decode(text).ok).toBe("boolean");
      }),
      runs(500),
    );
  });

  test("never throws for an envelope with anything in it", () => {
    const envelope = fc.record({ v: fc.oneof(fc.constantFrom(0, 1, 2), json), seq: fc.oneof(fc.nat(), json), at: fc.oneof(fc.string(), json), type: fc.oneof(fc.constantFrom("message.added", "item.added", "x"), json), message: json }, { requiredKeys: [] });
    fc.assert(
      fc.property(envelope, (value) => {
        const good = isPlace(value.v) && isPlace(value.seq) && typeof value.at === "string" && typeof value.type === "string";
        expect(decode(JSON.stringify(value)).ok).toBe(good);
      }),
      runs(500),
    );
  });

  test.each([
    ["", "not JSON"],
    ['{"v":1', "not JSON"],
    ["null", "not an object"],
    ["[]", "not an object"],
    ['"text"', "not an object"],
    ['{"seq":1,"at":"x","type":"t"}', "no version"],
    ['{"v":"1","seq":1,"at":"x","type":"t"}', "no version"],
    ['{"v":-1,"seq":1,"at":"x","type":"t"}', "no version"],
    ['{"v":1,"at":"x","type":"t"}', "no seq"],
    ['{"v":1,"seq":1.5,"at":"x","type":"t"}', "no seq"],
    ['{"v":1,"seq":-1,"at":"x","type":"t"}', "no seq"],
    ['{"v":1,"seq":1e300,"at":"x","type":"t"}', "no seq"],
    ['{"v":1,"seq":1,"at":1,"type":"t"}', "no time"],
    ['{"v":1,"seq":1,"at":"x"}', "no type"],
  ])("says why %s is no record", (text, why) => {
    expect(decode(text)).toEqual({ ok: false, why });
  });

  test("takes the checksum off", () => {
    expect(decode('{"v":1,"seq":1,"at":"x","type":"t","crc":"1f2e3d4c"}')).toEqual({ ok: true, record: { v: 1, seq: 1, at: "x", type: "t" } });
  });

  test("brings a record of version 0 up to date and keeps what else it says", () => {
    const item = { type: "message", role: "user", content: [] };
    expect(decodeValue({ v: 0, seq: 3, at: "x", turn: "t", type: "message.added", id: "i", message: item, later: 1 })).toEqual({
      ok: true,
      record: { v: 1, seq: 3, at: "x", turn: "t", type: "item.added", id: "i", item, later: 1 },
    });
    expect(decodeValue({ v: 0, seq: 3, at: "x", type: "future.thing", a: 1 })).toEqual({ ok: true, record: { v: 1, seq: 3, at: "x", type: "future.thing", a: 1 } });
  });

  test("leaves a newer version as it is", () => {
    const newer = { v: LOG_VERSION + 1, seq: 3, at: "x", type: "message.added", message: 1 };
    expect(decode(JSON.stringify(newer))).toEqual({ ok: true, record: newer });
  });
});

function isPlace(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
