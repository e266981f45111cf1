/**
 * AGENTS.md: what the user and the repository want the model to know. The home's, then one of each folder from the repository's root down
 * to the working folder; `AGENTS.override.md` stands in for `AGENTS.md` beside it. It is prompt text: it is read without trust and says
 * where it came from. Together they take at most `limit` bytes, in this order; what is cut is named with its path.
 */
import { join } from "node:path";
import { readText } from "./files.ts";
import { noted, tagged, wholeLines } from "./tagged.ts";

const NAMES = ["AGENTS.override.md", "AGENTS.md"];

const INTRODUCTION =
  "These are instructions from files, from the widest to the nearest. Where they differ, the nearer ones count; what the user says in the conversation counts before all of them.";

interface Given {
  /** Skein's own folder. */
  home: string;
  /** From the repository's root to the working folder, real paths. */
  folders: readonly [root: string, ...string[]];
  limit: number;
}

/** `text` is empty when there is nothing to say. */
export function agentsText({ home, folders, limit }: Given): { text: string; warnings: string[] } {
  const warnings: string[] = [];
  if (limit === 0) return { text: "", warnings };
  const shown: string[] = [];
  let left = limit;
  const places = [{ folder: home, within: null }, ...folders.filter((folder) => folder !== home).map((folder) => ({ folder, within: folders[0] }))];
  for (const place of places) {
    const found = find(place, { left, warnings });
    if (!found) continue;
    const { path, text, size, isCut } = found;
    const kept = isCut ? wholeLines(text) : text;
    const bytes = Buffer.byteLength(kept);
    left -= bytes;
    if (isCut) warnings.push(`${path}: only ${bytes} of its ${size} bytes are shown to the model: AGENTS.md files together may take ${limit} (project_doc_max_bytes).`);
    shown.push(tagged("agents_md", { path, text: isCut ? noted(kept, `Cut: ${bytes} of ${size} bytes are shown. The whole file is ${path}`) : kept }));
  }
  return { text: shown.length === 0 ? "" : [INTRODUCTION, ...shown].join("\n\n"), warnings };
}

function find({ folder, within }: { folder: string; within: string | null }, { left, warnings }: { left: number; warnings: string[] }) {
  for (const name of NAMES) {
    const path = join(folder, name);
    const read = readText(path, { limit: left, within });
    if (read.kind === "refused") warnings.push(`${path}: ${read.why}; it was left out.`);
    if (read.kind === "text" && (read.text.trim() !== "" || (left === 0 && read.size > 0))) return { path, ...read };
  }
  return null;
}
