/** grep: lines that match a regular expression, as `path:line:text`. What .gitignore leaves out is left out. */
import type { Tool } from "../../core/tool.ts";
import { count, failed, flag, optional, path, readArguments, text } from "./arguments.ts";
import type { FileToolOptions } from "./options.ts";
import { search } from "./ripgrep.ts";

const USUAL_LINES = 300;
const LONGEST_LINE = 500;

const PARAMETERS = {
  type: "object",
  properties: {
    pattern: { type: "string", description: "A regular expression (Rust syntax)." },
    path: { type: "string", description: "The file or folder to search. Default: the working folder." },
    glob: { type: "string", description: 'Only files whose path matches, such as "*.ts" or "src/**/*.py"; "!" in front excludes.' },
    ignore_case: { type: "boolean", description: "Do not tell upper from lower case. Default: false." },
    files_only: { type: "boolean", description: "Only the paths of files with a match. Default: false." },
    context: { type: "integer", minimum: 0, description: "Lines to show around each match. Default: 0." },
    include_ignored: { type: "boolean", description: "Also what .gitignore leaves out. Default: false." },
    limit: { type: "integer", minimum: 1, description: `How many lines at most. Default: ${USUAL_LINES}.` },
  },
  required: ["pattern"],
  additionalProperties: false,
} as const;

const FIELDS = {
  pattern: text,
  path: optional(path),
  glob: optional(text),
  ignore_case: flag,
  files_only: flag,
  context: count({ least: 0, most: 50, usual: 0 }),
  include_ignored: flag,
  limit: count({ least: 1, most: 10_000, usual: USUAL_LINES }),
};

export function grep(options: FileToolOptions): Tool {
  return {
    name: "grep",
    description: "Searches the text of files for a regular expression. Gives `path:line:text` for each line that matches, sorted by path.",
    parameters: PARAMETERS,
    effect: "read",
    async run(input, host) {
      const read = readArguments(input, FIELDS);
      if (!read.ok) return failed(`Not searched. ${read.message}`);
      const { pattern, path: place, glob, ignore_case, files_only, context, include_ignored, limit } = read.value;
      if (pattern.includes("\0") || glob?.includes("\0") === true) return failed("Not searched. `pattern` and `glob` must not have NUL characters.");
      const args = [
        ...(files_only ? ["--files-with-matches"] : ["--line-number", "--with-filename", "--no-heading", "--max-columns", String(LONGEST_LINE), "--max-columns-preview"]),
        ...(ignore_case ? ["--ignore-case"] : []),
        ...(context > 0 ? ["--context", String(context)] : []),
        ...(include_ignored ? ["--no-ignore"] : []),
        ...(glob === null ? [] : [`--glob=${glob}`]),
        "--glob=!.git",
        `--regexp=${pattern}`,
      ];
      return search({ args, path: place, limit, nothing: "No line matches.", host, options });
    },
  };
}
