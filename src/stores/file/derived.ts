/**
 * Files that are derived from the log, for people, tools and listing: metadata.json, state.json, diffs/NNN.diff. Nothing reads them
 * to open a thread. The same log gives the same bytes.
 */
import { stateFile, summaryOf } from "../../core/derived.ts";
import type { BlobReader, Derived } from "../../core/store.ts";
import type { BlobRef } from "../../protocol/record.ts";
import { asFault } from "./fault.ts";
import type { Files } from "./files.ts";
import type { Place } from "./header.ts";
import { diffFile } from "./layout.ts";
import { loadState } from "./loading.ts";
import { readThread } from "./reader.ts";
import { isSummary } from "./summary.ts";
import { readJson, replaceFile } from "./whole.ts";

export async function writeDerived(place: Place, derived: Derived, { files, blobs }: { files: Files; blobs: BlobReader }): Promise<void> {
  try {
    writeSmall(place, derived, files);
    for (const { number, content } of derived.diffs) {
      const diff = await blobs.get(place.thread, content);
      if (!diff) continue;
      files.makeFolder(place.files.diffs);
      replaceFile(diffFile(place.files, number), diff, files);
    }
  } catch (error) {
    throw asFault(error, { doing: "refresh what is derived from the log", kept: "The log is complete; the derived files are made again when it is opened." });
  }
}

function writeSmall(place: Place, derived: Pick<Derived, "metadata" | "state">, files: Files): void {
  replaceFile(place.files.metadata, pretty(derived.metadata), files);
  replaceFile(place.files.state, pretty(derived.state), files);
}

/** Rebuilds metadata.json and state.json where one is missing or unreadable; true when that was so. */
export function mendSmall(place: Place, files: Files): boolean {
  const metadata = readJson(place.files.metadata, files);
  if (metadata && isSummary(metadata, place.thread) && readJson(place.files.state, files)) return false;
  const state = loadState(place.home, place.thread, files);
  if (state) writeSmall(place, { metadata: summaryOf(state), state: stateFile(state) }, files);
  return true;
}

/** Everything derived, from the log alone. Diffs are numbered in the order of the log, so the whole log is read. */
export async function rebuildDerived(place: Place, { files, blobs }: { files: Files; blobs: BlobReader }): Promise<void> {
  const state = loadState(place.home, place.thread, files);
  if (!state) return;
  const diffs: Derived["diffs"] = [];
  for (const { record } of readThread(place, {}, files)) {
    if (record.type === "turn.ended" && "diff" in record && record.diff) diffs.push({ number: diffs.length + 1, content: record.diff as BlobRef });
  }
  await writeDerived(place, { metadata: summaryOf(state), state: stateFile(state), diffs }, { files, blobs });
}

function pretty(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
