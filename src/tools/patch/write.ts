/**
 * Write: brings planned changes to disk, all or none. The only part of a patch that writes.
 *
 *   1. Every new content is written to a file of its own beside its target (`.NAME.skein-…`); folders that are missing are made.
 *   2. Every target is looked at again: if it is not what the plan saw, nothing is done.
 *   3. One after another, what is there is kept under a second name and the new file is renamed over it.
 *   4. The second names are removed.
 *
 * If anything fails before the last rename, everything is put back in reverse order. What cannot be put back is named. A kill in the
 * middle leaves whole files only, old or new, and maybe files of steps 1 and 3 beside them.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fchmodSync, fchownSync, linkSync, lstatSync, openSync, renameSync, rmdirSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { openAnchored, type Anchored } from "../files/anchored.ts";
import type { Bounds } from "../files/bounds.ts";
import { codeOf, reason } from "../files/real.ts";
import { stampAt } from "./ground.ts";
import type { Change } from "./plan.ts";

export type Written =
  /** The mode of each file that is there now, in the order of the changes. */
  | { ok: true; modes: readonly (number | null)[] }
  /** `lost`: what could not be put back. */
  | { ok: false; message: string; lost: readonly string[] };

/** A program that changes must not keep the right to act as its owner. */
const SET_ID = 0o6000;

type Undo = { what: string; back: () => void }[];

interface Step {
  change: Change;
  folder: Anchored;
  target: string;
  staged: string | null;
  kept: string;
}

export function writeChanges(changes: readonly Change[], { bounds, platform }: { bounds: Bounds; platform: NodeJS.Platform }): Written {
  const undo: Undo = [];
  const steps: Step[] = [];
  let path = "";
  for (const { path: named, real } of changes) {
    const why = bounds.forbids(real);
    if (why !== null) return { ok: false, message: `${named} ${why}.`, lost: [] };
  }
  try {
    for (const change of changes) {
      path = change.path;
      stage(change, { bounds, platform, undo, steps });
    }
    for (const { change, target } of steps) {
      path = change.path;
      const expected = change.before.kind === "absent" ? null : change.before.stamp;
      if (stampAt(target) !== expected) throw Object.assign(new Error("changed meanwhile"), { code: "SKEIN_CHANGED" });
    }
    for (const step of steps) {
      path = step.change.path;
      replace(step, undo);
    }
    const modes = steps.map(({ change, target }) => (change.after ? lstatSync(target).mode & 0o7777 : null));
    for (const { change, kept } of steps) if (change.before.kind !== "absent") ignoring(() => unlinkSync(kept));
    return { ok: true, modes };
  } catch (error) {
    const why = codeOf(error) === "SKEIN_CHANGED" ? "was changed by somebody else meanwhile" : reason(error);
    return { ok: false, message: `${path} ${why}.`, lost: rollBack(undo) };
  } finally {
    for (const { folder } of steps) folder.close();
  }
}

function stage(change: Change, { bounds, platform, undo, steps }: { bounds: Bounds; platform: NodeJS.Platform; undo: Undo; steps: Step[] }): void {
  const name = basename(change.real);
  const folder = openAnchored({ folder: dirname(change.real), anchor: bounds.anchor(change.real), platform, make: change.after !== null });
  for (const path of folder.made) undo.push({ what: `the folder of ${change.path}`, back: () => rmdirSync(path) });
  const own = `.${name.slice(0, 60)}.skein-${randomBytes(6).toString("hex")}`;
  const step: Step = { change, folder, target: folder.at(name), staged: change.after && folder.at(own), kept: folder.at(`${own}-kept`) };
  steps.push(step);
  if (!change.after || step.staged === null) return;
  const { staged } = step;
  const { bytes, mode, owner } = change.after;
  const descriptor = openSync(staged, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  undo.push({ what: `the unfinished ${change.path}`, back: () => ignoring(() => unlinkSync(staged)) });
  try {
    writeFileSync(descriptor, bytes);
    // Only root can give files away; others keep what they may.
    if (owner) ignoring(() => fchownSync(descriptor, owner.uid, owner.gid));
    if (mode !== null) fchmodSync(descriptor, mode & ~SET_ID);
  } finally {
    closeSync(descriptor);
  }
}

function replace({ change, target, staged, kept }: Step, undo: Undo): void {
  if (change.before.kind === "absent") {
    if (staged !== null) moveToNew(staged, target);
    undo.push({ what: change.path, back: () => unlinkSync(target) });
    return;
  }
  if (staged === null) renameSync(target, kept);
  else keep(target, kept);
  // A rename between two names of one file does nothing, so that the second name is still there.
  undo.push({
    what: change.path,
    back() {
      renameSync(kept, target);
      ignoring(() => unlinkSync(kept));
    },
  });
  if (staged !== null) renameSync(staged, target);
}

/** As a second name where the file system has that, so that the file is never missing; else by moving it. */
function keep(target: string, kept: string): void {
  try {
    linkSync(target, kept);
  } catch {
    renameSync(target, kept);
  }
}

/** By a link, which takes no name that somebody else has just made. */
function moveToNew(staged: string, target: string): void {
  try {
    linkSync(staged, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw error;
    renameSync(staged, target);
    return;
  }
  unlinkSync(staged);
}

function rollBack(undo: Undo): string[] {
  const lost: string[] = [];
  for (const { what, back } of undo.toReversed()) {
    try {
      back();
    } catch (error) {
      lost.push(`${what} ${reason(error)}`);
    }
  }
  return lost;
}

function ignoring(act: () => void): void {
  try {
    act();
  } catch {
    // Best effort: what matters was done or will be told.
  }
}
