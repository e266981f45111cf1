/** Actions: what a script that only looks reads, lists and searches, for people. Any other command in it: nothing is said at all. */
import type { Action } from "../../protocol/record.ts";
import { gitCommand } from "./git.ts";
import type { Simple } from "./lex.ts";

/** They shape what comes through a pipe. */
const FILTERS = new Set("cat column cut fold grep egrep fgrep head nl rev rg sed sort tac tail tr uniq wc".split(" "));
/** They say or do nothing that is worth a line. */
const QUIET = new Set("cd echo printf pwd true false :".split(" "));

/** For commands that are known to be safe. */
export function actionsOf(commands: readonly Simple[]): Action[] {
  const actions: Action[] = [];
  for (const { argv, piped } of commands) {
    const name = (argv[0] ?? "").replace(/^.*\//u, "");
    if (QUIET.has(name) || (piped && FILTERS.has(name))) continue;
    const found = actionsOfOne(name, argv.slice(1));
    if (found === null) return [];
    actions.push(...found);
  }
  return actions;
}

function actionsOfOne(name: string, args: readonly string[]): Action[] | null {
  switch (name) {
    case "cat":
    case "nl":
    case "head":
    case "tail": {
      const files = operands(args, name === "nl" ? "bdfhilnsvw" : name === "cat" ? "" : "nc");
      return files.length === 0 ? null : files.map((path) => ({ type: "read", path }));
    }
    case "sed": {
      const files = operands(args, "").slice(1);
      return files.length === 0 ? null : files.map((path) => ({ type: "read", path }));
    }
    case "ls":
    case "tree":
      return lists(operands(args, name === "ls" ? "Iw" : "LIP"));
    case "find":
      return lists(args.slice(0, firstOption(args)));
    case "fd":
      return lists(operands(args, "EedtSj").slice(1));
    case "rg":
      if (args.includes("--files")) return lists(operands(args, RG_VALUES));
      return searches(args, RG_VALUES);
    case "grep":
    case "egrep":
    case "fgrep":
      return searches(args, "efmABC");
    case "git": {
      const [command, ...rest] = gitCommand(args).rest;
      if (command === "ls-files") return lists(operands(rest, "x"));
      return command === "grep" ? searches(rest, "efABCm") : null;
    }
    default:
      return null;
  }
}

const RG_VALUES = "ABCEMTdefgjmrt";

function lists(paths: readonly string[]): Action[] {
  return (paths.length === 0 ? ["."] : paths).map((path) => ({ type: "list", path }));
}

function searches(args: readonly string[], values: string): Action[] | null {
  const named = args.findIndex((arg) => arg === "-e" || arg === "--regexp");
  const found = operands(args, values);
  const query = named >= 0 ? args[named + 1] : found.shift();
  if (query === undefined) return null;
  return (found.length === 0 ? ["."] : found).map((path) => ({ type: "search", query, path }));
}

/** What is neither an option nor its value. `values`: letters that take one. A long option with its value apart is rare. */
function operands(args: readonly string[], values: string): string[] {
  const found: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (arg === "--") return [...found, ...args.slice(index + 1)];
    if (!arg.startsWith("-") || arg === "-") found.push(arg);
    else if (LONG_VALUES.has(arg) || (/^-[A-Za-z]+$/u.test(arg) && values.includes(arg.at(-1)!))) index += 1;
  }
  return found;
}

const LONG_VALUES = new Set("--lines --bytes --glob --iglob --type --type-not --max-count --max-depth --regexp --context --after-context --before-context --include --exclude --exclude-dir --sort --ignore".split(" "));

function firstOption(args: readonly string[]): number {
  const first = args.findIndex((arg) => /^[-!(]/u.test(arg));
  return first < 0 ? args.length : first;
}
