/** Images at a request's edge: made to fit, or left out with a text in their place. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { BlobReader } from "../../src/core/store.ts";
import type { Item } from "../../src/protocol/item.ts";
import { dataOf } from "../../src/providers/content.ts";
import { orientationOf, sizeOf } from "../../src/providers/image-size.ts";
import { loadImages, OPENAI_IMAGES, type ImageLimits } from "../../src/providers/images.ts";
import { collect, MODEL, providerAt, requestFor, shown, WIRES, withServer } from "./given.ts";
import { gif, HALVES, held, jpeg, NOISE, png, seen, webp } from "./pictures.ts";

const LIMITS: ImageLimits = { side: 100, characters: 8000, together: 20_000, count: 4 };

function blobsOf(...contents: Buffer[]): { blobs: BlobReader; urls: string[]; reads: string[] } {
  const bySha = new Map(contents.map((content) => [createHash("sha256").update(content).digest("hex"), content]));
  const reads: string[] = [];
  const get: BlobReader["get"] = (_, { sha256 }) => {
    reads.push(sha256);
    return Promise.resolve(bySha.get(sha256) ?? null);
  };
  return { blobs: { get }, urls: [...bySha.keys()].map((sha) => `blob:${sha}`), reads };
}
const picture = (image_url: string): Item => ({ type: "message", role: "user", content: [{ type: "input_image", image_url }] });
async function loaded(contents: Buffer[], limits = LIMITS) {
  const { blobs, urls } = blobsOf(...contents);
  const items = urls.map(picture);
  const images = await loadImages(requestFor("responses", { input: shown(...items) }), { blobs, limits, signal: new AbortController().signal });
  const left = items.map((item) => images.left.has((item["content"] as object[])[0]));
  return { sent: urls.map((url) => images.urls.get(url)), left };
}
const bytesOf = (url: string | null | undefined) => Buffer.from(dataOf(url ?? "")!.data, "base64");

describe("the size is read from the first bytes", () => {
  test.each([
    ["PNG", png(300, 7, NOISE)],
    ["JPEG", jpeg(300, 7, NOISE)],
    ["turned JPEG", held(jpeg(300, 7, NOISE), 6)],
    ["WebP", webp(300, 7, NOISE)],
    ["GIF", gif(300, 7, NOISE)],
  ])("%s", (_, content) => {
    expect(sizeOf(content)).toEqual({ width: 300, height: 7 });
    for (let end = 0; end < 40; end++) expect(() => [sizeOf(content.subarray(0, end)), orientationOf(content.subarray(0, end))]).not.toThrow();
  });
});

describe("one image", () => {
  test("that fits goes as it is", async () => {
    const small = png(100, 40, HALVES(100));
    expect((await loaded([small])).sent).toEqual([`data:image/png;base64,${small.toString("base64")}`]);
  });

  test.each([
    ["PNG", png(400, 200, HALVES(400)), "image/png"],
    ["JPEG", jpeg(400, 200, HALVES(400)), "image/jpeg"],
    ["WebP", webp(400, 200, HALVES(400)), "image/png"],
    ["GIF", gif(400, 200, HALVES(400)), "image/png"],
  ])("%s with too many pixels is made smaller and keeps its shape", async (_, content, mediaType) => {
    const { sent } = await loaded([content]);
    expect(dataOf(sent[0]!)?.mediaType).toBe(mediaType);
    expect(seen(bytesOf(sent[0]))).toEqual({ width: 100, height: 50, first: "red", last: "blue" });
  });

  test("with too many bytes becomes JPEG, and smaller until it fits", async () => {
    const { sent } = await loaded([png(100, 100, NOISE)], { ...LIMITS, characters: 12_000 });
    expect(dataOf(sent[0]!)?.mediaType).toBe("image/jpeg");
    expect(dataOf(sent[0]!)!.data.length).toBeLessThanOrEqual(12_000);
    expect(sizeOf(bytesOf(sent[0]))?.width).toBeLessThan(100);
  });

  test.each([
    [1, { width: 100, height: 50, first: "red", last: "blue" }],
    [2, { width: 100, height: 50, first: "blue", last: "red" }],
    [3, { width: 100, height: 50, first: "blue", last: "red" }],
    [6, { width: 50, height: 100, first: "red", last: "blue" }],
    [8, { width: 50, height: 100, first: "blue", last: "red" }],
  ])("held as Exif's %i is turned, because its Exif data is lost", async (orientation, look) => {
    const { sent } = await loaded([held(jpeg(400, 200, HALVES(400)), orientation)]);
    expect(seen(bytesOf(sent[0]))).toEqual(look);
  });

  test.each([
    ["cut short", png(400, 200, NOISE).subarray(0, 5000)],
    ["of more pixels than memory can hold", Buffer.concat([png(1, 1, NOISE).subarray(0, 16), Buffer.from([0, 1, 0, 0, 0, 1, 0, 0]), png(1, 1, NOISE).subarray(24)])],
    ["whose size is missing and that has too many bytes", Buffer.concat([Buffer.from("GIF89a", "latin1"), Buffer.alloc(20_000)])],
  ])("%s is said to be unreadable", async (_, content) => {
    expect((await loaded([content])).sent).toEqual([null]);
  });

  test("as a data URL is made to fit as well", async () => {
    const url = `data:image/png;base64,${png(400, 200, HALVES(400)).toString("base64")}`;
    const images = await loadImages(requestFor("chat", { input: shown(picture(url)) }), { ...blobsOf(), limits: LIMITS, signal: new AbortController().signal });
    expect(seen(bytesOf(images.urls.get(url)))).toMatchObject({ width: 100, height: 50 });
  });

  test("gives the same bytes each time, and is read and made once a process", async () => {
    const { blobs, urls, reads } = blobsOf(jpeg(500, 300, NOISE));
    const once = () => loadImages(requestFor("responses", { input: shown(picture(urls[0]!)) }), { blobs, limits: { ...LIMITS, characters: 100_000 }, signal: new AbortController().signal });
    const [first, again] = [await once(), await once()];
    expect(again).toEqual(first);
    expect(reads).toHaveLength(1);
  });
});

describe("all together", () => {
  const each = (count: number) => Array.from({ length: count }, (_, n) => png(30 + n, 30, HALVES(20)));

  test("too many: the oldest are left out, half of the room at once", async () => {
    expect((await loaded(each(4))).left).toEqual([false, false, false, false]);
    expect((await loaded(each(5))).left).toEqual([true, true, true, false, false]);
    expect((await loaded(each(6))).left).toEqual([true, true, true, false, false, false]);
    expect((await loaded(each(7))).left).toEqual([true, true, true, false, false, false, false]);
  });

  test("too many bytes: the same", async () => {
    const noisy = Array.from({ length: 4 }, (_, n) => jpeg(60, 60, (x, y) => NOISE(x + n * 100, y)));
    const { sent } = await loaded(noisy, { ...LIMITS, characters: 100_000, together: 1_000_000 });
    const length = Math.max(...sent.map((url) => url!.length));
    expect((await loaded(noisy, { ...LIMITS, characters: 100_000, together: length * 3 })).left).toEqual([true, true, true, false]);
  });
});

describe.each(WIRES)("%s", (wire) => {
  test("a photograph of 6,000 pixels arrives smaller; one that is broken and large is told as text", async () => {
    const { blobs, urls } = blobsOf(png(6000, 50, HALVES(6000)), png(6000, 50, NOISE).subarray(0, 1000));
    await withServer({ script: [{ text: "I see." }] }, async (server) => {
      const events = await collect(providerAt(wire, server.url), requestFor(wire, { input: shown(...urls.map(picture)) }), { blobs });
      expect(events.at(-1)?.type).toBe("done");
      expect(server.problems).toEqual([]);
      const text = server.requests[0]!.raw.toString();
      const [, data] = /base64,([A-Za-z0-9+/=]+)|"data":"([A-Za-z0-9+/=]+)"/u.exec(text)!.filter((part) => part !== undefined);
      expect(sizeOf(Buffer.from(data!, "base64"))?.width).toBe(MODEL[wire].startsWith("claude") ? 2000 : OPENAI_IMAGES.side);
      expect(text).toContain("too large to be sent and could not be made smaller");
    });
  });
});
