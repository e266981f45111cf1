/** The folders around the working folder: its repository's root, and the way down from there. All paths are real paths. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** From the root (the nearest folder upwards that holds `.git`; without one, the working folder itself) down to the working folder. */
export function repositoryFolders(cwd: string): [root: string, ...string[]] {
  const start = realOr(cwd);
  const way: [string, ...string[]] = [start];
  for (let folder = start; ; folder = dirname(folder)) {
    if (folder !== start) way.unshift(folder);
    if (existsSync(join(folder, ".git"))) return way;
    if (dirname(folder) === folder) return [start];
  }
}

/** A folder that is gone is named as it was. */
function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
