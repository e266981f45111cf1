/**
 * Lex: the part of the shell's language that is simple enough to be sure of, read by hand. It is the second opinion beside the real
 * parser (parse.ts): a script is understood only when both see the same commands, so that a mistake in one of them approves nothing.
 *
 * Understood: words of plain characters, '…', "…" without expansions, \x; `&&`, `||`, `;`, newline and `|` between commands; redirections
 * to or from /dev/null, and 2>&1 or >&2. Everything else is null: expansions, globs, braces, leading tildes, assignments, comments,
 * jobs, reserved words, groups, background, line continuations. Beyond ASCII, letters and digits are taken, inside quotes only: which
 * bytes are blanks outside of them depends on the locale.
 */

/** One command: its words after quote removal. `piped`: it reads what the one before it writes. */
export interface Simple {
  readonly argv: readonly string[];
  readonly piped: boolean;
}

/** What bash reads as syntax when it begins a command. */
const RESERVED = new Set("! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split(" "));

const PLAIN = /[A-Za-z0-9_./,:@%+=-]/u;
const FOREIGN = /[^\n\t\x20-\x7e]/gu;
const FOREIGN_LETTER = /^[\p{L}\p{M}\p{N}]$/u;
/** Letters that look like punctuation or like nothing, or that are ASCII in disguise. */
const DECEPTIVE = /[\p{Lm}\p{Default_Ignorable_Code_Point}\uff00-\uffef\u{1d400}-\u{1d7ff}]/u;

/** Nothing in the text can make a person or a program read it as something else: no control, blank, quote or dash in disguise. */
export function isPlainText(text: string): boolean {
  return (text.match(FOREIGN) ?? []).every((char) => FOREIGN_LETTER.test(char) && !DECEPTIVE.test(char));
}

export function lex(script: string): Simple[] | null {
  if (!isPlainText(script)) return null;
  const commands: Simple[] = [];
  let at = 0;
  let piped = false;
  let wanted = false;

  for (;;) {
    at = skip(script, at, wanted || commands.length === 0 ? " \t\n" : " \t");
    if (at >= script.length && !wanted) return commands;
    const command = readCommand(script, at);
    if (command === null) return null;
    commands.push({ argv: command.argv, piped });
    at = command.end;
    const separator = /^(?:&&|\|\||\||;|\n)/u.exec(script.slice(at, at + 2))?.[0];
    if (separator === undefined) return at >= script.length ? commands : null;
    at += separator.length;
    piped = separator === "|";
    wanted = separator !== ";" && separator !== "\n";
    if (!wanted) at = skip(script, at, " \t\n");
  }
}

function skip(script: string, from: number, blanks: string): number {
  let at = from;
  while (at < script.length && blanks.includes(script[at]!)) at += 1;
  return at;
}

/** Up to what ends a command; null when it has no word or anything that is not understood. */
function readCommand(script: string, from: number): { argv: string[]; end: number } | null {
  const argv: string[] = [];
  let at = from;
  for (;;) {
    at = skip(script, at, " \t");
    const char = script[at];
    const redirected = redirection(script, at);
    if (redirected > 0) {
      at += redirected;
    } else if (char === undefined || ";&|\n".includes(char)) {
      return argv.length > 0 ? { argv, end: at } : null;
    } else {
      const word = readWord(script, at);
      if (word === null || (argv.length === 0 && (/^%|=/u.test(word.text) || RESERVED.has(word.text)))) return null;
      argv.push(word.text);
      at = word.end;
    }
  }
}

/** The length of a harmless redirection at this place, with the blank or operator that must follow; else 0. */
function redirection(script: string, at: number): number {
  const found = /^(?:[12]?>{1,2}[ \t]*\/dev\/null|0?<[ \t]*\/dev\/null|1?>&2|2>&1)(?=[ \t\n;|&]|$)/u.exec(script.slice(at, at + 40));
  return found ? found[0].length : 0;
}

function readWord(script: string, from: number): { text: string; end: number } | null {
  let text = "";
  let at = from;
  for (; at < script.length && !" \t\n;&|".includes(script[at]!); at++) {
    const char = script[at]!;
    if (char === "'" || char === '"') {
      const quoted = char === "'" ? single(script, at) : double(script, at);
      if (quoted === null) return null;
      text += quoted.text;
      at = quoted.end - 1;
    } else if (char === "\\") {
      at += 1;
      if (!/[\x20-\x7e]/u.test(script[at] ?? "")) return null;
      text += script[at]!;
    } else if (PLAIN.test(char) || ("~^".includes(char) && at > from && /[A-Za-z0-9_^~]/u.test(script[at - 1]!))) {
      text += char;
    } else {
      return null;
    }
  }
  return { text, end: at };
}

function single(script: string, at: number): { text: string; end: number } | null {
  const end = script.indexOf("'", at + 1);
  return end < 0 ? null : { text: script.slice(at + 1, end), end: end + 1 };
}

function double(script: string, from: number): { text: string; end: number } | null {
  let text = "";
  for (let at = from + 1; at < script.length; at++) {
    const char = script[at]!;
    if (char === '"') return { text, end: at + 1 };
    if (char === "$" || char === "`" || char === "!") return null;
    if (char === "\\") {
      const next = script[at + 1] ?? "\n";
      if (next === "\n") return null;
      text += '"\\$`'.includes(next) ? next : `\\${next}`;
      at += 1;
    } else {
      text += char;
    }
  }
  return null;
}
