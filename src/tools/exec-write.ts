/**
 * write_stdin: types into a command that exec_command left running, or looks what it wrote since the last look.
 *
 * Without a terminal between them, the two characters that a terminal acts on are acted on here: "\u0003" interrupts, "\u0004" at the end
 * closes the input. What is typed into a shell is a command that nobody has read, so it is not known to be safe, rules that deny or ask
 * count for it as if it were one, and a session that runs in wider bounds than the call may have is typed into only when that was allowed.
 */
import type { AssessHost, Assessment, Tool, ToolHost, ToolOutcome } from "../core/tool.ts";
import type { SandboxMode, ThreadId } from "../protocol/record.ts";
import { isObject, readWait, refuse, type Read } from "./exec-arguments.ts";
import type { ExecOptions } from "./exec-launch.ts";
import { failed } from "./exec-report.ts";
import type { Rule, Ruled } from "./policy/rules.ts";
import { listed, type Processes, type Session } from "./processes.ts";

const INTERRUPT = "\u0003";
const END_OF_INPUT = "\u0004";
const WRITE_YIELD_MS = 250;
const POLL_YIELD_MS = 5000;

const PARAMETERS = {
  type: "object",
  properties: {
    session_id: { type: "number", description: "The session ID that exec_command gave." },
    chars: { type: "string", description: 'What to type; end a line with "\\n". "\\u0003" interrupts. Empty (the default): only wait and look.' },
    yield_time_ms: { type: "number", description: `How long to wait for it to end. Default ${WRITE_YIELD_MS}, or ${POLL_YIELD_MS} with empty chars.` },
    max_output_tokens: { type: "number", description: "How much of the output to return." },
    end: { type: "boolean", description: "End the command, with what it started." },
  },
  required: ["session_id"],
  additionalProperties: false,
} as const;

interface Writing {
  id: number;
  chars: string;
  end: boolean;
  yieldMs: number;
  maxTokens: number | null;
}

export function writeStdin(options: ExecOptions & { processes: Processes; rules: readonly Rule[] }): Tool {
  const find = (thread: ThreadId, id: number): Session | undefined => options.processes.of(thread).find((session) => session.id === id);
  return {
    name: "write_stdin",
    description: "Types into a command that exec_command left running, and returns what it wrote since the last look, with its exit code once it has ended.",
    parameters: PARAMETERS,
    effect: "exec",
    async assess(input, host) {
      const read = readWriting(input);
      const session = read.ok ? find(host.thread, read.value.id) : undefined;
      return read.ok && session ? assessed(read.value, { session, host, rules: options.rules }) : harmless({ command: "", cwd: host.cwd });
    },
    async run(input, host) {
      const read = readWriting(input);
      if (!read.ok) return failed(read.message);
      const session = find(host.thread, read.value.id);
      if (!session) return failed(noSession(read.value.id, options.processes.of(host.thread)));
      const refused = act(session, read.value, host);
      if (refused !== null) return failed(refused);
      return (await import("./exec-session.ts")).waitFor(session, { host, options, yieldMs: read.value.yieldMs, maxTokens: read.value.maxTokens }).then(read.value.end && !host.signal.aborted ? asEnded : withoutDenial);
    },
  };
}

function readWriting(input: unknown): Read<Writing> {
  if (!isObject(input)) return refuse('the arguments must be an object such as {"session_id": 1234, "chars": ""}');
  const id = typeof input["session_id"] === "string" ? Number(input["session_id"]) : input["session_id"];
  if (!Number.isInteger(id)) return refuse("`session_id` must be the number that exec_command gave");
  const chars = input["chars"] ?? "";
  if (typeof chars !== "string") return refuse("`chars` must be a text");
  const end = input["end"] ?? false;
  if (typeof end !== "boolean") return refuse("`end` must be true or false");
  const wait = readWait(input);
  if (!wait.ok) return wait;
  // To end takes as long as it takes, which is not long.
  const yieldMs = end ? POLL_YIELD_MS : (wait.value.yieldMs ?? (chars === "" ? POLL_YIELD_MS : WRITE_YIELD_MS));
  return { ok: true, value: { id: id as number, chars, end, yieldMs, maxTokens: wait.value.maxTokens } };
}

/** Null: done. */
function act(session: Session, { chars, end }: Writing, host: ToolHost): string | null {
  if (end) session.stop();
  if (end || chars === "" || session.finished) return null;
  if (chars !== INTERRUPT && isWider(session.prepared.sandbox, host.sandbox)) return `Not written: the command runs in ${session.prepared.sandbox}, and this call is bound to ${host.sandbox}.`;
  if (chars === INTERRUPT && session.input !== "terminal") session.interrupt();
  else if (session.input === "none") return "Not written: its input is closed. Start a command with tty: true (or stdin: true) to write to it.";
  else if (!type(session, chars)) return "Not written: it does not read what was written to it before.";
  return null;
}

function type(session: Session, chars: string): boolean {
  const ends = session.input === "pipe" && chars.endsWith(END_OF_INPUT);
  const written = session.write(ends ? chars.slice(0, -1) : chars);
  if (ends) session.endInput();
  return written;
}

async function assessed({ chars, end }: Writing, { session, host, rules }: { session: Session; host: AssessHost; rules: readonly Rule[] }): Promise<Assessment> {
  const shown = { command: chars, cwd: session.prepared.workdir };
  if (end || chars === "" || chars === INTERRUPT) return harmless(shown);
  return {
    safe: false,
    ...(await strictRule({ chars, cwd: shown.cwd, rules })),
    outside: isWider(session.prepared.sandbox, host.sandbox) ? `it is typed into a command that runs outside: ${session.command}` : null,
    shown: { kind: "command", ...shown },
    grant: { keys: [`write_stdin ${session.id}`], text: `typing anything into session ${session.id}: ${session.command}` },
  };
}

/** What reads it is not known to be a shell, so no rule allows it. */
async function strictRule({ chars, cwd, rules }: { chars: string; cwd: string; rules: readonly Rule[] }): Promise<Ruled> {
  if (rules.length === 0) return { rule: null };
  const { assessCommand } = await import("./policy/assess.ts");
  const { rule, ruleWhy } = await assessCommand({ command: { kind: "script", script: chars, shell: null, login: false }, cwd, rules, outside: null });
  return { rule: rule === "allow" ? null : rule, ...(ruleWhy === undefined ? {} : { ruleWhy }) };
}

function harmless(shown: { command: string; cwd: string }): Assessment {
  return { safe: true, rule: null, outside: null, shown: { kind: "command", ...shown }, grant: null };
}

const MODES: readonly SandboxMode[] = ["read-only", "workspace-write", "danger-full-access"];

function isWider(mode: SandboxMode, bound: SandboxMode): boolean {
  return MODES.indexOf(mode) > MODES.indexOf(bound);
}

function noSession(id: number, others: readonly Session[]): string {
  const running = others.length > 0 ? `\nThe sessions of this thread:\n${listed(others)}` : "";
  return `No such session: ${id}. It ended with the Skein process that ran it, or was ended.${running}`;
}

function asEnded(outcome: ToolOutcome): ToolOutcome {
  const told = (outcome.output as string).replace(/^Interrupted: (.*?)(?: were ended)?\.$/mu, "Ended: $1.");
  return { ...withoutDenial(outcome), status: "done", output: told };
}

/** What was typed cannot be run again outside. */
function withoutDenial({ denied: _none, ...outcome }: ToolOutcome): ToolOutcome {
  return outcome;
}
