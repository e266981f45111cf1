/**
 * The arguments of a command call, in the shapes that models send: `{ cmd }` for a shell to read, or `{ command: [program, …] }`
 * to be run as it is. Fields that are not known are ignored; a field of the wrong kind is refused with what it should be.
 */

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** Of a command that can be typed to: it may wait for that. */
const DEFAULT_YIELD_MS = 10_000;

/** Linux takes at most 128 KiB in one argument. */
const MAX_ARGUMENT_BYTES = 131_071;

export type Command =
  | { kind: "script"; script: string; shell: string | null; login: boolean }
  | { kind: "program"; argv: readonly [string, ...string[]] };

export interface ExecArguments {
  command: Command;
  workdir: string | null;
  /** Null: it may take as long as it likes, in the background. */
  timeoutMs: number | null;
  /** How long the call waits for it before it goes on in the background; null: to its end. */
  yieldMs: number | null;
  /** What write_stdin reaches: a terminal, a pipe, or nothing. */
  input: "terminal" | "pipe" | "none";
  maxTokens: number | null;
  /** Why it is to run outside of the sandbox; null: it is not. */
  escalated: string | null;
  env: Readonly<Record<string, string>>;
}

export type Read<T> = { ok: true; value: T } | { ok: false; message: string };

export const EXEC_PARAMETERS = {
  type: "object",
  properties: {
    cmd: { type: "string", description: "The command, as one would type it into a shell." },
    workdir: { type: "string", description: "The folder to run it in. Relative paths start at the working folder, which is the default." },
    yield_time_ms: { type: "number", description: "How long to wait. A command that still runs then goes on in the background, for write_stdin. Default: wait until it ends." },
    timeout_ms: {
      type: "number",
      description: `The command is ended after this many milliseconds, with what it started. Default ${DEFAULT_TIMEOUT_MS}, at most ${MAX_TIMEOUT_MS}; with yield_time_ms there is no limit by default.`,
    },
    max_output_tokens: { type: "number", description: "How much of the output to return." },
    tty: { type: "boolean", description: "Give it a terminal, which write_stdin types into. Default: false, its input is closed." },
    stdin: { type: "boolean", description: "Keep its input open for write_stdin, without a terminal. Default: false." },
    shell: { type: "string", description: "The shell that reads the command. Default: bash, or sh where there is no bash." },
    login: { type: "boolean", description: "Run it as a login shell, which reads the user's profile first. Default: false." },
    sandbox_permissions: { type: "string", enum: ["use_default", "require_escalated"], description: "require_escalated: ask the user to run it outside the sandbox." },
    justification: { type: "string", description: "With require_escalated: one sentence for the user on why." },
  },
  required: ["cmd"],
  additionalProperties: false,
} as const;

export function readExecArguments(input: unknown): Read<ExecArguments> {
  if (!isObject(input)) return refuse("the arguments must be an object such as {\"cmd\": \"ls\"}");
  const command = readCommand(input);
  if (!command.ok) return command;

  const workdir = orNull(input["workdir"] ?? input["working_directory"]);
  if (workdir !== null && !isPlainText(workdir)) return refuse("`workdir` must be a path");

  const timeout = input["timeout_ms"] ?? input["timeout"] ?? null;
  if (!isLimit(timeout)) return refuse("`timeout_ms` must be a number of milliseconds above 0");

  const { tty = null, stdin = null } = input;
  if (!isSwitch(tty) || !isSwitch(stdin)) return refuse("`tty` and `stdin` must be true or false");
  const typed = tty === true ? "terminal" : stdin === true ? "pipe" : "none";

  const wait = readWait(input);
  if (!wait.ok) return wait;
  const yieldMs = wait.value.yieldMs ?? (typed === "none" ? null : DEFAULT_YIELD_MS);

  const escalated = readEscalation(input);
  if (!escalated.ok) return escalated;

  const env = input["env"] ?? {};
  if (!isObject(env) || !Object.entries(env).every(([name, value]) => isVariableName(name) && isPlainText(value, "may be empty"))) {
    return refuse("`env` must be an object of variable names and texts");
  }
  return {
    ok: true,
    value: {
      command: command.value,
      workdir,
      timeoutMs: timeout === null && yieldMs !== null ? null : Math.min(timeout ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
      yieldMs,
      input: typed,
      maxTokens: wait.value.maxTokens,
      escalated: escalated.value,
      env: env as Record<string, string>,
    },
  };
}

/** `yield_time_ms` and `max_output_tokens`, which write_stdin has too. */
export function readWait(input: Readonly<Record<string, unknown>>): Read<{ yieldMs: number | null; maxTokens: number | null }> {
  const yieldMs = input["yield_time_ms"] ?? null;
  if (yieldMs !== null && !(typeof yieldMs === "number" && yieldMs >= 0)) return refuse("`yield_time_ms` must be a number of milliseconds");
  const maxTokens = input["max_output_tokens"] ?? null;
  if (!isLimit(maxTokens)) return refuse("`max_output_tokens` must be a number above 0");
  return { ok: true, value: { yieldMs: yieldMs === null ? null : Math.min(yieldMs, MAX_TIMEOUT_MS), maxTokens } };
}

function readEscalation(input: Readonly<Record<string, unknown>>): Read<string | null> {
  const permissions = input["sandbox_permissions"] ?? "use_default";
  const why = input["justification"] ?? "";
  if (permissions !== "use_default" && permissions !== "require_escalated") return refuse("`sandbox_permissions` must be \"use_default\" or \"require_escalated\"");
  if (typeof why !== "string") return refuse("`justification` must be a text");
  return { ok: true, value: permissions === "use_default" ? null : why.trim() || "the model gave no reason" };
}

function readCommand(input: Readonly<Record<string, unknown>>): Read<Command> {
  const given = input["cmd"] ?? input["command"];
  if (given === undefined || given === null) return refuse("`cmd` is missing: the command as a text");
  if (Array.isArray(given)) return readProgram(given);
  if (!isPlainText(given)) return refuse("`cmd` must be a text that is not empty and has no NUL characters");
  if (isTooLong(given)) return refuse(`the command is ${Buffer.byteLength(given)} bytes long and the system takes at most ${MAX_ARGUMENT_BYTES}; put the text into a file first`);
  const shell = orNull(input["shell"]);
  if (shell !== null && !isPlainText(shell)) return refuse("`shell` must be the name or path of a shell");
  const login = input["login"] ?? false;
  if (typeof login !== "boolean") return refuse("`login` must be true or false");
  return { ok: true, value: { kind: "script", script: given, shell, login } };
}

function readProgram(given: readonly unknown[]): Read<Command> {
  const [program, ...rest] = given;
  if (!isPlainText(program)) return refuse("`command` must be a list of texts that starts with a program");
  if (!rest.every((argument) => isPlainText(argument, "may be empty"))) return refuse("`command` must be a list of texts without NUL characters");
  const long = [program, ...rest].findIndex((argument) => isTooLong(argument));
  if (long >= 0) return refuse(`element ${long} of \`command\` is longer than the ${MAX_ARGUMENT_BYTES} bytes that the system takes; put the text into a file first`);
  return { ok: true, value: { kind: "program", argv: [program, ...rest] } };
}

/** Models fill in what they leave open. */
function orNull(value: unknown): unknown {
  return value === undefined || value === "" ? null : value;
}

function isLimit(value: unknown): value is number | null {
  return value === null || (typeof value === "number" && Number.isFinite(value) && value > 0);
}

function isSwitch(value: unknown): value is boolean | null {
  return value === null || typeof value === "boolean";
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlainText(value: unknown, empty?: "may be empty"): value is string {
  return typeof value === "string" && !value.includes("\0") && (empty !== undefined || value.trim() !== "");
}

function isVariableName(name: string): boolean {
  return name !== "" && !/[=\0]/u.test(name);
}

function isTooLong(text: string): boolean {
  return text.length > MAX_ARGUMENT_BYTES / 4 && Buffer.byteLength(text) > MAX_ARGUMENT_BYTES;
}

export function refuse(why: string): { ok: false; message: string } {
  return { ok: false, message: `Not run: ${why}.` };
}
