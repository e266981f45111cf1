/** Runs a tool for a call: what it emits is shown as it comes, what it keeps goes beside the log, what it asks goes through the log. */
import type { ContentPart } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { SandboxMode } from "../protocol/record.ts";
import { capText } from "../core/cap.ts";
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
    readKept: async (sha256) => (/^[0-9a-f]{64}$/u.test(sha256) ? session.store.blobs.get(session.thread, { sha256, bytes: 0 }) : null),
    ask(body: Json) {
      const ask = askId();
      session.commit([{ type: "ask.opened", ask, call, kind: "elicitation", body, ...(turn ? { turn } : {}) }]);
      return session.answer(ask, signal);
    },
  };
  const outcome = await tool.run(input, host).catch((error: unknown): ToolOutcome => ({ status: "failed", output: `The tool failed: ${String(error)}` }));
  shown.end();
  return capped(outcome, session);
}

const CHARACTERS_PER_TOKEN = 4;
const OUTPUT_TOKENS = 10_000;
/** What a tool that caps by itself writes around its output. */
const SLACK = 2000;

/** No output is longer than the turn allows, whoever made it; the full text is kept beside the log. */
async function capped(outcome: ToolOutcome, session: Handle): Promise<ToolOutcome> {
  const { talk, thread } = session.state;
  const limit = (talk.turn?.settings ?? thread.settings)["tool_output_token_limit"];
  const most = (typeof limit === "number" ? limit : OUTPUT_TOKENS) * CHARACTERS_PER_TOKEN + SLACK;
  const parts: ContentPart[] = typeof outcome.output === "string" ? [{ type: "input_text", text: outcome.output }] : outcome.output;
  const texts = parts.map((part) => ("text" in part && typeof part.text === "string" ? part.text : ""));
  if (texts.every((text) => text.length <= most)) return outcome;
  const full = outcome.full ?? (await session.keep(texts.join("\n")));
  const cut = parts.map((part, index) => (texts[index]!.length > most ? { ...part, text: capText(texts[index]!, most, (left) => `${left} characters left out; read_file "blob:${full.sha256}" has it all`) } : part));
  return { ...outcome, full, output: typeof outcome.output === "string" ? (cut[0] as { text: string }).text : cut };
}

function outputStream(session: Handle, call: string) {
  return session.live.open(call, "output", (delta, offset) => ({ type: "item/commandExecution/outputDelta", item_id: call, stream: "stdout", delta, offset }));
}

function progress(session: Handle, call: string) {
  return { push: (message: string) => session.show({ type: "item/toolCall/progress", item_id: call, message }), end: () => {} };
}
