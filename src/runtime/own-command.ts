/** A command that the user runs (`!command`): as they are, outside the sandbox, in the thread's folder. The model is told of it. */
import type { Draft } from "../protocol/record.ts";
import { OWN_COMMAND, ownCommandMessage } from "../core/command-output.ts";
import { textOf } from "../protocol/item.ts";
import type { ToolOutcome } from "../core/tool.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import type { Host } from "./host.ts";
import { runTool } from "./run-tool.ts";

/** It is not ended for taking long: after this it goes on in the background, as a command of the model would. */
const LONG_MS = 600_000;

interface Given {
  session: Handle;
  host: Host;
  context: TurnContext;
  call: string;
  signal: AbortSignal;
}

export async function runOwnCommand({ session, host, context, call, signal }: Given): Promise<void> {
  const { talk, thread } = session.state;
  const command = talk.requested?.find((own) => own.call === call)?.command;
  if (command === undefined) return;
  const { cwd } = thread.settings;
  const turn = talk.turn ? { turn: talk.turn.id } : {};
  const sandbox = "danger-full-access" as const;
  session.commit([{ type: "call.started", ...turn, call, tool: OWN_COMMAND, envelope: { cwd, sandbox } }]);
  await session.settled();
  const from = host.now();
  const tool = context.tools.get("exec_command");
  const outcome: ToolOutcome = tool ? await runTool({ session, tool, call, input: { cmd: command, yield_time_ms: LONG_MS }, cwd, sandbox, signal }) : { status: "failed", output: "Not run: there is no tool here that runs commands." };
  const told = typeof outcome.output === "string" ? outcome.output : textOf({ type: "message", role: "user", content: outcome.output });
  const ended: Draft = {
    type: "call.ended",
    ...turn,
    call,
    tool: OWN_COMMAND,
    status: outcome.status,
    output: ownCommandMessage(command, told),
    ...(outcome.exit === undefined ? {} : { exit: outcome.exit }),
    ...(outcome.full === undefined ? {} : { full: outcome.full }),
    ms: Math.max(0, host.now() - from),
  };
  session.commit([ended]);
  session.live.close(call);
}
