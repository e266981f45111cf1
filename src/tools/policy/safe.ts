/**
 * Safe: commands that only look. They write nothing, start nothing, change nothing of the shell that reads them, and are run by their
 * bare name or from the system's own folders. Each program has a list of the options that are known to be harmless (options.ts).
 *
 * Not among them, though they look harmless: `env` and `printenv` (they print secrets), files under /proc, /sys and /dev (another
 * process's environment, devices), a search from `/` on (it comes by those), git where its repository names programs to be run
 * (repository.ts), `printf %n` (it sets a variable), `date` with an operand (it sets the clock), and everything that runs code:
 * interpreters, package managers, build tools.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { safeGit } from "./git.ts";
import type { Simple } from "./lex.ts";
import { allows, type Allowed } from "./options.ts";
import { namesPrograms } from "./repository.ts";

const GREP: Allowed = {
  flags: "EFGPivwxcLlqsonHhabIrRUZz",
  values: "efmABC",
  numbers: true,
  long: ["extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp", "ignore-case", "no-ignore-case", "invert-match", "word-regexp", "line-regexp", "count", "files-with-matches", "files-without-match", "quiet", "silent", "no-messages", "only-matching", "line-number", "with-filename", "no-filename", "text", "recursive", "dereference-recursive", "null", "null-data", "byte-offset", "initial-tab", "line-buffered"],
  longValues: ["regexp", "file", "max-count", "after-context", "before-context", "context", "include", "exclude", "exclude-dir", "exclude-from", "binary-files", "label"],
  longMaybe: ["color", "colour"],
};

const PROGRAMS: Readonly<Record<string, Allowed | ((args: readonly string[]) => boolean)>> = {
  cat: { flags: "AbeEnstTuv", long: ["number", "number-nonblank", "show-all", "squeeze-blank", "show-ends", "show-tabs", "show-nonprinting"] },
  ls: {
    flags: "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
    values: "Iw",
    long: ["all", "almost-all", "human-readable", "recursive", "reverse", "directory", "inode", "size", "classify", "group-directories-first", "full-time", "numeric-uid-gid", "no-group", "file-type", "si"],
    longValues: ["sort", "time", "time-style", "format", "ignore", "hide", "indicator-style", "width", "block-size"],
    longMaybe: ["color"],
  },
  pwd: { flags: "LP", most: 0 },
  cd: { most: 1, operand: /^[^-]/u },
  head: { flags: "qvz", values: "nc", numbers: true, long: ["quiet", "silent", "verbose"], longValues: ["lines", "bytes"] },
  tail: { flags: "qvz", values: "nc", numbers: true, long: ["quiet", "silent", "verbose"], longValues: ["lines", "bytes"] },
  wc: { flags: "cmlLw", long: ["bytes", "chars", "lines", "words", "max-line-length"] },
  nl: { flags: "p", values: "bdfhilnsvw" },
  file: { flags: "bhiL0", long: ["brief", "mime", "mime-type", "mime-encoding", "dereference"] },
  stat: { flags: "fLtx", values: "c", long: ["dereference", "file-system", "terse"], longValues: ["format", "printf"] },
  echo: () => true,
  printf: ([format = "-", ...rest]) => !format.startsWith("-") && !/%(?![-0-9.]*[sbcq%])/u.test(format) && rest.length < 1000,
  true: () => true,
  false: () => true,
  ":": () => true,
  date: { flags: "uR", values: "dr", long: ["utc", "universal", "rfc-email"], longValues: ["date", "rfc-3339", "reference"], longMaybe: ["iso-8601"], operand: /^\+/u, most: 1 },
  whoami: { most: 0 },
  uname: { flags: "asnrvmpio", most: 0, long: ["all"] },
  arch: { most: 0 },
  nproc: { most: 0, long: ["all"] },
  id: { flags: "ugGnrz", most: 1 },
  groups: { most: 1 },
  which: { flags: "a" },
  command: ([option, ...names]) => (option === "-v" || option === "-V") && names.every((name) => !name.startsWith("-")),
  basename: { flags: "az", values: "s", long: ["multiple"], longValues: ["suffix"] },
  dirname: { flags: "z" },
  realpath: { flags: "eLmPqsz", longValues: ["relative-to", "relative-base"] },
  readlink: { flags: "efmnqsvz" },
  cut: { flags: "nsz", values: "bcdf", long: ["complement", "only-delimited"], longValues: ["bytes", "characters", "delimiter", "fields", "output-delimiter"] },
  sort: { flags: "bcCdfghiMmnRrsuVz", values: "kt", long: ["reverse", "unique", "numeric-sort", "human-numeric-sort", "version-sort", "ignore-case", "ignore-leading-blanks", "stable", "check"], longValues: ["key", "field-separator"] },
  uniq: { flags: "cdDiuz", values: "fsw", long: ["count", "repeated", "unique", "ignore-case"], most: 1 },
  tr: { flags: "cCdst", long: ["delete", "squeeze-repeats", "complement", "truncate-set1"], most: 2 },
  comm: { flags: "123z", most: 2 },
  column: { flags: "t", values: "sc" },
  rev: {},
  tac: {},
  fold: { flags: "bs", values: "w" },
  diff: { flags: "abBcdeEiNnpqrstTuwyZ", values: "CUxW", long: ["unified", "brief", "recursive", "new-file", "side-by-side", "ignore-case", "ignore-all-space", "ignore-space-change", "ignore-blank-lines", "suppress-common-lines", "report-identical-files", "minimal", "text", "no-dereference"], longValues: ["exclude", "width"], longMaybe: ["color", "unified", "context"] },
  cmp: { flags: "bls", values: "in", long: ["silent", "quiet", "verbose", "print-bytes"] },
  md5sum: {},
  sha1sum: {},
  sha256sum: {},
  sha512sum: {},
  cksum: {},
  strings: { flags: "af", values: "nt" },
  od: { flags: "abcdfhilosvx", values: "AjNtw" },
  hexdump: { flags: "bcCdovx", values: "ns" },
  xxd: { flags: "bEipu", values: "cgls", most: 1 },
  du: { flags: "abcDhHkLmPsSx0", values: "dt", long: ["all", "human-readable", "summarize", "total", "apparent-size", "one-file-system", "bytes"], longValues: ["max-depth", "exclude", "threshold", "block-size"] },
  df: { flags: "ahHiklPT", values: "tx", long: ["all", "human-readable", "inodes", "local", "print-type", "total", "si"] },
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
  rg: {
    flags: "FHILNPSUVabchilnopqsuvwx0.",
    values: "ABCEMTdefgjmrt",
    long: ["files", "hidden", "no-ignore", "no-ignore-vcs", "no-ignore-parent", "ignore-case", "smart-case", "case-sensitive", "fixed-strings", "word-regexp", "line-regexp", "invert-match", "count", "count-matches", "files-with-matches", "files-without-match", "line-number", "no-line-number", "column", "no-heading", "heading", "with-filename", "no-filename", "only-matching", "multiline", "multiline-dotall", "pcre2", "json", "stats", "quiet", "null", "text", "trim", "vimgrep", "unrestricted", "passthru", "no-messages", "follow", "one-file-system", "type-list", "no-config", "crlf", "debug", "glob-case-insensitive"],
    longValues: ["after-context", "before-context", "context", "glob", "iglob", "type", "type-not", "type-add", "max-count", "max-depth", "max-filesize", "max-columns", "regexp", "file", "replace", "sort", "sortr", "threads", "encoding", "color", "colors", "engine", "context-separator", "path-separator", "ignore-file"],
  },
  fd: { flags: "HIusigFaLp0", values: "EedtSj", long: ["hidden", "no-ignore", "unrestricted", "case-sensitive", "ignore-case", "glob", "fixed-strings", "absolute-path", "follow", "full-path", "print0"], longValues: ["extension", "max-depth", "min-depth", "type", "exclude", "size", "max-results", "changed-within", "changed-before", "color"] },
  tree: { flags: "adfhilpsugDFACNnqrtvx", values: "LIP", long: ["dirsfirst", "noreport", "gitignore", "prune", "du", "si", "matchdirs", "ignore-case"] },
  find: safeFind,
  sed: safeSed,
};

const SYSTEM = /^\/(?:usr\/)?bin\/(?=[^/]+$)/u;

/** Which commands of a script that was understood are safe, in the order in which they are run from `cwd` on. */
export function whichAreSafe(commands: readonly Simple[], cwd: string): boolean[] {
  // After a `cd` that may fail, each folder that was named is one to be in.
  const folders = [cwd];
  return commands.map(({ argv }) => {
    const [program = "", ...args] = argv;
    const name = program.replace(SYSTEM, "");
    if (name === "git") return folders.length === 1 && safeGit(args) && inside(args, folders) && !namesPrograms(cwd);
    if (CHANGES_FOLDER.has(name) && folders.length < MANY_FOLDERS) folders.push(...folders.map((folder) => resolve(folder, args.at(-1) ?? "/")));
    const allowed = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name]! : null;
    if (allowed === null || !(typeof allowed === "function" ? allowed(args) : allows(allowed, args))) return false;
    return PRINTS_ONLY.has(name) || (folders.length < MANY_FOLDERS && inside(args, folders));
  });
}

const MANY_FOLDERS = 64;
const CHANGES_FOLDER = new Set(["cd", "pushd", "popd"]);
const PRINTS_ONLY = new Set(["echo", "printf", "true", "false", ":", "cd", "which", "command", "basename", "dirname", "tr"]);
const OUTSIDE = /^\/(?:$|(?:proc|sys|dev)(?:\/|$))/iu;

/** Neither a folder nor an argument is the root of all files or in one of the kernel's own trees, also not through a link. */
function inside(args: readonly string[], folders: readonly string[]): boolean {
  if (folders.some((folder) => OUTSIDE.test(folder) || OUTSIDE.test(real(folder)))) return false;
  return args.every((arg) => {
    if (arg === "/dev/null") return true;
    if (arg.startsWith("-")) return !/\/(?:proc|sys|dev)(?:\/|$)/u.test(arg.replace(/\/(?:\.?\/)+/gu, "/")) && !/\/\.\.(?:\/|$)/u.test(arg);
    return folders.every((folder) => {
      const path = resolve(folder, arg);
      return !OUTSIDE.test(path) && !OUTSIDE.test(real(path));
    });
  });
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Tests and actions of find with the number of their arguments. */
const FIND: Readonly<Record<string, number>> = {
  ...Object.fromEntries("! ( ) -H -L -P -a -and -o -or -not -print -print0 -ls -prune -empty -depth -xdev -mount -follow -true -false -quit -readable -writable -executable -nouser -nogroup -daystart -noleaf -ignore_readdir_race".split(" ").map((name) => [name, 0])),
  ...Object.fromEntries("-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size -maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -perm -user -group -uid -gid -links -inum -samefile -fstype -used -printf".split(" ").map((name) => [name, 1])),
};

function safeFind(args: readonly string[]): boolean {
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (!/^[-!(),]/u.test(arg)) continue;
    if (!Object.hasOwn(FIND, arg)) return false;
    index += FIND[arg]!;
    // A value that could be an action itself is not taken for a value; `-mtime -7` is.
    if (FIND[arg] === 1 && /^-[^\d]/u.test(args[index] ?? "-x")) return false;
  }
  return true;
}

/** `sed -n 10,20p FILE`: prints lines, nothing else. */
function safeSed(args: readonly string[]): boolean {
  const [option, script = "", ...files] = args;
  return option === "-n" && /^(?:(?:\d+|\$)(?:,(?:\+?\d+|\$))?p)(?:;(?:\d+|\$)(?:,(?:\+?\d+|\$))?p)*$/u.test(script) && files.every((file) => !file.startsWith("-"));
}
