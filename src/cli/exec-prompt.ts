/** The prompt: an argument, standard input, or both. A blank argument is none. */
import { fstatSync } from "node:fs";
import { EXIT, UserError, type Shell } from "./shell.ts";

interface Given {
  argument: string | null;
  /** Something else is sent that may stand for itself. */
  mayBeEmpty: boolean;
  quiet: boolean;
  shell: Shell;
  stopped: AbortSignal;
}

const PATIENCE_MS = 1000;
/** Programs often leave their children a standard input that they never use. */
const SILENT_MS = 3000;

/** Whether it says what to do by itself. */
export function isPrompt(argument: string | null): argument is string {
  return argument !== null && argument !== "-" && argument.trim() !== "";
}

/** Rejects when `stopped` aborts: standard input may stay open for ever. */
export async function readPrompt({ argument, mayBeEmpty, ...given }: Given): Promise<string> {
  const { stdin } = given.shell;
  if (isPrompt(argument)) {
    const kind = stdin.isTTY ? null : kindOf(0);
    const piped = kind === null ? "" : await readPiped(given, kind === "socket" ? SILENT_MS : null);
    return piped.trim() === "" ? argument : `${argument}\n\n<stdin>\n${piped}\n</stdin>`;
  }
  const piped = stdin.isTTY ? "" : await readPiped(given, null);
  if (piped.trim() !== "") return piped;
  if (mayBeEmpty) return "";
  throw new UserError('There is no prompt. Give it as an argument or on standard input: skein exec "fix the tests".', EXIT.usage);
}

/** With `silentMs`, what has said nothing by then is left alone. */
async function readPiped({ quiet, shell, stopped }: Pick<Given, "quiet" | "shell" | "stopped">, silentMs: number | null): Promise<string> {
  const { stdin, stderr } = shell;
  const say = (text: string) => void (quiet || stderr.write(`${text}\n`));
  const stop = () => void stdin.destroy(new Error("stopped"));
  stopped.addEventListener("abort", stop);
  const waiting = setTimeout(() => say("Reading standard input … (where nothing is to come: < /dev/null)"), PATIENCE_MS);
  let isSilent = false;
  const giveUp = () => {
    isSilent = true;
    say("Nothing came there; going on without it.");
    stdin.destroy();
  };
  const silence = silentMs === null ? undefined : setTimeout(giveUp, silentMs);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stdin) {
      clearTimeout(waiting);
      clearTimeout(silence);
      chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer));
    }
  } catch (error) {
    if (!isSilent) throw error;
  } finally {
    clearTimeout(waiting);
    clearTimeout(silence);
    stopped.removeEventListener("abort", stop);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A file, a shell's pipe, or the socket that Node programs give their children. What else standard input may be is read only when it must be. */
function kindOf(fd: number): "pipe" | "socket" | null {
  try {
    const stat = fstatSync(fd);
    return stat.isSocket() ? "socket" : stat.isFile() || stat.isFIFO() ? "pipe" : null;
  } catch {
    return null;
  }
}
