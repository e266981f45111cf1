/** The prompt: an argument, standard input, or both. */
import { fstatSync } from "node:fs";
import { EXIT, UserError, type Shell } from "./shell.ts";

interface Given {
  argument: string | null;
  /** Something else is sent that may stand for itself. */
  mayBeEmpty: boolean;
  shell: Shell;
  stopped: AbortSignal;
}

/** Rejects when `stopped` aborts: standard input may stay open for ever. */
export async function readPrompt({ argument, mayBeEmpty, shell, stopped }: Given): Promise<string> {
  const needed = argument === null || argument === "-";
  const piped = needed || !shell.stdin.isTTY ? await readPiped({ shell, needed, stopped }) : "";
  if (needed) {
    if (piped.trim() === "" && mayBeEmpty) return "";
    if (piped.trim() === "") throw new UserError('There is no prompt. Give it as an argument or on standard input: skein exec "fix the tests".', EXIT.usage);
    return piped;
  }
  return piped.trim() === "" ? argument : `${argument}\n\n<stdin>\n${piped}\n</stdin>`;
}

async function readPiped({ shell, needed, stopped }: { shell: Shell; needed: boolean; stopped: AbortSignal }): Promise<string> {
  const { stdin } = shell;
  if (stdin.isTTY || (!needed && !willEnd(0))) return "";
  const stop = () => void stdin.destroy(new Error("stopped"));
  stopped.addEventListener("abort", stop);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer));
    return Buffer.concat(chunks).toString("utf8");
  } finally {
    stopped.removeEventListener("abort", stop);
  }
}

/** A file or a shell's pipe: something that ends. Any other standard input may stay open for ever, so it is read only when it must be. */
function willEnd(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFile() || stat.isFIFO();
  } catch {
    return false;
  }
}
