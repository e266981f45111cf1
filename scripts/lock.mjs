// A lock between processes, made of nothing but a directory.
//
// The lock is a directory that holds one file, named after its owner. Taking it renames a prepared directory into place:
// the kernel refuses that unless the place is free or an empty directory. A dead owner's lock is freed by removing that
// owner's file by name, so two processes that both find the owner dead can never remove the lock of a third.

import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;

/**
 * Runs `action` while holding the lock at `path`; waits for as long as a living process holds it.
 * @template T
 * @param {{ path: string, onWait: (pid: number) => void }} lock
 * @param {() => T | Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withLock({ path, onWait }, action) {
  const owner = `${process.pid}-${startTime(process.pid)}`;
  for (let waited = false; !take(path, owner); waited = true) {
    const holder = holderOf(path);
    if (holder !== undefined && !waited) onWait(pidOf(holder));
    await sleep(POLL_MS);
  }
  try {
    return await action();
  } finally {
    release(path, owner);
  }
}

/** @param {string} path @param {string} owner */
function take(path, owner) {
  const holder = holderOf(path);
  if (holder !== undefined) {
    if (isAlive(holder)) return false;
    rmSync(join(path, holder), { force: true });
  }
  const prepared = mkdtempSync(`${path}-`);
  writeFileSync(join(prepared, owner), "");
  try {
    renameSync(prepared, path);
    return true;
  } catch (error) {
    rmSync(prepared, { recursive: true });
    if (hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw error;
  }
}

/** @param {string} path @param {string} owner */
function release(path, owner) {
  rmSync(join(path, owner));
  try {
    rmdirSync(path);
  } catch (error) {
    if (!hasCode(error, "ENOTEMPTY", "EEXIST", "ENOENT")) throw error;
  }
}

/** @param {string} path */
function holderOf(path) {
  try {
    return readdirSync(path)[0];
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** @param {string} owner */
function isAlive(owner) {
  const pid = pidOf(owner);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (hasCode(error, "ESRCH")) return false;
  }
  return owner === `${pid}-${startTime(pid)}`;
}

/** @param {string} owner */
function pidOf(owner) {
  return Number.parseInt(owner, 10);
}

/**
 * Tells a process from a later one with the same number. Where the kernel does not say, the number alone has to do.
 * @param {number} pid
 */
function startTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fieldsAfterName = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fieldsAfterName[19] ?? "0";
  } catch {
    return "0";
  }
}

/** @param {unknown} error @param {string[]} codes */
function hasCode(error, ...codes) {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
