/**
 * exec_command: runs a command and tells the model how it ended and what it wrote.
 *
 *   Exit code: 0
 *   Wall time: 0.1 seconds
 *   Note: …                        (each thing that the model should know of this run)
 *   Output:
 *   …
 *
 * A command that ran is `done`, whatever its exit code; `failed` are a command that was not run, timed out (exit 124, as timeout(1)
 * says it) or was interrupted. Output is shown as it comes, up to SHOWN_BYTES; the model gets head and tail of what is longer than
 * its limit, and then the full text is kept as the blob `full` of the call.
 */
import { accessSync, constants, statSync } from "node:fs";
import { constants as osConstants } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Tool, ToolHost, ToolOutcome } from "../core/tool.ts";
import { shellEnvironment, type EnvironmentPolicy, type Variables } from "./environment.ts";
import { EXEC_PARAMETERS, readExecArguments, type Command, type ExecArguments } from "./exec-arguments.ts";
import { createMark, MARK_VARIABLE } from "./mark.ts";
import { createCollector, shorten, type Collected } from "./output.ts";
import { runProcess, type Ended, type Launch } from "./process.ts";
import { confine } from "./sandbox/confine.ts";
import { machine } from "./sandbox/detect.ts";
import type { Confined } from "./sandbox/plan.ts";
import { PROTECTED_NAMES } from "./sandbox/protected.ts";

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

/** Of live output: the rest of a flood is counted, not shown. */
const SHOWN_BYTES = 1_000_000;
const BYTES_PER_TOKEN = 4;
const TIMED_OUT = 124;

const DESCRIPTION = `Runs a command in a shell (bash) and returns its exit code and what it wrote, stdout and stderr together in the order in which they were written. Input is closed and there is no terminal. Each call starts anew in the working folder: \`cd\` and variables do not carry over. Long output is cut in the middle. The call ends when the command does; processes left in the background are ended with it.`;

export function execCommand(options: ExecOptions): Tool {
  return {
    name: "exec_command",
    aliases: ["shell", "local_shell"],
    description: DESCRIPTION,
    parameters: EXEC_PARAMETERS,
    effect: "exec",
    async run(input, host) {
      const read = readExecArguments(input);
      if (!read.ok) return failed(read.message);
      if (host.signal.aborted) return failed("Not run: interrupted before it was started.");
      return runCommand({ args: read.value, host, options });
    },
  };
}

interface Given {
  args: ExecArguments;
  host: ToolHost;
  options: ExecOptions;
}

interface Run {
  ended: Ended;
  collected: Collected;
  ms: number;
}

async function runCommand({ args, host, options }: Given): Promise<ToolOutcome> {
  if (!isFolder(host.cwd)) return failed(`Not run: the working folder ${host.cwd} does not exist.`);
  const env = { ...shellEnvironment(options.env, options.environment), ...args.env };
  const argv = commandLine(args.command, env["PATH"] ?? "");
  const workdir = resolve(host.cwd, args.workdir ?? ".");
  const given = { args, host, options };
  return host.sandbox === "danger-full-access" ? runFreely(given, { argv, env, workdir }) : runConfined(given, host.sandbox, { argv, env, workdir });
}

interface Prepared {
  argv: readonly [string, ...string[]];
  env: Readonly<Record<string, string>>;
  workdir: string;
}

async function runFreely(given: Given, { argv: [file, ...args], env, workdir }: Prepared): Promise<ToolOutcome> {
  if (!isFolder(workdir)) return failed(noFolder(workdir));
  const mark = createMark();
  const launch: Launch = { file, args, cwd: workdir, env: { ...env, [MARK_VARIABLE]: mark }, within: { kind: "group", mark } };
  const run = await perform(launch, given);
  return run.ended.how === "not started" ? notStarted(run.ended.why, file) : tell(run, { ...given, notes: [] });
}

async function runConfined(given: Given, mode: Confined, { argv, env, workdir }: Prepared): Promise<ToolOutcome> {
  const { host, options } = given;
  const request = { ...options.sandbox, mode, argv, env, workdir, cwd: host.cwd, home: options.home, machine: machine(options.platform, options.env["PATH"] ?? "") };
  for (let attempt = 1; ; attempt++) {
    const confined = await confine(request).catch((error: unknown) => ({ ok: false as const, message: `Not run: the sandbox could not be prepared. ${String(error)}` }));
    if (!confined.ok) return failed(confined.message);
    const run = await perform(confined.launch, given).catch((error: unknown) => {
      confined.release();
      throw error;
    });
    if (run.ended.how !== "not started") return tell(run, { ...given, notes: run.ended.gone ? confined.release() : [] });
    confined.release();
    const why = run.ended.why || run.collected.text.trim();
    if (why.startsWith("bwrap: Can't chdir")) return failed(noFolder(workdir));
    // What was masked may have gone in the meantime: it is looked up again, once.
    if (attempt === 2 || why.startsWith("bwrap: execvp") || host.signal.aborted) return notStarted(why, argv[0]);
  }
}

async function perform(launch: Launch, { args, host }: Given): Promise<Run> {
  const collector = createCollector();
  const decoder = new TextDecoder();
  let room = SHOWN_BYTES;
  function show(text: string): void {
    if (text !== "") host.emit({ stream: "stdout", text });
  }
  const from = performance.now();
  const ended = await runProcess({
    launch,
    signal: host.signal,
    timeoutMs: args.timeoutMs,
    onOutput(chunk) {
      collector.add(chunk);
      if (room <= 0) return;
      show(decoder.decode(chunk.subarray(0, room), { stream: true }));
      room -= chunk.length;
      if (room <= 0) show("\n[… more output is not shown while it comes …]\n");
    },
  });
  if (room > 0) show(decoder.decode());
  return { ended, collected: collector.collected(), ms: performance.now() - from };
}

async function tell({ ended, collected, ms }: Run, { args, host, options, notes }: Given & { notes: readonly string[] }): Promise<ToolOutcome> {
  if (ended.how === "not started") throw new Error("a command that was not started has nothing to tell");
  const exit = ended.how === "timed out" ? TIMED_OUT : ended.how === "aborted" ? undefined : exitCode(ended);
  const shorter = shorten(collected.text, options.outputTokens * BYTES_PER_TOKEN);
  // Not for an interrupted call: keeping takes time that an interrupt does not have.
  const full = shorter && ended.how !== "aborted" ? await host.keep(collected.text).catch(() => undefined) : undefined;
  const lines = [
    ended.how === "aborted" ? "Interrupted: the command and everything that it started were ended." : `Exit code: ${exit}${ended.signal ? ` (ended by ${ended.signal})` : ""}`,
    `Wall time: ${(ms / 1000).toFixed(1)} seconds`,
    ...(ended.how === "timed out" ? [`Note: timed out after ${args.timeoutMs} ms; the command and everything that it started were ended.`] : []),
    ...(collected.hasForeignBytes ? ["Note: the output has bytes that are not UTF-8; each is shown as \uFFFD."] : []),
    ...(exit !== 0 && host.sandbox !== "danger-full-access" && DENIAL.test(collected.text) ? [`Note: it ran in the ${host.sandbox} sandbox: ${bounds(host, options)}`] : []),
    ...notes.map((note) => `Note: ${note}`),
    "Output:",
    shorter?.(full ? 'left out; the full output is in the blob "full" of this call' : "left out and not kept") ?? collected.text,
  ];
  return {
    status: ended.how === "exited" ? "done" : "failed",
    output: lines.join("\n"),
    ...(exit === undefined ? {} : { exit }),
    ...(full === undefined ? {} : { full }),
  };
}

/** What commands say when a sandbox is in their way. */
const DENIAL = /Read-only file system|EROFS|Permission denied|EACCES|Operation not permitted|EPERM|Network is unreachable|ENETUNREACH|ould not resolve host|Temporary failure in name resolution|EAI_AGAIN/u;

function bounds(host: ToolHost, { sandbox }: ExecOptions): string {
  if (host.sandbox === "read-only") return "no file can be written but under /tmp, and there is no network.";
  const roots = [host.cwd, ...sandbox.writableRoots].join(", ");
  return `only ${roots} and /tmp can be written, not ${PROTECTED_NAMES.join(", ")} in them, and ${sandbox.network ? "Unix sockets cannot be made" : "there is no network"}.`;
}

function exitCode({ exit, signal }: { exit: number | null; signal: NodeJS.Signals | null }): number {
  return exit ?? 128 + (signal === null ? 0 : osConstants.signals[signal]);
}

/** The program of a command that could not be started may just not be there: a shell would say so with 127, or 126. */
function notStarted(why: string, program: string): ToolOutcome {
  const exit = /ENOENT|execvp.*No such file/su.test(why) ? 127 : /EACCES|execvp.*Permission denied/su.test(why) ? 126 : null;
  if (exit === null) return failed(`Not run: it could not be started. ${why}`);
  return { status: "done", exit, output: `Exit code: ${exit}\nWall time: 0.0 seconds\nOutput:\n${program}: ${exit === 127 ? "command not found" : "permission denied"}\n` };
}

function noFolder(path: string): string {
  return `Not run: the folder ${path} does not exist.`;
}

function failed(output: string): ToolOutcome {
  return { status: "failed", output };
}

/** bash, because that is what models write; sh where there is none. */
function commandLine(command: Command, path: string): readonly [string, ...string[]] {
  if (command.kind === "program") return command.argv;
  const shell = command.shell ?? findProgram("bash", path) ?? "/bin/sh";
  // A text that begins like an option would be taken for one.
  return [shell, command.login ? "-lc" : "-c", command.script.replace(/^(?=[-+])/u, " ")];
}

function findProgram(name: string, path: string): string | null {
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

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
