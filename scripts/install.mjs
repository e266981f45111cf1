// Is node_modules/ what package-lock.json asks for?
//
// Quick answer: node_modules/.skein-lock is a byte copy of the lock file it was last found to match. Otherwise npm's own
// record of what it installed is compared with the lock file, so that an `npm install` by hand is recognised too.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean }} LockedPackage */

/** @param {string} root */
export function isInstalled(root) {
  const lock = read(join(root, "package-lock.json"));
  const copy = join(root, "node_modules", ".skein-lock");
  if (lock === undefined) return false;
  if (read(copy) === lock) return true;
  const installed = read(join(root, "node_modules", ".package-lock.json"));
  if (installed === undefined || !agrees(packagesIn(lock), packagesIn(installed))) return false;
  writeFileSync(copy, lock);
  return true;
}

/**
 * Packages for other platforms are locked and optional, and rightly absent.
 * @param {Map<string, LockedPackage>} locked
 * @param {Map<string, LockedPackage>} installed
 */
function agrees(locked, installed) {
  for (const [path, wanted] of locked) {
    const found = installed.get(path);
    if (found === undefined && !(wanted.optional || wanted.devOptional)) return false;
    if (found !== undefined && (found.version !== wanted.version || found.integrity !== wanted.integrity)) return false;
  }
  return [...installed.keys()].every((path) => locked.has(path));
}

/** @param {string} lockText @returns {Map<string, LockedPackage>} */
function packagesIn(lockText) {
  const packages = new Map(Object.entries(JSON.parse(lockText).packages ?? {}));
  packages.delete("");
  return packages;
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
