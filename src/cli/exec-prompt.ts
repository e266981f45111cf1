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

/** Whether it says what to do by itself. */
export function isPrompt(argument: string | null): argument is string {
  return argument !== null && argument !== "-" && argument.trim() !== "";
}

/** Rejects when `stopped` aborts: standard input may stay open for ever. */
export async function readPrompt({ argument, mayBeEmpty, ...given }: Given): Promise<string> {
  const { stdin } = given.shell;
  if (isPrompt(argument)) {
    const piped = stdin.isTTY || !isPiped(0) ? "" : await readPiped(given);
    return piped.trim() === "" ? argument : `${argument}\n\n<stdin>\n${piped}\n</stdin>`;
  }
  const piped = stdin.isTTY ? "" : await readPiped(given);
  if (piped.trim() !== "") return piped;
  if (mayBeEmpty) return "";
  throw new UserError('There is no prompt. Give it as an argument or on standard input: skein exec "fix the tests".', EXIT.usage);
}

async function readPiped({ quiet, shell, stopped }: Pick<Given, "quiet" | "shell" | "stopped">): Promise<string> {
  const { stdin, stderr } = shell;
  const stop = () => void stdin.destroy(new Error("stopped"));
  stopped.addEventListener("abort", stop);
  const waiting = quiet ? undefined : setTimeout(() => void stderr.write("Reading standard input … (where nothing is to come: < /dev/null)\n"), PATIENCE_MS);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) {
      clearTimeout(waiting);
      chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer));
    }
    return Buffer.concat(chunks).toString("utf8");
  } finally {
    clearTimeout(waiting);
    stopped.removeEventListener("abort", stop);
  }
}

/** A file, a shell's pipe, or the socket that Node programs give their children. What else standard input may be is read only when it must be. */
function isPiped(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFile() || stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}
