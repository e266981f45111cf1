/**
 * Parse: a command → the simple commands that it consists of, each with its literal words; or why that cannot be told.
 *
 * Understood means: the parser found no error and nothing but simple commands of literal words, joined by `&&`, `||`, `;`, newline and
 * `|`, and lex.ts read exactly the same commands by itself. `bash -c TEXT` is looked into. Of what is not understood, the commands that
 * can be seen are still listed, up to their first word that is not literal, so that rules can forbid them.
 */
import type { Command as Node, ParsedScript, SyntaxNode, Word } from "unbash";
import type { Command } from "../exec-arguments.ts";
import { baseName } from "./carriers.ts";
import { isPlainText, lex, type Simple } from "./lex.ts";

export interface Parsed {
  /** Why not, or null. */
  readonly unclear: string | null;
  readonly commands: readonly Simple[];
  /** The shells that were looked into, as they were called. */
  readonly shells: readonly (readonly string[])[];
}

/** Longer scripts are nothing that anybody reads before saying yes. */
const LONGEST = 20_000;
const DEEPEST = 2;

const SHELLS = new Set(["bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"]);

export async function parseCommand(command: Command): Promise<Parsed> {
  if (command.kind === "program") {
    const parsed = await lookInto([{ argv: command.argv, piped: false }], DEEPEST);
    return command.argv.every(isPlainText) ? parsed : { ...parsed, unclear: "it holds characters that are easily mistaken" };
  }
  const parsed = await parseScript(command.script, DEEPEST);
  if (command.login) return { ...parsed, unclear: "a login shell reads files of its own first" };
  if (command.shell !== null && !SHELLS.has(command.shell)) return { ...parsed, unclear: `it is read by ${command.shell}` };
  return parsed;
}

async function parseScript(script: string, depth: number): Promise<Parsed> {
  if (script.length > LONGEST) return nothing("it is too long");
  const { forEachChild, parse } = await import("unbash");
  const tree = parseSafely(parse, script);
  if (tree === null) return nothing("it cannot be parsed");
  if (tree.errors?.length) return { ...(await lookInto(visible(tree, forEachChild), depth)), unclear: "it is not valid shell" };
  const read = lex(script);
  const seen = simpleCommands(tree);
  if (read === null || seen === null) {
    return { ...(await lookInto(visible(tree, forEachChild), depth)), unclear: "it is more than plain commands" };
  }
  if (JSON.stringify(read) !== JSON.stringify(seen)) return { ...(await lookInto([...read, ...seen], depth)), unclear: "it can be read in two ways" };
  return lookInto(seen, depth);
}

function nothing(unclear: string): Parsed {
  return { unclear, commands: [], shells: [] };
}

function parseSafely(parse: (script: string) => ParsedScript, script: string): ParsedScript | null {
  try {
    return parse(script);
  } catch {
    return null;
  }
}

/** `bash -c TEXT` is replaced by what the text says. */
async function lookInto(commands: readonly Simple[], depth: number): Promise<Parsed> {
  const all: Simple[] = [];
  const shells: (readonly string[])[] = [];
  let unclear: string | null = null;
  for (const [index, command] of commands.entries()) {
    const script = scriptOf(command.argv);
    if (script === null) {
      if (evaluates(command.argv)) unclear ??= "the shell evaluates what is in its brackets";
      all.push(command);
      continue;
    }
    const inner = depth === 0 ? nothing("shells within shells") : await parseScript(script, depth - 1);
    unclear ??= inner.unclear;
    // All of them would read and write the same pipes, which a list of commands cannot say.
    if ((command.piped || commands[index + 1]?.piped) && inner.commands.slice(1).some(({ piped }) => !piped)) unclear ??= "several commands share a pipe";
    shells.push(command.argv, ...inner.shells);
    all.push(...inner.commands.map((each, place) => (place === 0 ? { ...each, piped: command.piped } : each)));
  }
  return { unclear, commands: all, shells };
}

/** Builtins run what stands in a subscript: `test -v 'a[$(rm x)]'`. */
function evaluates(argv: readonly string[]): boolean {
  const name = baseName(argv[0] ?? "");
  return EVALUATES.has(name) && argv.some((word) => word.includes("[") && word !== "[") && (name !== "printf" || argv[1]!.startsWith("-"));
}

const EVALUATES = new Set("[ builtin command declare export let local printf read readonly test typeset unset wait".split(" "));

function scriptOf(argv: readonly string[]): string | null {
  const [program = "", option = "", script] = argv;
  return argv.length === 3 && SHELLS.has(program) && /^-(?:c|lc|cl)$/u.test(option) ? script! : null;
}

/** The commands of a tree that has nothing else in it. */
function simpleCommands(tree: ParsedScript): Simple[] | null {
  const commands: Simple[] = [];
  for (const { command, background } of tree.commands) {
    if (background) return null;
    for (const pipeline of command.type === "AndOr" ? command.commands : [command]) {
      const bare = pipeline.type !== "Pipeline";
      if (!bare && (pipeline.prefixes.length > 0 || pipeline.operators.some((operator) => operator !== "|"))) return null;
      for (const [index, node] of (bare ? [pipeline] : pipeline.commands).entries()) {
        const argv = node.type === "Command" && node.redirects.every(isHarmless) ? words(node) : null;
        if (argv === null || !argv.whole || (node as Node).prefix.some(({ type }) => type === "Assignment")) return null;
        commands.push({ argv: argv.literal, piped: index > 0 });
      }
    }
  }
  return commands;
}

/** To or from nowhere, or from one output into the other. */
function isHarmless(redirect: Node["redirects"][number]): boolean {
  if (redirect.type !== "Redirect" || redirect.descriptor?.type === "FileDescriptorVariable") return false;
  const { operator, target } = redirect;
  const descriptor = redirect.descriptor?.value;
  if (operator === ">&") return (target?.text === "1" && descriptor === 2) || (target?.text === "2" && (descriptor ?? 1) === 1);
  if (operator === "<") return target?.text === "/dev/null" && (descriptor ?? 0) === 0;
  return (operator === ">" || operator === ">>") && target?.text === "/dev/null" && [1, 2].includes(descriptor ?? 1);
}

/** The literal words from the program on; `whole` when none had to be left out. */
function words(node: Node): { literal: string[]; whole: boolean } {
  const literal: string[] = [];
  for (const word of [node.name, ...node.args]) {
    if (word?.type !== "Word" || !isLiteral(word)) return { literal, whole: false };
    literal.push(word.value);
  }
  return { literal, whole: literal.length > 0 };
}

function isLiteral(word: Word): boolean {
  return (word.parts ?? []).every((part) => part.type === "Literal" || part.type === "SingleQuoted" || (part.type === "DoubleQuoted" && part.parts.every(({ type }) => type === "Literal")));
}

/** Every command anywhere in the tree, as far as its words are literal. */
function visible(tree: ParsedScript, forEachChild: (node: SyntaxNode, visit: (child: SyntaxNode) => void) => void): Simple[] {
  const commands: Simple[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === "Command") {
      const { literal } = words(node);
      if (literal.length > 0) commands.push({ argv: literal, piped: false });
    }
    forEachChild(node, visit);
  };
  visit(tree);
  return commands;
}
