/** Read: a config file → its bytes, then its table and where each key stands. The parser is loaded only when there is something to parse. */
import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { locate } from "./locate.ts";
import type { Path } from "./keys.ts";

const LARGEST = 1_000_000;
const DEEPEST = 100;

export type FileRead = { ok: true; bytes: Uint8Array | null } | { ok: false; message: string };

/** `bytes` null: there is no such file. */
export function readConfigFile(file: string): FileRead {
  try {
    const info = statSync(file);
    if (!info.isFile()) return { ok: false, message: `${file}: is not a regular file.` };
    if (info.size > LARGEST) return { ok: false, message: `${file}: has ${info.size} bytes; a config file may have ${LARGEST}.` };
    return { ok: true, bytes: readFileSync(file) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { ok: true, bytes: null };
    return { ok: false, message: `${file}: cannot be read: ${code === "EACCES" ? "permission denied" : message}.` };
  }
}

export type Parsed = { ok: true; table: Record<string, unknown>; line(path: Path): number } | { ok: false; message: string };

export async function parseConfig(file: string, bytes: Uint8Array): Promise<Parsed> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  if (!isUtf8(bytes)) return { ok: false, message: `${file}:${badLine(text)}: is not UTF-8 text.` };
  const { parse, TomlError } = await import("smol-toml");
  try {
    const table = parse(text, { maxDepth: DEEPEST }) as Record<string, unknown>;
    return { ok: true, table, line: locate(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) return { ok: false, message: `${file}: is not valid TOML: ${error instanceof Error ? error.message : String(error)}.` };
    const reason = error.message.split("\n", 1)[0]!.replace(/^Invalid TOML document: /u, "").replace(/\.$/u, "");
    return { ok: false, message: `${file}:${error.line}:${error.column}: is not valid TOML: ${PLAIN[reason] ?? reason}.` };
  }
}

/** The commonest mistakes in words that say what to do. */
const PLAIN: Readonly<Record<string, string>> = {
  "invalid value": "this is no value; strings are written in quotes",
  "control characters are not allowed in strings": "a string ends on its own line, with a quote",
  "trying to redefine an already defined table or value": "this is set a second time",
};

/** The value of `-c key=VALUE`, or null when it is not TOML. */
export async function parseValue(text: string): Promise<{ value: unknown } | null> {
  const { parse } = await import("smol-toml");
  try {
    const table = parse(`value = ${text}`, { maxDepth: DEEPEST }) as Record<string, unknown>;
    return Object.keys(table).length === 1 ? { value: table["value"] } : null;
  } catch {
    return null;
  }
}

function badLine(text: string): number {
  return text.slice(0, Math.max(0, text.indexOf("\ufffd"))).split("\n").length;
}
