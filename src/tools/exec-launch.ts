/**
 * Launch: a command that was asked for → a command that has run, freely or in the sandbox that its call is bound by. The same call with
 * another sandbox differs in nothing else: folder, environment and time stay.
 */
import { accessSync, constants } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { ToolHost } from "../core/tool.ts";
import type { Command, ExecArguments } from "./exec-arguments.ts";
import { shellEnvironment, type EnvironmentPolicy, type Variables } from "./environment.ts";
import { isFolder } from "./files/real.ts";
import { createMark, MARK_VARIABLE } from "./mark.ts";
import { runProcess, type Ended, type Launch, type Running } from "./process.ts";
import { confine } from "./sandbox/confine.ts";
import { machine } from "./sandbox/detect.ts";
import type { Confined } from "./sandbox/plan.ts";

export interface ExecOptions {
  /** Skein's own folder, which sandboxed commands do not see. */
  home: string;
  env: Variables;
  platform: NodeJS.Platform;
  sandbox: { writableRoots: readonly string[]; network: boolean };
  environment: EnvironmentPolicy;
  /** Of output that the model gets, at about four bytes a token. */
  outputTokens: number;
}

export interface Prepared {
  argv: readonly [string, ...string[]];
  env: Readonly<Record<string, string>>;
  workdir: string;
  cwd: string;
  sandbox: ToolHost["sandbox"];
  timeoutMs: number | null;
  /** What the model should know of how it is run. */
  notes: readonly string[];
}

/** What listens to one attempt to run it. The first may come to nothing, and then there is a second. */
export interface Attempt {
  onOutput(chunk: Buffer): void;
  input?: number;
  onStarted?(running: Running): void;
}

export type Finished =
  | { ok: true; ended: Exclude<Ended, { how: "not started" }>; notes: readonly string[] }
  /** `exit` when it is as if a shell had not found the program, or may not run it. */
  | { ok: false; message: string; exit?: 126 | 127 };

export function prepare({ args, host, options }: { args: ExecArguments; host: Pick<ToolHost, "cwd" | "sandbox">; options: ExecOptions }): Prepared {
  const env = { ...shellEnvironment(options.env, options.environment), ...args.env };
  const argv = commandLine(args.command, env["PATH"] ?? "");
  return { argv, env, workdir: resolve(host.cwd, args.workdir ?? "."), cwd: host.cwd, sandbox: host.sandbox, timeoutMs: args.timeoutMs, notes: [] };
}

interface Given {
  options: ExecOptions;
  signal: AbortSignal;
  attempt(): Attempt | Promise<Attempt>;
}

export function launch(prepared: Prepared, given: Given): Promise<Finished> {
  if (!isFolder(prepared.cwd)) return Promise.resolve({ ok: false, message: `Not run: the working folder ${prepared.cwd} does not exist.` });
  return prepared.sandbox === "danger-full-access" ? runFreely(prepared, given) : runConfined(prepared, prepared.sandbox, given);
}

async function runFreely({ argv: [file, ...args], env, workdir, timeoutMs, notes }: Prepared, { signal, attempt }: Given): Promise<Finished> {
  if (!isFolder(workdir)) return noFolder(workdir);
  const mark = createMark();
  const free: Launch = { file, args, cwd: workdir, env: { ...env, [MARK_VARIABLE]: mark }, within: { kind: "group", mark } };
  const ended = await runProcess({ launch: free, signal, timeoutMs, ...(await attempt()) });
  return ended.how === "not started" ? notStarted(ended.why, file) : { ok: true, ended, notes };
}

async function runConfined(prepared: Prepared, mode: Confined, { options, signal, attempt }: Given): Promise<Finished> {
  const { argv, env, workdir, cwd, timeoutMs } = prepared;
  const request = { ...options.sandbox, mode, argv, env, workdir, cwd, home: options.home, machine: machine(options.platform, options.env["PATH"] ?? "") };
  for (let count = 1; ; count++) {
    const confined = await confine(request).catch((error: unknown) => ({ ok: false as const, message: `Not run: the sandbox could not be prepared. ${String(error)}` }));
    if (!confined.ok) return confined;
    const { onOutput, ...hooks } = await attempt();
    const hearing = afterBubblewrap(onOutput);
    const ended = await runProcess({ launch: confined.launch, signal, timeoutMs, ...hooks, onOutput: hearing.hear }).catch((error: unknown) => {
      confined.release();
      throw error;
    });
    if (ended.how !== "not started") {
      hearing.release();
      return { ok: true, ended, notes: [...prepared.notes, ...(ended.gone ? confined.release() : [])] };
    }
    confined.release();
    const why = ended.why || hearing.held();
    if (why.startsWith("bwrap: Can't chdir")) return noFolder(workdir);
    // What was masked may have gone in the meantime: it is looked up again.
    if (count === MOST_ATTEMPTS || why.startsWith("bwrap: execvp") || signal.aborted) return notStarted(why, argv[0]);
  }
}

const MOST_ATTEMPTS = 4;
const BUBBLEWRAP = "bwrap: ";
const LONGEST_COMPLAINT = 16_384;

/** Holds back what bubblewrap may have said itself, until it is known whether the command was started: it may be tried again. */
function afterBubblewrap(onOutput: (chunk: Buffer) => void) {
  let held: Buffer[] | null = [];
  const release = (): void => {
    for (const chunk of held ?? []) onOutput(chunk);
    held = null;
  };
  return {
    hear(chunk: Buffer): void {
      if (!held) return onOutput(chunk);
      held.push(chunk);
      const said = Buffer.concat(held);
      if (!BUBBLEWRAP.startsWith(said.toString("latin1", 0, BUBBLEWRAP.length)) || said.length > LONGEST_COMPLAINT) release();
    },
    release,
    held: () => Buffer.concat(held ?? []).toString("utf8").trim(),
  };
}

/** The program of a command that could not be started may just not be there: a shell would say so with 127, or 126. */
function notStarted(why: string, program: string): Finished {
  if (/ENOENT|execvp.*No such file/su.test(why)) return { ok: false, exit: 127, message: `${program}: command not found\n` };
  if (/EACCES|execvp.*Permission denied/su.test(why)) return { ok: false, exit: 126, message: `${program}: permission denied\n` };
  return { ok: false, message: `Not run: it could not be started. ${why}` };
}

function noFolder(path: string): Finished {
  return { ok: false, message: `Not run: the folder ${path} does not exist.` };
}

/** bash, because that is what models write; sh where there is none. */
function commandLine(command: Command, path: string): readonly [string, ...string[]] {
  if (command.kind === "program") return command.argv;
  const shell = command.shell ?? findProgram("bash", path) ?? "/bin/sh";
  // A text that begins like an option would be taken for one.
  return [shell, command.login ? "-lc" : "-c", command.script.replace(/^(?=[-+])/u, " ")];
}

export function findProgram(name: string, path: string): string | null {
  const folders = ["/bin", "/usr/bin", "/usr/local/bin", ...path.split(":").filter(isAbsolute)];
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
