/**
 * Repository: whether git, started in a folder, might run a program that the repository itself names. A clone brings no config of its
 * own, but an unpacked archive does, and so does a bare repository that was committed as plain files. Only a `.git` folder is looked
 * into: where it is a file (a worktree, a submodule), or where there are submodules, the answer is "it might".
 */
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** Settings of git whose value is a program, or that bring in settings from elsewhere. */
const RUNS = /fsmonitor|hookspath|command|program|external|textconv|pager|editor|askpass|helper|driver|gitproxy|\[\s*(?:include|alias|filter|diff|merge|url)|worktree|partialclone|showsignature/iu;

/** Besides the config: a hook that runs when the index is refreshed, and places where more config is. */
const FILES = ["hooks/post-index-change", "config.worktree", "commondir", "modules"];

/** The mode of a repository within this one, as the index has it. git asks that repository too, with its own config. */
const LINK = Buffer.from([0x00, 0x00, 0xe0, 0x00]);
const LARGEST_INDEX = 64_000_000;

export function namesPrograms(cwd: string): boolean {
  for (let folder = existsSync(cwd) ? realpathSync(cwd) : cwd; ; folder = dirname(folder)) {
    const git = join(folder, ".git");
    if (existsSync(git)) return !lstatSync(git).isDirectory() || saysSo(join(git, "config")) || FILES.some((file) => existsSync(join(git, file))) || hasLinks(git);
    if (existsSync(join(folder, "HEAD")) && existsSync(join(folder, "refs"))) return true;
    if (dirname(folder) === folder) return false;
  }
}

function saysSo(config: string): boolean {
  try {
    return RUNS.test(readFileSync(config, "utf8"));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

function hasLinks(git: string): boolean {
  if (readdirSync(git).some((name) => name.startsWith("sharedindex."))) return true;
  const index = join(git, "index");
  if (!existsSync(index)) return false;
  return statSync(index).size > LARGEST_INDEX || readFileSync(index).includes(LINK);
}
