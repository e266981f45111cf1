/**
 * Ripgrep: runs rg as a command of the model would be run: in the same sandbox, so that it sees what a command sees and nothing else,
 * and one that a command has tampered with could do no more than that command. It has no environment and no configuration.
 */
import { dirname } from "node:path";
import type { ToolHost, ToolOutcome } from "../../core/tool.ts";
import { findProgram, launch } from "../exec-launch.ts";
import { createCollector, keptAs, shorten } from "../output.ts";
import { failed } from "./arguments.ts";
import { hidden } from "./open.ts";
import type { FileToolOptions } from "./options.ts";
import { isWithin, realOrSame } from "./real.ts";
import { createView } from "./view.ts";

const TIMEOUT_MS = 20_000;
/** Of output, after which it is stopped. */
const ENOUGH_BYTES = 10_000_000;
const BYTES_PER_TOKEN = 4;

interface Search {
  args: readonly string[];
  /** File or folder, as the model named it; null: the working folder. */
  path: string | null;
  /** Of lines that the model gets. */
  limit: number;
  nothing: string;
  host: ToolHost;
  options: FileToolOptions;
}

export async function search({ args, path, limit, nothing, host, options }: Search): Promise<ToolOutcome> {
  const place = createView(options, host).find(path ?? ".");
  if (!place.ok) return place.hidden ? hidden(path ?? ".") : failed(place.message);
  const rg = await findRipgrep(options);
  if (rg === null) return failed("Not searched: ripgrep is not installed. Install it (`rg`), or search with a command (grep, find).");
  const enough = new AbortController();
  const collector = createCollector(ENOUGH_BYTES);
  let bytes = 0;
  // The working folder is seen in every mode, and without writable folders nothing needs to be protected in them.
  const sandbox = host.sandbox === "workspace-write" && isWithin(place.real, realOrSame(host.cwd)) ? "read-only" : host.sandbox;
  const finished = await launch(
    { argv: [rg, "--no-config", "--color", "never", "--no-messages", "--hidden", "--sort", "path", ...args, "--", path ?? "."], env: { PATH: dirname(rg) }, workdir: host.cwd, cwd: host.cwd, sandbox, timeoutMs: TIMEOUT_MS, notes: [] },
    {
      options: { ...options, sandbox: { ...options.sandbox, network: false }, environment: {} },
      signal: AbortSignal.any([host.signal, enough.signal]),
      attempt: () => ({
        onOutput(chunk) {
          collector.add(chunk);
          bytes += chunk.length;
          if (bytes > ENOUGH_BYTES / 2) enough.abort();
        },
      }),
    },
  );
  if (host.signal.aborted) return failed("Interrupted.");
  if (!finished.ok) return failed(finished.message);
  const { how } = finished.ended;
  const exit = how === "exited" ? finished.ended.exit : null;
  const found = collector.collected().text.replace(/^\.\//gmu, "");
  if (exit === 1 || (exit === 0 && found === "")) return { status: "done", output: nothing };
  if (exit === 2 && found.startsWith("rg: ")) return failed(`Not searched: ${found.slice(4).trim()}`);
  return tell((found.trimEnd() || nothing).split("\n"), { limit, note: incomplete(how, exit), host, options });
}

/** Why there may be more than was found. */
function incomplete(how: string, exit: number | null): string | null {
  if (how === "timed out") return `stopped after ${TIMEOUT_MS / 1000} seconds; search in a smaller folder`;
  if (how === "aborted") return "stopped: there is too much; search for something rarer";
  return exit === 2 ? "some of it could not be read" : null;
}

async function tell(lines: readonly string[], { limit, note, host, options }: { limit: number; note: string | null; host: ToolHost; options: FileToolOptions }): Promise<ToolOutcome> {
  const within = lines.slice(0, limit).join("\n");
  const shorter = shorten(within, options.outputTokens * BYTES_PER_TOKEN);
  const isCut = shorter !== null || lines.length > limit;
  const full = isCut ? await host.keep(lines.join("\n")).catch(() => undefined) : undefined;
  const notes = [...(lines.length > limit ? [`${lines.length - limit} more lines: the limit was ${limit}`] : []), ...(note === null ? [] : [note])];
  const shown = shorter?.(keptAs(full)) ?? within;
  return { status: "done", output: [shown, ...notes.map((each) => `[… ${each} …]`)].join("\n"), ...(full === undefined ? {} : { full }) };
}

let known: string | null = null;

/** The one that comes with Skein, else the system's. */
async function findRipgrep({ env }: FileToolOptions): Promise<string | null> {
  known ??= await import("@vscode/ripgrep").then(({ rgPath }) => rgPath).catch(() => null);
  return known ?? findProgram("rg", env["PATH"] ?? "");
}
