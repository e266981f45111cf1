/**
 * Call: one tool call, at most once. `call.started` is durable before the tool runs; its outcome is committed with the file changes
 * that it made. A call that cannot be run (no such tool, arguments that are not JSON) is answered without being started.
 */
import { outputFor, toolName, type CallItem } from "../protocol/item.ts";
import type { Draft } from "../protocol/record.ts";
import { callItem } from "../core/lost.ts";
import type { ToolOutcome } from "../core/tool.ts";
import type { TurnContext } from "./begin.ts";
import type { Host } from "./host.ts";
import type { Handle } from "./handle.ts";

interface Given {
  session: Handle;
  host: Host;
  context: TurnContext;
  call: string;
  signal: AbortSignal;
}

export async function runCall({ session, host, context, call, signal }: Given): Promise<void> {
  const turn = session.state.talk.turn;
  if (!turn) return;
  const found = callItem(session.state, call);
  const item = found ?? { type: "function_call" as const, call_id: call, name: "", arguments: "" };
  const name = toolName(item);
  const ended = (outcome: Pick<ToolOutcome, "output" | "exit" | "full"> & { status: "done" | "failed" }, ms?: number): Draft => ({
    type: "call.ended",
    turn: turn.id,
    call,
    tool: name,
    status: outcome.status,
    output: outputFor(item, outcome.output),
    ...(outcome.exit === undefined ? {} : { exit: outcome.exit }),
    ...(outcome.full === undefined ? {} : { full: outcome.full }),
    ...(ms === undefined ? {} : { ms }),
  });
  if (!found) {
    session.commit([ended({ status: "failed", output: "What this call asked for cannot be read any more; nothing was run. Send it again." })]);
    return;
  }
  const tool = context.tools.get(name);
  if (!tool) {
    const known = [...new Set([...context.tools.values()].map((each) => each.name))].join(", ");
    session.commit([ended({ status: "failed", output: `There is no tool named "${name}". The tools are: ${known}.` })]);
    return;
  }
  const input = argumentsOf(item);
  if (!input.ok) {
    session.commit([ended({ status: "failed", output: `The arguments are not valid JSON (${input.why}); nothing was run. Send the call again with valid arguments.` })]);
    return;
  }

  const { cwd, sandbox_mode: sandbox } = turn.settings;
  session.commit([{ type: "call.started", turn: turn.id, call, tool: name, envelope: { cwd, sandbox } }]);
  await session.settled();
  const from = host.now();
  const shown = session.live.open(call, "output", (delta, offset) => ({ type: "item/commandExecution/outputDelta", item_id: call, stream: "stdout", delta, offset }));
  const outcome = await tool
    .run(input.value, { cwd, sandbox, signal, emit: ({ text }) => shown.push(text), keep: (text) => session.keep(text) })
    .catch((error: unknown): ToolOutcome => ({ status: "failed", output: `The tool failed: ${String(error)}` }));
  shown.end();
  const changes = (outcome.changes ?? []).map((change): Draft => ({ type: "file.changed", turn: turn.id, call, ...change }));
  session.commit([...changes, ended(outcome, Math.max(0, host.now() - from))]);
  session.live.close(call);
}

function argumentsOf(item: CallItem): { ok: true; value: unknown } | { ok: false; why: string } {
  if (item.type === "local_shell_call") return { ok: true, value: item.action };
  if (item.type === "custom_tool_call") return { ok: true, value: { input: item.input } };
  try {
    return { ok: true, value: item.arguments.trim() === "" ? {} : (JSON.parse(item.arguments) as unknown) };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}
