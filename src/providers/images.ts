/**
 * The images of a request, as its wire takes them. In the log an image is `blob:<sha256>`; nothing here changes the log.
 *
 * Too large in bytes or pixels: made smaller. Unreadable and too large: left out. Too many, or too much together: the oldest are left out. Each
 * that is left out has a text in its place (content.ts).
 *
 * The same history gives the same bytes, and a longer one begins like a shorter: which images are left out is found by going through the
 * history as it grew. When it becomes too much, half of the room is made free at once, so that this happens seldom: each time the
 * provider's cache is lost.
 */
import { createHash } from "node:crypto";
import type { ModelRequest } from "../core/provider.ts";
import type { BlobReader } from "../core/store.ts";
import { isMessage, isOutput, type ContentPart, type Item } from "../protocol/item.ts";
import { dataOf, type Images } from "./content.ts";
import { mediaTypeOf, sizeOf } from "./image-size.ts";
import { asObject, asText } from "./json.ts";
import { shrink } from "./shrink.ts";

export interface ImageLimits {
  /** The longest side, in pixels. */
  side: number;
  /** Of one image, and of all together, as base64. */
  characters: number;
  together: number;
  count: number;
}

/** OpenAI makes them as small as this before its models see them, takes URLs of 20 MiB, and 50 MB for the whole request. */
export const OPENAI_IMAGES: ImageLimits = { side: 2048, characters: 20 * 1024 * 1024, together: 40_000_000, count: 500 };

interface Loading {
  blobs: BlobReader;
  signal: AbortSignal;
  limits: ImageLimits;
}

export async function loadImages(request: ModelRequest, host: Loading): Promise<Images> {
  const urls = new Map<string, string | null>();
  const found: { part: unknown; characters: number }[] = [];
  for (const part of imageParts(request)) {
    const url = asText(asObject(part)["image_url"]);
    if (!urls.has(url)) {
      const fitting = await fitted(url, { ...host, thread: request.thread });
      if (fitting !== undefined) urls.set(url, fitting);
    }
    const sent = urls.has(url) ? urls.get(url) : url.startsWith("blob:") ? null : url;
    if (sent) found.push({ part, characters: sent.length });
  }
  return { urls, left: withoutRoom(found, host.limits) };
}

/** undefined: there is nothing to say of it. */
async function fitted(url: string, { thread, blobs, signal, limits }: Loading & { thread: string }): Promise<string | null | undefined> {
  const blob = url.startsWith("blob:") ? url.slice("blob:".length) : null;
  const known = blob === null ? undefined : smaller.get(keyOf(blob, limits));
  if (known !== undefined) return known;
  const data = blob === null ? dataOf(url) : null;
  const content = blob === null ? data && Buffer.from(data.data, "base64") : await blobs.get(thread, { sha256: blob, bytes: 0 }).catch(() => null);
  const mediaType = content && mediaTypeOf(content);
  if (!content || !mediaType) return undefined;
  const size = sizeOf(content);
  const fits = Math.ceil(content.length / 3) * 4 <= limits.characters && (!size || Math.max(size.width, size.height) <= limits.side);
  if (fits) return blob === null ? undefined : dataUrl(mediaType, content);
  const key = keyOf(blob ?? createHash("sha256").update(content).digest("hex"), limits);
  const before = smaller.get(key);
  if (before !== undefined) return before;
  const picture = await shrink(content, { bounds: { side: limits.side, bytes: Math.floor(limits.characters / 4) * 3 }, signal });
  const result = picture && dataUrl(picture.mediaType, picture.bytes);
  if (!signal.aborted) keep(key, result);
  return result;
}

/** By content and limits. Making one again takes a second, so the process remembers as many as take this many characters. */
const smaller = new Map<string, string | null>();
const MOST_KEPT = 64 * 1024 * 1024;
let kept = 0;

function keep(key: string, url: string | null): void {
  smaller.set(key, url);
  kept += url?.length ?? 0;
  for (const [oldest, other] of smaller) {
    if (kept <= MOST_KEPT) return;
    smaller.delete(oldest);
    kept -= other?.length ?? 0;
  }
}

function keyOf(sha256: string, { side, characters }: ImageLimits): string {
  return `${sha256} ${side} ${characters}`;
}

function withoutRoom(found: readonly { part: unknown; characters: number }[], { count, together }: ImageLimits): ReadonlySet<unknown> {
  const left = new Set<unknown>();
  let first = 0;
  let sum = 0;
  found.forEach(({ characters }, index) => {
    sum += characters;
    if (sum <= together && index - first < count) return;
    while (first < index && (sum > together / 2 || index - first >= count / 2)) {
      left.add(found[first]!.part);
      sum -= found[first++]!.characters;
    }
  });
  return left;
}

function* imageParts({ input }: ModelRequest): Generator {
  for (const { item } of input) for (const part of contentOf(item)) if (asObject(part)["type"] === "input_image") yield part;
}

function contentOf(item: Item): readonly ContentPart[] {
  if (isMessage(item)) return item.content;
  return isOutput(item) && Array.isArray(item.output) ? item.output : [];
}

function dataUrl(mediaType: string, content: Uint8Array): string {
  return `data:${mediaType};base64,${Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64")}`;
}
