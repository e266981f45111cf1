/**
 * Rules: what the `[[rules]]` of the configuration say about a command. The strictest of all that match wins: deny, ask, allow.
 *
 * - Deny and ask look at every command that can be seen, by its bare name, without regard to case, and through programs that run another
 *   (carriers.ts). Where something cannot be seen, the answer is at least "ask" as soon as there is any such rule: one that can be walked
 *   around is none.
 * - Allow counts only for a script that is understood whole, and only when each of its commands is allowed or known to be safe. The program
 *   must be written as in the rule, or lie in one of the system's folders: `./git` is not git. A rule for a program that runs others
 *   allows whatever it runs.
 */
import type { Assessment } from "../../core/tool.ts";
import { baseName, carried, isOpaque } from "./carriers.ts";
import type { Simple } from "./lex.ts";
import type { Parsed } from "./parse.ts";

export interface Rule {
  readonly argv_prefix: readonly string[];
  readonly decision: "allow" | "ask" | "deny";
}

interface Given {
  parsed: Parsed;
  rules: readonly Rule[];
  /** For each command of a script that is understood: it is known to be safe. */
  safe: readonly boolean[];
  /** It gets a terminal: what a pager or prompt there is told to run cannot be seen. */
  terminal: boolean;
}

export type Ruled = Pick<Assessment, "rule" | "ruleWhy">;

export function decideByRules({ parsed, rules, safe, terminal }: Given): Ruled {
  const seen = [...parsed.commands.map(({ argv }) => argv), ...parsed.shells];
  const forbids = (decision: Rule["decision"]) => rules.some((rule) => rule.decision === decision && seen.some((argv) => reaches(rule, argv)));
  if (forbids("deny")) return { rule: "deny" };
  if (forbids("ask")) return { rule: "ask" };
  const unseen = terminal || parsed.unclear !== null || parsed.commands.some(({ argv }, index) => !safe[index] && isOpaque(argv));
  if (unseen && rules.some(({ decision }) => decision !== "allow")) return { rule: "ask", ruleWhy: unread(terminal) };
  if (parsed.unclear !== null) return { rule: null };
  const allowing = rules.filter(({ decision }) => decision === "allow");
  const isAllowed = ({ argv }: Simple) => allowing.some((rule) => names(rule, argv));
  const allowed = parsed.commands.some(isAllowed) && parsed.commands.every((command, index) => isAllowed(command) || safe[index]);
  return { rule: allowed ? "allow" : null };
}

function unread(terminal: boolean): string {
  const part = terminal ? "what will be run in its terminal cannot be read before" : "part of it cannot be read before it runs: $(…), variables, loops, redirections or code";
  return `there are rules about commands, and ${part}; write it out plainly`;
}

function reaches({ argv_prefix: [program = "", ...prefix] }: Rule, argv: readonly string[]): boolean {
  return carried(argv).some((each) => startsWith(each, [baseName(program), ...prefix]));
}

const SYSTEM = /^\/(?:usr\/(?:local\/)?)?s?bin\/(?=[^/]+$)/u;

function names({ argv_prefix: prefix }: Rule, argv: readonly string[]): boolean {
  const [program = "", ...args] = argv;
  return startsWith(argv, prefix) || startsWith([program.replace(SYSTEM, ""), ...args], prefix);
}

function startsWith(argv: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length > 0 && prefix.every((word, index) => argv[index] === word);
}
