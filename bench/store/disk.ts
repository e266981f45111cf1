/** What a folder takes on a disk: the lengths of its files. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export function folderBytes(folder: string, { deep = true }: { deep?: boolean } = {}): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += deep ? folderBytes(path) : 0;
    else if (entry.isFile()) bytes += statSync(path).size;
  }
  return bytes;
}
