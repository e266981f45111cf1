/**
 * list_dir: what is in a folder, one entry a line, sorted, with its path from that folder: `name`, `folder/`, `link -> target`, and `pipe|`,
 * `socket=`, `device%`. Folders nearer to the top come first into the limit; links are not followed.
 */
import type { Dirent } from "node:fs";
import { readlink } from "node:fs/promises";
import { join } from "node:path";
import type { Tool, ToolHost, ToolOutcome } from "../../core/tool.ts";
import { isOnlyHeld } from "../sandbox/protected.ts";
import { count, failed, optional, path, readArguments } from "./arguments.ts";
import { entriesOf, hidden } from "./open.ts";
import type { FileToolOptions } from "./options.ts";
import { isFolder } from "./real.ts";
import { createView, type View } from "./view.ts";

const USUAL_ENTRIES = 500;
const MOST_ENTRIES = 5000;

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", description: "The folder. Default: the working folder." },
    depth: { type: "integer", minimum: 1, description: "How many levels of folders. Default: 1." },
    limit: { type: "integer", minimum: 1, description: `How many entries at most. Default: ${USUAL_ENTRIES}.` },
  },
  required: [],
  additionalProperties: false,
} as const;

const FIELDS = { path: optional(path), depth: count({ least: 1, most: 20, usual: 1 }), limit: count({ least: 1, most: MOST_ENTRIES, usual: USUAL_ENTRIES }) };

export function listDir(options: FileToolOptions): Tool {
  return {
    name: "list_dir",
    description: "Lists a folder, sorted: files as they are, folders with a slash, links with what they lead to. Hidden files are listed too.",
    parameters: PARAMETERS,
    effect: "read",
    async run(input, host) {
      const read = readArguments(input, FIELDS);
      if (!read.ok) return failed(`Nothing was listed. ${read.message}`);
      return list({ ...read.value, path: read.value.path ?? "." }, { host, view: createView(options, host) });
    },
  };
}

interface Entry {
  /** From the folder that was asked for. */
  readonly path: string;
  readonly mark: string;
}

async function list(args: { path: string; depth: number; limit: number }, { host, view }: { host: ToolHost; view: View }): Promise<ToolOutcome> {
  const found = view.find(args.path);
  if (!found.ok) return found.hidden ? hidden(args.path) : failed(found.message);
  if (!isFolder(found.real)) return failed(`${args.path} is not a folder.`);
  const entries: Entry[] = [];
  let level: string[] = [""];
  let more = false;
  for (let depth = 1; depth <= args.depth && level.length > 0 && !more; depth++) {
    const below: string[] = [];
    for (const folder of level) {
      if (host.signal.aborted) return failed("Interrupted.");
      const inside = await entriesOf(join(found.real, folder), view);
      if (typeof inside === "string") {
        if (folder === "") return failed(`${args.path} ${inside}.`);
        continue;
      }
      for (const entry of inside.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        const name = join(folder, entry.name);
        if (entry.isDirectory() && isOnlyHeld(join(found.real, name))) continue;
        more = entries.length === args.limit;
        if (more) break;
        entries.push({ path: name, mark: await markOf(entry, join(found.real, name)) });
        if (entry.isDirectory() && view.sees(join(found.real, name))) below.push(name);
      }
      if (more) break;
    }
    level = below;
  }
  if (entries.length === 0) return { status: "done", output: `${args.path} is empty.` };
  const lines = entries.toSorted((a, b) => compare(a.path, b.path)).map(({ path: name, mark }) => `${name.replace(/[\p{Cc}]/gu, "?")}${mark}`);
  return { status: "done", output: [...lines, ...(more ? [`[… there are more: the limit was ${args.limit} …]`] : [])].join("\n") };
}

async function markOf(entry: Dirent, real: string): Promise<string> {
  if (entry.isDirectory()) return "/";
  if (entry.isSymbolicLink()) return ` -> ${await readlink(real).catch(() => "?")}`;
  if (entry.isFIFO()) return "|";
  if (entry.isSocket()) return "=";
  return entry.isFile() ? "" : "%";
}

/** What is in a folder follows it. */
function compare(a: string, b: string): number {
  const [x, y] = [a.replaceAll("/", "\0"), b.replaceAll("/", "\0")];
  return x < y ? -1 : x > y ? 1 : 0;
}
