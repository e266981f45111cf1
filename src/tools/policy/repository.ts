/**
 * Repository: whether git, started in a folder, might run a program that the repository itself names. A clone brings no config of its
 * own, but an unpacked archive does, and so does a bare repository that was committed as plain files. Only a `.git` folder is looked
 * into: where it is a file (a worktree, a submodule), the answer is "it might".
 */
import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** Settings of git whose value is a program, or that bring in settings from elsewhere. */
const RUNS = /fsmonitor|hookspath|command|program|external|textconv|pager|editor|askpass|helper|driver|gitproxy|\[\s*(?:include|alias|filter|diff|merge|url)|worktree|partialclone|showsignature/iu;

/** Besides the config: a hook that runs when the index is refreshed, and places where more config is. */
const FILES = ["hooks/post-index-change", "config.worktree", "commondir"];

export function namesPrograms(cwd: string): boolean {
  for (let folder = existsSync(cwd) ? realpathSync(cwd) : cwd; ; folder = dirname(folder)) {
    const git = join(folder, ".git");
    if (existsSync(git)) return !lstatSync(git).isDirectory() || saysSo(join(git, "config")) || FILES.some((file) => existsSync(join(git, file)));
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
