/**
 * Result: what a server answered → what the model reads. Text stays text; pictures that models know are kept as blobs; resources and links
 * are told as text; everything else is named, with its size. Structured content is told as JSON where there is no text. Text that is too
 * long is cut in the middle and kept in full.
 */
import type { ContentPart } from "../../protocol/item.ts";
import type { ToolHost, ToolOutcome } from "../../core/tool.ts";
import { keptAs, shorten } from "../output.ts";
import { isObject } from "./listing.ts";

const MOST_IMAGES = 20;
const IMAGE_BYTES = 20 * 1024 * 1024;

type Part = { text: string } | { image: Buffer };
interface Given {
  host: ToolHost;
  /** Of text that the model gets. */
  outputBytes: number;
}

export async function toolOutcome(result: unknown, given: Given): Promise<ToolOutcome> {
  if (!isObject(result) || (result["content"] !== undefined && !Array.isArray(result["content"]))) return { status: "failed", output: "The server's answer is not in the form that MCP has. Whether the call did anything is unknown." };
  const parts = ((result["content"] ?? []) as unknown[]).map(readContent);
  const structured = result["structuredContent"];
  if (structured !== undefined && !parts.some((part) => "text" in part && part.text !== "")) parts.push({ text: jsonOf(structured) });
  return { status: result["isError"] === true ? "failed" : "done", ...(await tell(parts, given)) };
}

export async function resourceOutcome(result: unknown, given: Given): Promise<ToolOutcome> {
  if (!isObject(result) || !Array.isArray(result["contents"])) return { status: "failed", output: "The server's answer is not in the form that MCP has." };
  return { status: "done", ...(await tell((result["contents"] as unknown[]).map(readResource), given)) };
}

/** A text as outcome, cut and kept like any other. */
export async function tell(parts: readonly Part[], { host, outputBytes }: Given): Promise<Pick<ToolOutcome, "output" | "full">> {
  const text = parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n");
  const images = parts.flatMap((part) => ("image" in part ? [part.image] : []));
  const cut = shorten(text, outputBytes);
  const full = cut ? await host.keep(text) : undefined;
  const shown = cut ? cut(keptAs(full)) : text;
  if (images.length === 0) return { output: shown === "" ? "(The answer is empty.)" : shown, ...(full ? { full } : {}) };
  const ordered = cut ? [{ text: shown }, ...images.map((image) => ({ image }))] : parts;
  const output: ContentPart[] = [];
  let room = MOST_IMAGES;
  for (const part of ordered) {
    if ("text" in part) output.push({ type: "input_text", text: part.text });
    else if (room-- > 0) output.push({ type: "input_image", image_url: `blob:${(await host.keepBytes(part.image)).sha256}` });
  }
  if (room < 0) output.push({ type: "input_text", text: `[${-room} more images left out]` });
  return { output, ...(full ? { full } : {}) };
}

function readContent(raw: unknown): Part {
  const item = isObject(raw) ? raw : {};
  switch (item["type"]) {
    case "text":
      return { text: textOf(item["text"]) };
    case "image":
    case "audio":
      return readBytes(item["data"], `${item["type"]} (${textOf(item["mimeType"])})`);
    case "resource":
      return readResource(item["resource"]);
    case "resource_link": {
      const about = [item["title"] ?? item["name"], item["mimeType"], item["description"]].filter((text) => typeof text === "string" && text !== "");
      return { text: `[resource ${textOf(item["uri"])}${about.length > 0 ? `: ${about.join(", ")}` : ""}]` };
    }
    default:
      return { text: `[content of an unknown type: ${jsonOf(raw).slice(0, 200)}]` };
  }
}

function readResource(raw: unknown): Part {
  const item = isObject(raw) ? raw : {};
  const named = `resource ${textOf(item["uri"])}${typeof item["mimeType"] === "string" ? ` (${item["mimeType"]})` : ""}`;
  if (typeof item["text"] === "string") return { text: `[${named}]\n${item["text"]}` };
  return readBytes(item["blob"], named);
}

function readBytes(base64: unknown, named: string): Part {
  if (typeof base64 !== "string") return { text: `[${named}: without content]` };
  const bytes = Buffer.from(base64, "base64");
  if (isImage(bytes) && bytes.length <= IMAGE_BYTES) return { image: bytes };
  return { text: `[${named}: ${bytes.length} bytes that cannot be shown]` };
}

/** PNG, JPEG, GIF and WebP, by their first bytes: what a server calls them does not count. */
function isImage(bytes: Buffer): boolean {
  const head = bytes.toString("latin1", 0, 12);
  return head.startsWith("\x89PNG\r\n\x1a\n") || head.startsWith("\xff\xd8\xff") || /^GIF8[79]a/u.test(head) || (head.startsWith("RIFF") && head.slice(8) === "WEBP");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : jsonOf(value);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deeply)";
  }
}
