/**
 * Assess: what a command would do, decided on its parsed form before it is run: whether it only looks, what the rules say of it, what
 * "for this session" would allow, and how it is shown.
 *
 * A grant covers exactly what was seen: one key for each pipeline, with its programs, arguments and folder. Commands that change the shell
 * they run in (`cd`, `export`, `alias`) change what the others mean, so a script with one of them is granted as a whole.
 */
import type { Assessment } from "../../core/tool.ts";
import type { Command } from "../exec-arguments.ts";
import { actionsOf } from "./actions.ts";
import { baseName } from "./carriers.ts";
import type { Simple } from "./lex.ts";
import { parseCommand } from "./parse.ts";
import { decideByRules, type Rule } from "./rules.ts";
import { whichAreSafe } from "./safe.ts";

export interface Assessed {
  command: Command;
  cwd: string;
  rules: readonly Rule[];
  /** Why it must leave the sandbox, or null. */
  outside: string | null;
  /** Variables that the call sets for the command: they can turn any program into another. */
  env?: Readonly<Record<string, string>>;
  /** It gets a terminal, on which harmless programs start pagers, and pagers start anything. */
  terminal?: boolean;
}

export async function assessCommand({ command, cwd, rules, outside, env = {}, terminal = false }: Assessed): Promise<Assessment> {
  const sets = Object.keys(env).length > 0;
  const found = await parseCommand(command);
  const parsed = sets ? { ...found, unclear: "it sets variables" } : found;
  const understood = parsed.unclear === null && parsed.commands.length > 0;
  const harmless = understood ? whichAreSafe(parsed.commands, cwd) : [];
  const safe = understood && !terminal && harmless.every(Boolean);
  const actions = safe ? actionsOf(parsed.commands) : [];
  return {
    safe,
    ...decideByRules({ parsed, rules, safe: harmless, terminal }),
    outside,
    shown: { kind: "command", command: commandText(command), cwd },
    grant: understood ? grantOf(parsed.commands, cwd) : null,
    ...(actions.length > 0 ? { actions } : {}),
  };
}

const CHANGES_SHELL = new Set(". alias bind builtin cd command declare enable eval exec export hash let local mapfile popd printf pushd read readarray readonly set shift shopt source trap typeset ulimit umask unalias unset wait".split(" "));

function grantOf(commands: readonly Simple[], cwd: string): NonNullable<Assessment["grant"]> {
  const pipelines: Simple[][] = [];
  for (const command of commands) {
    if (command.piped) pipelines.at(-1)!.push(command);
    else pipelines.push([command]);
  }
  const words = pipelines.map((pipeline) => pipeline.map(({ argv }) => argv));
  const whole = commands.length > 1 && commands.some(({ argv }) => CHANGES_SHELL.has(baseName(argv[0] ?? "")));
  const keys = whole ? [JSON.stringify(["script", cwd, ...words])] : words.map((pipeline) => JSON.stringify(["argv", cwd, ...(pipeline.length === 1 ? pipeline[0]! : pipeline)]));
  const texts = words.map((pipeline) => pipeline.map(argvText).join(" | "));
  return { keys: [...new Set(keys)], text: `exactly this, in ${cwd}: ${texts.join("; ")}` };
}

/** As one would type it. */
export function commandText(command: Command): string {
  return command.kind === "script" ? command.script : argvText(command.argv);
}

function argvText(argv: readonly string[]): string {
  return argv.map((word) => (/^[A-Za-z0-9_./,:@%+=^-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
