/**
 * Protected: names at the top of a writable root that a sandboxed command may not write, because programs outside of the sandbox act
 * on what they hold (git runs what .git/config says, agents do what their folders say). Three cases:
 *
 * - It exists: it is mounted read-only on itself, for a `.git` file also the folder that it points to.
 * - It does not exist: a mount needs something to be mounted on, and that would stay behind on the user's disk. So the name is held
 *   while the command runs: an empty folder with one empty folder in it for each call that holds it (`skein-PID-N`; git shows neither),
 *   over which an empty read-only one is mounted. Letting go removes the holder's folder, and the name if nobody else holds it, by
 *   rmdir only, which takes nothing away that has content. It happens beside whatever comes next (rmdir takes milliseconds on some file
 *   systems), at the latest when this process exits. Holders whose process is gone are removed by the next call.
 * - It is a symbolic link: nothing can be mounted on that. What it points to is mounted read-only; that it is still the same
 *   link is seen to afterwards, and what was put in its place is moved aside.
 *
 * Names further down are not protected: a folder above them could be renamed.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, realpathSync, renameSync, rmdirSync, symlinkSync, type Stats } from "node:fs";
import { readdir, rmdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { isInside } from "./bwrap.ts";

export const PROTECTED_NAMES: readonly string[] = [".git", ".skein", ".agents", ".codex"];

export interface Protection {
  readonly readOnly: readonly string[];
  /** Held: to be seen as empty folders. */
  readonly held: readonly string[];
  /** Once no process of the command is left. Says what the user should know. */
  release(): string[];
}

/** `roots` are real paths; `more` are further paths to be protected like the names. */
export function protect(roots: readonly string[], more: readonly string[]): Protection {
  const readOnly = new Set<string>();
  const holds: Hold[] = [];
  const links: Link[] = [];
  const paths = new Set([...roots.flatMap((root) => PROTECTED_NAMES.map((name) => join(root, name))), ...more]);
  try {
    for (const path of paths) {
      const stat = statOf(path);
      if (stat?.isSymbolicLink()) links.push({ path, target: readlinkSync(path) });
      if (stat && !(stat.isDirectory() && holdersOnly(path))) {
        for (const real of realPaths(path, stat)) if (roots.some((root) => isInside(real, root))) readOnly.add(real);
      } else {
        const held = hold(path);
        if (held) holds.push(held);
        else if (stat) readOnly.add(path);
      }
    }
  } catch (error) {
    void letGo(holds);
    throw error;
  }
  return {
    readOnly: [...readOnly],
    held: holds.map(({ path }) => path),
    release: () => {
      void letGo(holds);
      return links.flatMap(putBack);
    },
  };
}

/** Where it really is, and where a `.git` file says that the repository is. */
function realPaths(path: string, stat: Stats): string[] {
  try {
    const real = realpathSync(path);
    const pointer = stat.isFile() && stat.size < 4096 ? /^gitdir: (.+)$/mu.exec(readFileSync(path, "utf8"))?.[1] : undefined;
    return pointer === undefined ? [real] : [real, realpathSync(resolve(path, "..", pointer.trim()))];
  } catch {
    return stat.isSymbolicLink() ? [] : [path];
  }
}

interface Hold {
  path: string;
  holder: string;
  /** Was there, empty, before anybody held it: the user's. */
  foundEmpty: boolean;
}

let count = 0;

const holding = new Set<Hold>();
/** Names that exist only to be held, with the last one who did: while they are let go they are empty for a moment. */
const onlyHeld = new Map<string, string>();

process.once("exit", () => {
  for (const { path, holder, foundEmpty } of holding) for (const folder of foundEmpty ? [holder] : [holder, path]) removeNow(folder);
});

/** Null where we cannot make anything, and so no command of ours. */
function hold(path: string): Hold | null {
  const holder = join(path, `skein-${process.pid}-${count++}`);
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      const foundEmpty = !make(path) && !onlyHeld.has(path) && readdirSync(path).length === 0;
      mkdirSync(holder);
      if (!foundEmpty) onlyHeld.set(path, holder);
      const held = { path, holder, foundEmpty };
      holding.add(held);
      return held;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EACCES" || code === "EROFS" || code === "EPERM") return null;
      // Somebody who held it has just let it go: it is made again.
      if (code !== "ENOENT" || attempt === 99) throw error;
    }
  }
  return null;
}

function make(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function letGo(holds: readonly Hold[]): Promise<void> {
  for (const held of holds) {
    await removeIfEmpty(held.holder);
    for (const name of await readdir(held.path).catch(() => [])) if (isStale(name)) await removeIfEmpty(join(held.path, name));
    if (!held.foundEmpty) await removeIfEmpty(held.path);
    if (onlyHeld.get(held.path) === held.holder && !existsSync(held.path)) onlyHeld.delete(held.path);
    holding.delete(held);
  }
}

/** A folder that is there only because somebody holds its name. */
export function isOnlyHeld(path: string): boolean {
  return PROTECTED_NAMES.includes(basename(path)) && holdersOnly(path) && (onlyHeld.has(path) || namesIn(path).length > 0);
}

function holdersOnly(path: string): boolean {
  return namesIn(path).every((name) => HOLDER.test(name));
}

const HOLDER = /^skein-(\d+)-\d+$/u;

function isStale(name: string): boolean {
  const pid = HOLDER.exec(name)?.[1];
  if (pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

interface Link {
  path: string;
  target: string;
}

function putBack({ path, target }: Link): string[] {
  const stat = statOf(path);
  if (stat?.isSymbolicLink() && readlinkSync(path) === target) return [];
  const aside = `${path}.made-by-command-${process.pid}-${count++}`;
  if (stat) renameSync(path, aside);
  symlinkSync(target, path);
  return [`${path} is protected and the command replaced it: it was put back${stat ? `, what the command had made is now ${aside}` : ""}.`];
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** What is not empty, or gone, is not ours to remove. */
async function removeIfEmpty(path: string): Promise<void> {
  await rmdir(path).catch(() => {});
}

function removeNow(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // As above.
  }
}
