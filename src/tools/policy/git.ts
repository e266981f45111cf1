/** Git: the commands of git that only look, and the place of its command behind options that come first. */
import { allows, type Allowed } from "./options.ts";

/** Of `git -C x --no-pager push`: the options -C and --no-pager, and ["push"]. */
export function gitCommand(args: readonly string[]): { options: string[]; rest: readonly string[] } {
  const options: string[] = [];
  let index = 0;
  while (args[index]?.startsWith("-")) {
    const option = args[index]!;
    options.push(option);
    index += /^(?:-C|-c|--git-dir|--work-tree|--namespace|--config-env|--super-prefix|--attr-source)$/u.test(option) ? 2 : 1;
  }
  return { options, rest: args.slice(index) };
}

const REVISIONS: Allowed = {
  flags: "pusziratbwcmvqgEFPM",
  values: "nULSG",
  numbers: true,
  long: ["patch", "no-patch", "stat", "shortstat", "numstat", "name-only", "name-status", "summary", "raw", "oneline", "graph", "decorate", "no-decorate", "all", "branches", "tags", "remotes", "merges", "no-merges", "first-parent", "reverse", "follow", "full-history", "abbrev-commit", "no-abbrev-commit", "no-color", "no-renames", "ignore-all-space", "ignore-space-change", "ignore-blank-lines", "ignore-space-at-eol", "cached", "staged", "check", "quiet", "exit-code", "no-ext-diff", "no-textconv", "text", "minimal", "patience", "histogram", "function-context", "cherry-pick", "left-right", "topo-order", "date-order", "relative-date", "boundary", "full-index", "binary", "merge-base", "pickaxe-all", "pickaxe-regex", "no-notes", "cc", "source", "invert-grep", "regexp-ignore-case", "compact-summary", "no-prefix"],
  longValues: ["format", "max-count", "skip", "since", "after", "until", "before", "author", "committer", "grep", "unified", "diff-filter", "date", "diff-algorithm", "inter-hunk-context"],
  longMaybe: ["pretty", "decorate", "stat", "color", "word-diff", "color-words", "abbrev", "find-renames", "find-copies", "relative", "submodule", "dirstat", "branches", "tags", "remotes"],
};

const COMMANDS: Readonly<Record<string, Allowed>> = {
  status: { flags: "sbvuz", long: ["short", "branch", "long", "verbose", "show-stash", "ignored", "no-renames", "no-ahead-behind"], longMaybe: ["porcelain", "untracked-files", "ignore-submodules", "column"] },
  log: REVISIONS,
  show: REVISIONS,
  diff: REVISIONS,
  "rev-parse": { flags: "q", long: ["abbrev-ref", "verify", "quiet", "short", "show-toplevel", "show-prefix", "show-cdup", "is-inside-work-tree", "is-inside-git-dir", "is-bare-repository", "git-dir", "git-common-dir", "absolute-git-dir", "symbolic-full-name", "all"], longMaybe: ["short", "abbrev-ref"] },
  "ls-files": { flags: "cdmoiszutvk", values: "x", long: ["cached", "deleted", "modified", "others", "ignored", "stage", "unmerged", "killed", "exclude-standard", "full-name", "error-unmatch", "deduplicate", "directory"], longValues: ["exclude"] },
  "ls-tree": { flags: "drtlz", long: ["name-only", "name-status", "full-name", "full-tree", "long"] },
  blame: { flags: "wMCcelnfpst", values: "L", long: ["line-porcelain", "porcelain", "show-email", "show-name", "show-number", "root"], longValues: ["since", "date"] },
  grep: { flags: "aiIwvhHEGPFnlLcopqrW", values: "efABCm", numbers: true, long: ["cached", "untracked", "ignore-case", "word-regexp", "invert-match", "extended-regexp", "basic-regexp", "perl-regexp", "fixed-strings", "line-number", "column", "files-with-matches", "name-only", "files-without-match", "count", "only-matching", "heading", "break", "show-function", "function-context", "all-match", "and", "or", "not", "quiet", "no-color", "full-name"], longValues: ["max-depth", "after-context", "before-context", "context", "max-count"], longMaybe: ["color"] },
  shortlog: { flags: "sne", long: ["summary", "numbered", "email", "all", "no-merges"] },
  describe: { long: ["tags", "all", "always", "long", "exact-match", "contains", "dirty"], longValues: ["match", "abbrev"] },
  "merge-base": { flags: "a", long: ["all", "is-ancestor", "fork-point"] },
  "rev-list": { values: "n", numbers: true, long: ["all", "count", "left-right", "no-merges", "merges", "reverse", "first-parent", "oneline"], longValues: ["max-count", "since", "until", "author"] },
  "cat-file": { flags: "tspe" },
};

const BRANCH_LIST: Allowed = { flags: "arv", long: ["all", "remotes", "verbose", "list", "show-current", "ignore-case", "no-color"], longMaybe: ["color", "sort"], longValues: ["contains", "no-contains", "merged", "no-merged", "points-at"], most: 0 };

export function safeGit(args: readonly string[]): boolean {
  const { options, rest } = gitCommand(args);
  const [command = "", ...own] = rest;
  if (!options.every((option) => option === "--no-pager" || option === "--no-optional-locks" || option === "--literal-pathspecs")) return false;
  if (command === "branch") return allows(own.includes("--list") ? { ...BRANCH_LIST, most: Infinity } : BRANCH_LIST, own);
  if (command === "remote") return own.length === 0 || (own.length === 1 && own[0] === "-v");
  if (command === "stash") return own.length === 1 && own[0] === "list";
  // `%G?` and its kin start gpg.
  return Object.hasOwn(COMMANDS, command) && !own.some((arg) => arg.includes("%G")) && allows(COMMANDS[command]!, own);
}
