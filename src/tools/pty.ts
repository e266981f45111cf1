/**
 * A terminal for a command, without a native module: a program of the system opens a pseudo-terminal, runs the command in it and copies
 * between it and the pipes that it was started with. In a sandbox that program is inside too, and the terminal is the sandbox's own.
 *
 * util-linux's script(1) comes first, then Python, whose module does the same; BSD's script, as on macOS, takes the command as it is.
 */
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import type { Prepared } from "./exec-launch.ts";

const ROWS = 40;
const COLUMNS = 120;
const SET_UP = `stty rows ${ROWS} cols ${COLUMNS} echo`;
const TERM = "xterm-256color";

/** As much as Linux takes in one argument. */
const MAX_ARGUMENT_BYTES = 131_071;

const PYTHON = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])) % 256)";

export interface System {
  platform: NodeJS.Platform;
  /** Where a program is; null: nowhere. */
  find(program: string): string | null;
}

export function withTerminal(prepared: Prepared, { platform, find }: System): Prepared {
  const { argv } = prepared;
  const env: Record<string, string> = { ...prepared.env, TERM: usual(prepared.env["TERM"]) };
  const script = find("script");
  const prefixed = ["/bin/sh", "-c", `${SET_UP}; exec "$@"`, "sh", ...argv];
  if (script !== null && platform === "darwin") return { ...prepared, env, argv: [script, "-q", "/dev/null", ...prefixed] };
  if (script !== null && isUtilLinux(script)) {
    // It is read by $SHELL, which may be any program.
    const restore = env["SHELL"] === undefined ? "unset SHELL" : `SHELL=${quote(env["SHELL"])}; export SHELL`;
    const text = `${SET_UP}; ${restore}; exec ${argv.map(quote).join(" ")}`;
    if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return { ...prepared, env: { ...env, SHELL: "/bin/sh" }, argv: [script, "-qefc", text, "/dev/null"] };
  }
  const python = find("python3");
  if (python !== null) return { ...prepared, env, argv: [python, "-c", PYTHON, ...prefixed] };
  return { ...prepared, notes: [...prepared.notes, "there is no terminal: neither script(1) nor python3 is installed. Its input is a pipe."] };
}

function usual(term: string | undefined): string {
  return term === undefined || term === "" || term === "dumb" ? TERM : term;
}

/** BusyBox has one of the same name that loses the exit code. */
function isUtilLinux(script: string): boolean {
  return basename(realpathSync(script)) === "script";
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
