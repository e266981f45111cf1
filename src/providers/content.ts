/**
 * Content of messages and outputs, wire-neutral: text and images, nothing else. What a wire could not take becomes a short text in its
 * place, so that neither the model nor the API meets a hole.
 *
 * An image is `blob:<sha256>` in the log. Its bytes are fetched before a request is built (images.ts), so that building stays pure.
 */
import type { Item } from "../protocol/item.ts";
import { asObject, asText, isObject, type Fields } from "./json.ts";

export type Part = { kind: "text"; text: string } | { kind: "image"; url: string; detail: string | null };

export interface Images {
  /** `blob:<sha256>` or a data URL → the data URL to send; null: it cannot be sent. What is missing here is sent as it is, or is gone. */
  urls: ReadonlyMap<string, string | null>;
  /** Parts for which there is no room. */
  left: ReadonlySet<unknown>;
}

const GONE = "[An image was here; it is not available any more.]";
const UNREADABLE = "[An image was here; it is too large to be sent and could not be made smaller.]";
const NO_ROOM = "[An image was here; it was left out because the request would have been too large with it.]";

export function partsOf(content: unknown, images: Images): Part[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return (content as readonly unknown[]).filter(isObject).map((part) => partOf(part, images));
}

function partOf(part: Readonly<Record<string, unknown>>, images: Images): Part {
  if (part["type"] === "input_image") {
    if (images.left.has(part)) return { kind: "text", text: NO_ROOM };
    const url = imageUrl(part["image_url"], images);
    if (images.urls.get(asText(part["image_url"])) === null) return { kind: "text", text: UNREADABLE };
    return url === null ? { kind: "text", text: GONE } : { kind: "image", url, detail: detailOf(part["detail"]) };
  }
  for (const field of ["text", "refusal"]) if (typeof part[field] === "string") return { kind: "text", text: part[field] };
  return { kind: "text", text: `[Content of the kind "${String(part["type"]).slice(0, 40)}" is left out here.]` };
}

/** The parts as one text; an image says that it was there. */
export function textOnly(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "[image]")).join("\n");
}

function detailOf(detail: unknown): string | null {
  return ["low", "high", "auto", "original"].includes(detail as string) ? (detail as string) : null;
}

function imageUrl(url: unknown, images: Images): string | null {
  if (typeof url !== "string") return null;
  const loaded = images.urls.get(url);
  if (loaded !== undefined || url.startsWith("blob:")) return loaded ?? null;
  return /^https?:\/\/./iu.test(url) || dataOf(url) ? url : null;
}

/** The halves of a data URL of a kind of image that models take. */
export function dataOf(url: string): { mediaType: string; data: string } | null {
  const match = /^data:image\/(png|jpe?g|gif|webp);base64,(?=[A-Za-z0-9+/])/iu.exec(url);
  if (!match) return null;
  const data = url.slice(match[0].length);
  const padding = data.indexOf("=");
  // Not one pattern for the whole: images are megabytes, and it would keep a way back for each character.
  if (/[^A-Za-z0-9+/=]/u.test(data) || (padding >= 0 && !/^==?$/u.test(data.slice(padding, padding + 3)))) return null;
  const kind = match[1]!.toLowerCase();
  return { mediaType: `image/${kind === "jpg" ? "jpeg" : kind}`, data };
}

const MOST_RESULTS = 10;

/** What a hosted call did and found, for wires and places that do not know it. */
export function hostedText(item: Item): string {
  const action = asObject(item["action"]);
  const subject = asText(action["query"]) || asText(action["url"]) || asText(action["pattern"]);
  const done = subject === "" ? "[Searched the web.]" : `[Searched the web: ${subject}]`;
  const results = foundBy(item, action).map(({ title, url }) => `- ${[asText(title), asText(url)].filter((text) => text !== "").join(": ")}`);
  return [done, ...results.slice(0, MOST_RESULTS)].join("\n");
}

/** Responses lists sources where it was asked to; Messages has a block of results. */
function foundBy(item: Item, action: Fields): Fields[] {
  const blocks = Array.isArray(item["blocks"]) ? (item["blocks"] as readonly unknown[]) : [];
  const results = action["sources"] ?? asObject(blocks[1])["content"];
  return Array.isArray(results) ? (results as unknown[]).filter(isObject) : [];
}
