/**
 * Patches that arrive as commands. Some models call apply_patch as if it were a program:
 *
 *   apply_patch <<'EOF'            also after `cd FOLDER &&`, and as ["bash", "-lc", …]
 *   *** Begin Patch
 *   …
 *   EOF
 *
 * or ["apply_patch", PATCH]. A command that is exactly this is judged and run as the apply_patch tool does it. Anything else, such as a text
 * that the shell would expand, is run as the command it is; one that failed because there is no such program says so.
 */
import { relative, resolve } from "node:path";
import type { Tool, ToolOutcome } from "../core/tool.ts";
import { readExecArguments } from "./exec-arguments.ts";
import { isFolder } from "./files/real.ts";

const NAMES = new Set(["apply_patch", "applypatch"]);
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z)?sh$/u;
const HEREDOC = /^\s*(?:cd[ \t]+(?<folder>'[^'\n]+'|"[^"$`\\!\n]+"|[\w./,:@%+=][\w./,:@%+=-]*)[ \t]*&&\s*)?apply_?patch[ \t]*<<[ \t]*(?<quote>['"]?)(?<word>\w+)\k<quote>[ \t]*\n(?<text>[^]*?)\n\k<word>\s*$/u;
const EXPANDED = /[$`\\]/u;
const PATH = /^(\*\*\* (?:Add File|Delete File|Update File|Move to):)[ \t]*(.+)$/gmu;
const HINT = "Note: apply_patch is a tool: call it with the patch as `input`.";

export function withPatches(exec: Tool, patch: Tool): Tool {
  return {
    ...exec,
    async assess(input, host) {
      const text = patchIn(input, host.cwd);
      if (text === null) return exec.assess!(input, host);
      const { rule } = await exec.assess!({ command: ["apply_patch"] }, host);
      return { ...(await patch.assess!({ input: text }, host)), rule };
    },
    async run(input, host) {
      const text = patchIn(input, host.cwd);
      if (text === null) return hinted(await exec.run(input, host));
      const outcome = await patch.run({ input: text }, host);
      // To those who watch it is a command.
      return { ...outcome, exit: outcome.status === "done" ? 0 : 1 };
    },
  };
}

/** The patch, its paths from the working folder; null: it is another command. */
function patchIn(input: unknown, cwd: string): string | null {
  const read = readExecArguments(input);
  if (!read.ok) return null;
  const { command, workdir } = read.value;
  const found = command.kind === "program" ? fromProgram(command.argv) : SHELL.test(command.shell ?? "sh") ? fromScript(command.script) : null;
  if (!found) return null;
  const folder = resolve(cwd, workdir ?? ".", found.folder);
  return folder === resolve(cwd) ? found.text : isFolder(folder) ? within(relative(cwd, folder), found.text) : null;
}

interface Found {
  folder: string;
  text: string;
}

function fromProgram([program, ...args]: readonly string[]): Found | null {
  if (NAMES.has(program!)) return args.length === 1 ? { folder: ".", text: args[0]! } : null;
  return SHELL.test(program!) && args.length === 2 && /^-l?c$/u.test(args[0]!) ? fromScript(args[1]!) : null;
}

function fromScript(script: string): Found | null {
  const { folder = ".", quote, word, text } = HEREDOC.exec(script)?.groups ?? {};
  if (text === undefined || (quote === "" && EXPANDED.test(text)) || text.split("\n").includes(word!)) return null;
  return { folder: folder.replace(/^(['"])(.*)\1$/u, "$2"), text };
}

/** Null: a path leaves the folder, which may be a link. */
function within(folder: string, text: string): string | null {
  const paths = [...text.matchAll(PATH)].map(([, , path]) => path!.trim());
  if (paths.some((path) => path.split("/").includes(".."))) return null;
  return text.replace(PATH, (_, header: string, path: string) => `${header} ${path.startsWith("/") ? path : `${folder}/${path}`}`);
}

function hinted(outcome: ToolOutcome): ToolOutcome {
  if (outcome.exit !== 127 || typeof outcome.output !== "string" || !/apply_?patch: (?:command )?not found/u.test(outcome.output)) return outcome;
  return { ...outcome, output: outcome.output.replace(/\nOutput:\n/u, `\n${HINT}\nOutput:\n`) };
}
