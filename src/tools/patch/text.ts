/**
 * Text: a file's bytes as lines, and back without any loss. Each line keeps its own ending (`\n`, `\r\n`; the last may have none), and a
 * byte order mark is kept apart. Pure.
 */
import { isUtf8 } from "node:buffer";

export interface Text {
  readonly bom: string;
  readonly lines: readonly string[];
  /** One for each line; "" only for the last. */
  readonly ends: readonly string[];
}

const BOM = "\uFEFF";

/** Null: why these bytes are no text that can be patched. */
export function decodeText(bytes: Buffer): { ok: true; text: Text } | { ok: false; why: string } {
  if (bytes.includes(0)) return { ok: false, why: isUtf16(bytes) ? "is UTF-16, and only UTF-8 can be patched" : "is binary (it has NUL bytes)" };
  if (!isUtf8(bytes)) return { ok: false, why: "is not UTF-8" };
  return { ok: true, text: splitText(bytes.toString("utf8")) };
}

export function splitText(content: string): Text {
  const bom = content.startsWith(BOM) ? BOM : "";
  const lines = content.slice(bom.length).split("\n");
  const ends = lines.map((line, index) => (index === lines.length - 1 ? "" : line.endsWith("\r") ? "\r\n" : "\n"));
  for (const [index, end] of ends.entries()) if (end === "\r\n") lines[index] = lines[index]!.slice(0, -1);
  if (lines.at(-1) === "") {
    lines.pop();
    ends.pop();
  }
  return { bom, lines, ends };
}

export function encodeText({ bom, lines, ends }: Text): Buffer {
  const parts: string[] = [bom];
  for (const [index, line] of lines.entries()) parts.push(line, ends[index]!);
  return Buffer.from(parts.join(""), "utf8");
}

function isUtf16(bytes: Buffer): boolean {
  return bytes.length >= 2 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff));
}
