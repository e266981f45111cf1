/**
 * Tokens: how much of the model's window a thing takes, estimated. About four bytes a token; what the server counted is better and is
 * used where there is one (core/compact.ts). Each item is measured once.
 */
import { isMessage, isOutput, isReasoning, type ContentPart, type Item } from "../protocol/item.ts";
import { textBlob } from "./context.ts";

const BYTES_PER_TOKEN = 4;
/** Of an image: providers count between 85 and some 1,600. */
const IMAGE = 1500;
/** Of what stands around each item. */
const FRAME = 4;

const measured = new WeakMap<object, number>();

/** Zero for what is no item at all: a log may hold anything. */
export function tokensOf(item: Item): number {
  if (typeof item !== "object" || item === null) return 0;
  const known = measured.get(item);
  if (known !== undefined) return known;
  const tokens = FRAME + measure(item);
  measured.set(item, tokens);
  return tokens;
}

export function tokensOfText(text: string): number {
  return Math.ceil(utf8Length(text) / BYTES_PER_TOKEN);
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function measure(item: Item): number {
  if (isMessage(item)) return ofParts(item.content);
  if (isOutput(item)) return typeof item.output === "string" ? tokensOfText(item.output) : ofParts(item.output);
  if (isReasoning(item)) {
    // What is encrypted is base64 and stands for about its length in tokens' bytes.
    const hidden = typeof item.encrypted_content === "string" ? Math.ceil((item.encrypted_content.length * 3) / 4 / BYTES_PER_TOKEN) : 0;
    return hidden + item.summary.reduce((sum, part) => sum + tokensOfText(part.text ?? ""), 0);
  }
  return tokensOfText(JSON.stringify(item));
}

function ofParts(parts: readonly ContentPart[]): number {
  let sum = 0;
  for (const part of parts) {
    const blob = textBlob(part);
    if (part.type === "input_image") sum += IMAGE;
    else if (blob) sum += tokensOfBytes(blob.bytes);
    else sum += tokensOfText("text" in part && typeof part.text === "string" ? part.text : JSON.stringify(part));
  }
  return sum;
}

const ASCII = /^[\0-\x7f]*$/u;

function utf8Length(text: string): number {
  if (ASCII.test(text)) return text.length;
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7ff) bytes += code >= 0xd800 && code <= 0xdfff ? 1 : 2;
    else if (code > 0x7f) bytes += 1;
  }
  return bytes;
}
