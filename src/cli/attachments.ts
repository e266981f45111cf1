/** What goes with a prompt from files: images, known by their first bytes, and the schema of the answer. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Json } from "../protocol/json.ts";
import { EXIT, UserError } from "./shell.ts";

export interface Attachments {
  images: string[];
  schema?: Json;
}

const MOST_BYTES = 20 * 1024 * 1024;

export function readAttachments(request: { images: readonly string[]; schemaFile: string | null }, cwd: string): Attachments {
  const images = request.images.flatMap((given) => filesIn(given, cwd)).map(readImage);
  if (request.schemaFile === null) return { images };
  return { images, schema: readSchema(resolve(cwd, request.schemaFile)) };
}

/** Several may be given with commas between them, unless that is the name of one. */
function filesIn(given: string, cwd: string): string[] {
  const whole = resolve(cwd, given);
  return existsSync(whole) ? [whole] : given.split(",").map((file) => resolve(cwd, file));
}

function readImage(file: string): string {
  const bytes = read(file, "image");
  if (bytes.length > MOST_BYTES) throw new UserError(`${file} is larger than 20 MiB; nothing was sent. Make it smaller first.`, EXIT.usage);
  if (!isImage(bytes)) throw new UserError(`${file} is not a PNG, JPEG, GIF or WebP image; nothing was sent.`, EXIT.usage);
  return bytes.toString("base64");
}

function isImage(bytes: Buffer): boolean {
  const start = bytes.toString("latin1", 0, 12);
  return start.startsWith("\u0089PNG\r\n\u001a\n") || start.startsWith("\u00ff\u00d8\u00ff") || start.startsWith("GIF8") || (start.startsWith("RIFF") && start.slice(8) === "WEBP");
}

function readSchema(file: string): Json {
  const text = read(file, "schema").toString("utf8");
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw new UserError(`${file} is not JSON (${error instanceof Error ? error.message : String(error)}); nothing was sent.`, EXIT.usage);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw new UserError(`${file} must hold a JSON object, the schema of the answer.`, EXIT.usage);
  return schema as Json;
}

function read(file: string, what: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`The ${what} ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}); nothing was sent.`, EXIT.usage);
  }
}
