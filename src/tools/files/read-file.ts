/**
 * read_file: lines of a text file, each after its number and a tab; or a picture. Long lines are cut, and what is too much is left out with
 * the offset at which to go on. `blob:SHA-256` is what was kept for the thread, such as the full output of a call that was cut.
 */
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Tool, ToolHost, ToolOutcome } from "../../core/tool.ts";
import { count, failed, path, readArguments } from "./arguments.ts";
import { showImage } from "./image.ts";
import { kindOf, LOOKED_AT, UTF_16 } from "./kind.ts";
import { readLines, type Readable, type Slice } from "./lines.ts";
import { withFile } from "./open.ts";
import type { FileToolOptions } from "./options.ts";
import { createView } from "./view.ts";

const USUAL_LINES = 2000;
const LONGEST_LINE = 2000;
const BYTES_PER_TOKEN = 4;
const BLOB = "blob:";

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", description: "The file. Relative paths start at the working folder. blob:… reads what a cut output names." },
    offset: { type: "integer", minimum: 1, description: "The number of the first line, from 1. Default: 1." },
    limit: { type: "integer", minimum: 1, description: `How many lines. Default: ${USUAL_LINES}.` },
  },
  required: ["path"],
  additionalProperties: false,
} as const;

const HASHED_BYTES = 4 * 1024 * 1024;

const FIELDS = {
  path,
  offset: count({ least: 1, most: Number.MAX_SAFE_INTEGER, usual: 1 }),
  limit: count({ least: 1, most: 100_000, usual: USUAL_LINES }),
};

export function readFile(options: FileToolOptions): Tool {
  return {
    name: "read_file",
    description: `Reads a text file: each line after its number and a tab. Lines longer than ${LONGEST_LINE} bytes are cut. Also shows pictures (PNG, JPEG, GIF, WebP), and reads output that was cut by the \`blob:…\` path in its note.`,
    parameters: PARAMETERS,
    effect: "read",
    async run(input, host) {
      const read = readArguments(input, FIELDS);
      return read.ok ? show(read.value, { host, options }) : failed(`Nothing was read. ${read.message}`);
    },
  };
}

interface Wanted {
  path: string;
  offset: number;
  limit: number;
}

function show(args: Wanted, { host, options }: { host: ToolHost; options: FileToolOptions }): Promise<ToolOutcome> {
  const { signal } = host;
  if (args.path.startsWith(BLOB)) return showKept(args, { host, options });
  return withFile(args.path, {
    view: createView(options, host),
    signal,
    async use({ file, bytes, kind }) {
      if (kind?.image === true) return showImage({ path: args.path, kind, file, bytes, host });
      if (kind?.name === UTF_16) return failed(`${args.path} is UTF-16; only UTF-8 is read. Convert it with a command: iconv -f UTF-16 -t UTF-8.`);
      if (kind) return failed(`${args.path} is ${kind.name}, ${bytes} bytes, and not a text. Use a command that understands it.`);
      const outcome = await showLines(file, { ...args, host, options });
      const hash = outcome.status === "done" && bytes <= HASHED_BYTES ? await hashOf(file, bytes) : null;
      return hash === null ? outcome : { ...outcome, reads: [{ path: args.path, hash }] };
    },
  });
}

async function showKept(args: Wanted, { host, options }: { host: ToolHost; options: FileToolOptions }): Promise<ToolOutcome> {
  const kept = await host.readKept(args.path.slice(BLOB.length));
  if (!kept) return failed(`Nothing was kept as ${args.path} in this thread. Take the name from the note in the output that was cut.`);
  const bytes = Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength);
  const kind = kindOf(bytes.subarray(0, LOOKED_AT));
  if (kind?.image === true) return failed(`${args.path} is ${kind.name}, ${bytes.length} bytes, and not a text.`);
  return showLines({ read: (into, at, length, from) => Promise.resolve({ bytesRead: bytes.copy(into, at, from, from + length) }) }, { ...args, host, options });
}

async function showLines(file: Readable, { host, options, ...args }: Wanted & { host: ToolHost; options: FileToolOptions }): Promise<ToolOutcome> {
  const mostBytes = options.outputTokens * BYTES_PER_TOKEN;
  return tell(args, await readLines(file, { ...args, mostBytes, longest: Math.min(LONGEST_LINE, mostBytes), signal: host.signal }));
}

/** So that it can be told later whether the file is still the one that was read. */
async function hashOf(file: FileHandle, bytes: number): Promise<string> {
  const content = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(content, 0, bytes, 0);
  return createHash("sha256").update(content.subarray(0, bytesRead)).digest("hex");
}

function tell({ path: name, offset }: { path: string; offset: number }, { lines, cut, seen, more }: Slice): ToolOutcome {
  if (seen === 0) return { status: "done", output: `${name} is empty.` };
  if (lines.length === 0) return failed(`${name} has ${seen} ${seen === 1 ? "line" : "lines"}: there is no line ${offset}.`);
  const shown = lines.map((line, index) => `${offset + index}\t${withoutReturn(line.toString("utf8"))}${cut[index]! > 0 ? ` [… ${cut[index]} bytes more …]` : ""}`);
  if (more) shown.push(`[… more lines follow: go on with offset ${offset + lines.length} …]`);
  return { status: "done", output: shown.join("\n") };
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
