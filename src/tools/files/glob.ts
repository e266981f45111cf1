/** glob: files whose path matches a pattern, one a line, sorted. What .gitignore leaves out is left out. */
import type { Tool } from "../../core/tool.ts";
import { count, failed, flag, optional, path, readArguments, text } from "./arguments.ts";
import type { FileToolOptions } from "./options.ts";
import { search } from "./ripgrep.ts";

const USUAL_FILES = 300;

const PARAMETERS = {
  type: "object",
  properties: {
    pattern: { type: "string", description: 'Such as "*.ts" (in any folder) or "src/**/*.py".' },
    path: { type: "string", description: "The folder to look in. Default: the working folder." },
    include_ignored: { type: "boolean", description: "Also what .gitignore leaves out. Default: false." },
    limit: { type: "integer", minimum: 1, description: `How many files at most. Default: ${USUAL_FILES}.` },
  },
  required: ["pattern"],
  additionalProperties: false,
} as const;

const FIELDS = { pattern: text, path: optional(path), include_ignored: flag, limit: count({ least: 1, most: 10_000, usual: USUAL_FILES }) };

export function glob(options: FileToolOptions): Tool {
  return {
    name: "glob",
    description: "Finds files by a pattern for their path. Gives one path a line, sorted.",
    parameters: PARAMETERS,
    effect: "read",
    async run(input, host) {
      const read = readArguments(input, FIELDS);
      if (!read.ok) return failed(`Not searched. ${read.message}`);
      const { pattern, path: place, include_ignored, limit } = read.value;
      if (pattern.includes("\0")) return failed("Not searched. `pattern` must not have NUL characters.");
      const args = ["--files", ...(include_ignored ? ["--no-ignore"] : []), `--glob=${pattern}`, "--glob=!.git"];
      return search({ args, path: place, limit, nothing: "No file matches.", host, options });
    },
  };
}
