/**
 * exec_command: runs a command and tells the model how it ended and what it wrote (exec-report.ts has the form). With `yield_time_ms` the
 * call waits only for so long, and a command that still runs goes on as a session of its thread (processes.ts).
 */
import { resolve } from "node:path";
import type { Assessment, Tool, ToolHost, ToolOutcome } from "../core/tool.ts";
import type { Json } from "../protocol/json.ts";
import { EXEC_PARAMETERS, readExecArguments, type Command, type ExecArguments } from "./exec-arguments.ts";
import { launch, prepare, type ExecOptions } from "./exec-launch.ts";
import { createShower, failed, report } from "./exec-report.ts";
import { createCollector, type Collector } from "./output.ts";
import type { Rule } from "./policy/rules.ts";
import type { Processes } from "./processes.ts";

const DESCRIPTION = `Runs a command in a shell (bash) and returns its exit code and what it wrote, stdout and stderr together in the order in which they were written. Each call starts anew in the working folder: \`cd\` and variables do not carry over. Long output is cut in the middle. The call ends when the command does, and processes left in the background are ended with it (without a sandbox, one in a session of its own, by \`setsid\`, stays); with \`yield_time_ms\` (servers, watchers, prompts) a command that still runs goes on, and \`write_stdin\` reads and writes it.`;

export interface ExecCommandOptions extends ExecOptions {
  processes: Processes;
  /** `[[rules]]` */
  rules: readonly Rule[];
}

export function execCommand(options: ExecCommandOptions): Tool {
  return {
    name: "exec_command",
    aliases: ["shell", "local_shell"],
    description: DESCRIPTION,
    parameters: EXEC_PARAMETERS,
    effect: "exec",
    async assess(input, { cwd, sandbox, approval }) {
      const read = readExecArguments(input);
      // It will not be run.
      if (!read.ok) return { safe: true, rule: null, outside: null, shown: { kind: "tool", tool: "exec_command", arguments: input as Json }, grant: null };
      if (approval === "never" && options.rules.length === 0 && read.value.escalated === null && !mayLook(read.value.command)) return unread(read.value.command, cwd);
      const { assessCommand } = await import("./policy/assess.ts");
      const { command, workdir, env, escalated, input: stdin } = read.value;
      return assessCommand({ command, cwd: resolve(cwd, workdir ?? "."), env, terminal: stdin === "terminal", rules: options.rules, outside: sandbox === "danger-full-access" ? null : escalated });
    },
    async run(input, host) {
      const read = readExecArguments(input);
      if (!read.ok) return failed(read.message);
      if (host.signal.aborted) return failed("Not run: interrupted before it was started.");
      const given = { args: read.value, host, options };
      if (read.value.yieldMs === null) return runToEnd(given);
      return (await import("./exec-session.ts")).runInSession(given);
    },
  };
}

const LOOKERS = /\b(?:cat|head|tail|nl|sed|ls|find|rg|e?grep|fd|tree|git)\b/u;

/** Whether it is worth reading for what it looks at. */
function mayLook(command: Command): boolean {
  return LOOKERS.test(textOf(command));
}

/** Where nobody is asked and no rule binds, the sandbox alone is the bound: reading the command would decide nothing. */
function unread(command: Command, cwd: string): Assessment {
  return { safe: false, rule: null, outside: null, shown: { kind: "command", command: textOf(command), cwd }, grant: null };
}

function textOf(command: Command): string {
  return command.kind === "script" ? command.script : command.argv.join(" ");
}

async function runToEnd({ args, host, options }: { args: ExecArguments; host: ToolHost; options: ExecOptions }): Promise<ToolOutcome> {
  const prepared = prepare({ args, host, options });
  let collector: Collector = createCollector();
  const shower = createShower(host);
  const from = performance.now();
  const state = await launch(prepared, {
    options,
    signal: host.signal,
    attempt() {
      collector = createCollector();
      return {
        onOutput(chunk) {
          collector.add(chunk);
          shower.show(chunk);
        },
      };
    },
  });
  shower.end();
  return report({ prepared, state, collected: collector.collected(), ms: performance.now() - from, maxTokens: args.maxTokens }, { host, options });
}
