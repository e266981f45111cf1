// Is dist/ built from the sources as they are now?
//
// dist/.sources lists every input of the build with its size and modification time, as it was before the build read it.
// dist/ is fresh exactly when the same list, taken now, is equal: no file is read, and a source that changed during a
// build makes that build stale.

import { readFileSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = ["src"];
const FILES = ["package.json", "package-lock.json", "scripts/build.mjs", "scripts/bundle.mjs"];

/** @param {string} root */
export function listSources(root) {
  const paths = [...FILES];
  for (const folder of FOLDERS) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) paths.push(join(entry.parentPath, entry.name).slice(root.length + 1));
    }
  }
  return paths
    .toSorted()
    .map((path) => describe(root, path))
    .join("");
}

/** @param {string} root @param {string} sources what `listSources` returned before the build */
export function isBuiltFrom(root, sources) {
  try {
    return readFileSync(stampOf(root), "utf8") === sources;
  } catch {
    return false;
  }
}

/** @param {string} root @param {string} sources */
export function recordBuiltFrom(root, sources) {
  const stamp = stampOf(root);
  writeFileSync(`${stamp}-${process.pid}`, sources);
  renameSync(`${stamp}-${process.pid}`, stamp);
}

/** @param {string} root @param {string} path */
function describe(root, path) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  return stat === undefined ? `${path} absent\n` : `${path} ${stat.size} ${stat.mtimeMs}\n`;
}

/** @param {string} root */
function stampOf(root) {
  return join(root, "dist", ".sources");
}
