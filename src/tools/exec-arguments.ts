/**
 * The arguments of a command call, in the shapes that models send: `{ cmd }` for a shell to read, or `{ command: [program, …] }`
 * to be run as it is. Fields that are not known are ignored; a field of the wrong kind is refused with what it should be.
 */

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** Linux takes at most 128 KiB in one argument. */
const MAX_ARGUMENT_BYTES = 131_071;

export type Command =
  | { kind: "script"; script: string; shell: string | null; login: boolean }
  | { kind: "program"; argv: readonly [string, ...string[]] };

export interface ExecArguments {
  command: Command;
  workdir: string | null;
  timeoutMs: number;
  env: Readonly<Record<string, string>>;
}

export type Read<T> = { ok: true; value: T } | { ok: false; message: string };

export const EXEC_PARAMETERS = {
  type: "object",
  properties: {
    cmd: { type: "string", description: "The command, as one would type it into a shell." },
    workdir: { type: "string", description: "The folder to run it in. Relative paths start at the working folder, which is the default." },
    timeout_ms: {
      type: "number",
      description: `The command and everything that it started are ended after this many milliseconds. Default ${DEFAULT_TIMEOUT_MS}, at most ${MAX_TIMEOUT_MS}.`,
    },
    shell: { type: "string", description: "The shell that reads the command. Default: bash, or sh where there is no bash." },
    login: { type: "boolean", description: "Run it as a login shell, which reads the user's profile first. Default: false." },
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

  const timeout = input["timeout_ms"] ?? input["timeout"] ?? DEFAULT_TIMEOUT_MS;
  if (typeof timeout !== "number" || !Number.isFinite(timeout) || timeout <= 0) return refuse("`timeout_ms` must be a number of milliseconds above 0");

  const env = input["env"] ?? {};
  if (!isObject(env) || !Object.entries(env).every(([name, value]) => isVariableName(name) && isPlainText(value, "may be empty"))) {
    return refuse("`env` must be an object of variable names and texts");
  }
  return {
    ok: true,
    value: { command: command.value, workdir, timeoutMs: Math.min(timeout, MAX_TIMEOUT_MS), env: env as Record<string, string> },
  };
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
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

function refuse(why: string): { ok: false; message: string } {
  return { ok: false, message: `Not run: ${why}.` };
}
