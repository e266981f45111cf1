/**
 * live.jsonl: text that is being streamed, one JSON line a part, so that a crash does not lose what the user already read. It is
 * emptied when the items are committed, and by nothing else. A line that is cut off or damaged is left out.
 */
import type { LiveItem, LivePart, LiveText } from "../../core/store.ts";
import { asFault } from "./fault.ts";
import { errorCode, type Files } from "./files.ts";
import { readWhole } from "./whole.ts";

const KEPT = "The log is not affected; only the text being streamed might be lost in a crash.";

export class LiveFile implements LiveText {
  readonly #path: string;
  readonly #files: Files;
  #fd: number | null = null;
  #length = 0;

  constructor(path: string, files: Files) {
    this.#path = path;
    this.#files = files;
  }

  add(part: LivePart): void {
    const line = Buffer.from(`${JSON.stringify(part)}\n`);
    try {
      const fd = this.#open();
      const wrote = this.#files.write(fd, line, null);
      this.#length += wrote;
      if (wrote < line.length) throw Object.assign(new Error("only a part was written"), { code: "short_write" });
    } catch (error) {
      throw asFault(error, { doing: "keep the text being streamed", kept: KEPT });
    }
  }

  clear(): void {
    try {
      if (this.#fd === null && this.#files.stat(this.#path) === null) return;
      const fd = this.#open();
      if (this.#length > 0) this.#files.truncate(fd, 0);
      this.#length = 0;
    } catch (error) {
      throw asFault(error, { doing: "empty live.jsonl", kept: KEPT });
    }
  }

  close(): void {
    if (this.#fd !== null) this.#files.close(this.#fd);
    this.#fd = null;
  }

  #open(): number {
    if (this.#fd !== null) return this.#fd;
    const fd = this.#files.open(this.#path, "append");
    try {
      this.#length = this.#files.fstat(fd).size;
    } catch (error) {
      this.#files.close(fd);
      throw error;
    }
    this.#fd = fd;
    return fd;
  }
}

/** What an earlier writer left, the parts of each item joined, in the order in which the items began. */
export function readLive(path: string, files: Files): LiveItem[] {
  let text: string;
  try {
    text = readWhole(path, files).toString("utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
  const items = new Map<string, LiveItem>();
  for (const line of text.split("\n")) {
    const part = partOf(line);
    if (!part) continue;
    const item = items.get(part.id);
    if (item) item.text += part.delta;
    else items.set(part.id, { id: part.id, kind: part.kind, text: part.delta });
  }
  return [...items.values()];
}

function partOf(line: string): LivePart | null {
  try {
    const { id, kind, delta } = JSON.parse(line) as Partial<LivePart>;
    const known = kind === "message" || kind === "reasoning" || kind === "output";
    return known && typeof id === "string" && typeof delta === "string" ? { id, kind, delta } : null;
  } catch {
    return null;
  }
}
