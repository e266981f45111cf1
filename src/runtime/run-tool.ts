/** Runs a tool for a call: what it emits is shown as it comes, what it keeps goes beside the log, what it asks goes through the log. */
import type { Json } from "../protocol/json.ts";
import type { SandboxMode } from "../protocol/record.ts";
import { callKind } from "../core/events.ts";
import type { Tool, ToolHost, ToolOutcome } from "../core/tool.ts";
import type { Handle } from "./handle.ts";
import { askId } from "./ids.ts";

interface Given {
  session: Handle;
  tool: Tool;
  call: string;
  input: unknown;
  cwd: string;
  sandbox: SandboxMode;
  signal: AbortSignal;
}

export async function runTool({ session, tool, call, input, cwd, sandbox, signal }: Given): Promise<ToolOutcome> {
  const shown = callKind(tool.name) === "commandExecution" ? outputStream(session, call) : progress(session, call);
  const turn = session.state.talk.turn?.id;
  const host: ToolHost = {
    thread: session.thread,
    call,
    cwd,
    sandbox,
    signal,
    emit: ({ text }) => shown.push(text),
    keep: (text) => session.keep(text),
    keepBytes: (bytes) => session.keepBytes(bytes),
    ask(body: Json) {
      const ask = askId();
      session.commit([{ type: "ask.opened", ask, call, kind: "elicitation", body, ...(turn ? { turn } : {}) }]);
      return session.answer(ask, signal);
    },
  };
  const outcome = await tool.run(input, host).catch((error: unknown): ToolOutcome => ({ status: "failed", output: `The tool failed: ${String(error)}` }));
  shown.end();
  return outcome;
}

function outputStream(session: Handle, call: string) {
  return session.live.open(call, "output", (delta, offset) => ({ type: "item/commandExecution/outputDelta", item_id: call, stream: "stdout", delta, offset }));
}

function progress(session: Handle, call: string) {
  return { push: (message: string) => session.show({ type: "item/toolCall/progress", item_id: call, message }), end: () => {} };
}
