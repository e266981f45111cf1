/**
 * Call: one tool call, from assessment to outcome. What it would do is judged first (core/approval.ts): it may run, must be asked about,
 * or is refused. `call.started` is durable before the tool runs, so that it runs at most once; its outcome is committed with the file
 * changes that it made. A question ends this effect: the answer lists the call again, and it goes on from what the log says, in this
 * process or the next.
 */
import { outputFor, toolName, type CallItem } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { Draft, OpenAsk, SandboxMode } from "../protocol/record.ts";
import { answerOf, approvalBody, boundsOf, judge, type ApprovalBody, type Bounds } from "../core/approval.ts";
import { callItem } from "../core/lost.ts";
import type { Assessment, Tool, ToolOutcome } from "../core/tool.ts";
import type { TurnContext } from "./begin.ts";
import type { Host } from "./host.ts";
import type { Handle } from "./handle.ts";
import { askId } from "./ids.ts";
import { runTool } from "./run-tool.ts";

interface Given {
  session: Handle;
  host: Host;
  context: TurnContext;
  call: string;
  signal: AbortSignal;
}

interface Ready extends Given {
  turn: string;
  item: CallItem;
  tool: Tool;
  input: unknown;
  bounds: Bounds;
  cwd: string;
  assessed: Assessment | null;
}

export async function runCall(given: Given): Promise<void> {
  const { session, context, call } = given;
  const { talk, thread } = session.state;
  if (!talk.turn) return;
  const found = session.raw.get(call) ?? callItem(session.state, call);
  const item = found ?? { type: "function_call" as const, call_id: call, name: "", arguments: "" };
  const turn = talk.turn.id;
  const prepared = prepare({ item: found, tools: context.tools, isRaw: session.raw.has(call) });
  if (!prepared.ok) return end({ session, turn, item }, { status: "failed", output: prepared.message });
  const bounds = boundsOf(talk.turn.settings, thread.settings);
  const { cwd } = talk.turn.settings;
  const { tool, input } = prepared;
  const about = { thread: session.thread, cwd, sandbox: bounds.sandbox_mode, approval: bounds.approval_policy };
  const assessed = tool.assess ? await tool.assess(input, about).catch((error: unknown) => String(error)) : null;
  if (given.signal.aborted) return;
  if (typeof assessed === "string") return end({ session, turn, item }, { status: "failed", output: `Not run: what it would do could not be told (${assessed}).` });
  const ready: Ready = { ...given, turn, item, tool, input, bounds, cwd, assessed };
  const asked = talk.asks.find((open) => open.call === call && open.answer !== undefined);
  if (asked && (assessed?.rule !== "deny" || asked.kind === "escalation")) return answered(ready, asked);
  const verdict = assessed ? judge(assessed, bounds, thread.grants) : { do: "run" as const, sandbox: bounds.sandbox_mode };
  if (verdict.do === "refuse") return end(ready, { status: "denied", output: verdict.message });
  if (verdict.do === "run") return perform(ready, verdict.sandbox);
  ask(ready, "approval", approvalBody({ assessed: assessed!, ...verdict }));
}

function ask({ session, turn, call }: Ready, kind: "approval" | "escalation", body: ApprovalBody): void {
  session.commit([{ type: "ask.opened", turn, ask: askId(), call, kind, body: body as unknown as Json }]);
}

async function answered(ready: Ready, asked: OpenAsk): Promise<void> {
  const { decision, reason, absent } = answerOf(asked.answer!);
  const body = asked.body as unknown as ApprovalBody;
  if (decision !== "no" && ready.assessed?.rule !== "deny") return perform(ready, body.sandbox);
  const said = reason === null ? "" : ` The user said: ${reason}`;
  const refusal = absent ? `Not run: it would need approval (${body.why}), and nobody is there to be asked. Find a way that needs none, or say what the user has to do.` : `Not run: the user did not allow it.${said} Do not try it in another form.`;
  const inside = asked.kind === "escalation" ? (body.outcome as unknown as ToolOutcome | undefined) : undefined;
  if (!inside) return end(ready, { status: "denied", output: refusal });
  end(ready, { ...inside, output: withNote(inside.output, absent ? "It was not run outside the sandbox: nobody is there to allow it." : `The user did not allow it to run outside the sandbox.${said}`) });
}

async function perform(ready: Ready, sandbox: SandboxMode): Promise<void> {
  const { session, host, turn, item, tool, bounds, assessed, cwd } = ready;
  const actions = assessed?.actions && assessed.actions.length > 0 ? { actions: [...assessed.actions] } : {};
  session.commit([{ type: "call.started", turn, call: item.call_id, tool: toolName(item), envelope: { cwd, sandbox }, ...actions }]);
  await session.settled();
  const from = host.now();
  const outcome = await runTool({ ...ready, tool, sandbox });
  const ms = Math.max(0, host.now() - from);
  if (outcome.denied && assessed && mayEscalate(assessed, { bounds, sandbox })) {
    const { denied, changes: _none, ...rest } = outcome;
    const why = `the sandbox kept it from ${denied.what}`;
    const body = { ...approvalBody({ assessed, sandbox: "danger-full-access", why }), denied, outcome: rest as unknown as Json };
    ask(ready, "escalation", body);
    session.live.close(item.call_id);
    return;
  }
  end(ready, outcome, ms);
}

/** Whether the user is asked to run it outside, after the sandbox stood in its way. */
function mayEscalate({ rule }: Assessment, { bounds, sandbox }: { bounds: Bounds; sandbox: SandboxMode }): boolean {
  return sandbox !== "danger-full-access" && bounds.approval_policy !== "never" && rule !== "deny";
}

type Told = Pick<ToolOutcome, "output" | "exit" | "full" | "changes" | "plan" | "reads"> & { status: "done" | "failed" | "denied" };

function end({ session, turn, item }: { session: Handle; turn: string; item: CallItem }, outcome: Told, ms?: number): void {
  const call = item.call_id;
  const changes = (outcome.changes ?? []).map((change): Draft => ({ type: "file.changed", turn, call, ...change }));
  const plan: Draft[] = outcome.plan ? [{ type: "plan.changed", turn, plan: outcome.plan }] : [];
  const ended: Draft = {
    type: "call.ended",
    turn,
    call,
    tool: toolName(item),
    status: outcome.status,
    output: outputFor(item, outcome.output),
    ...(outcome.exit === undefined ? {} : { exit: outcome.exit }),
    ...(outcome.full === undefined ? {} : { full: outcome.full }),
    ...(ms === undefined ? {} : { ms }),
    ...(outcome.reads && outcome.reads.length > 0 ? { reads: outcome.reads } : {}),
  };
  session.commit([...changes, ...plan, ended]);
  session.raw.delete(call);
  session.live.close(call);
}

function withNote(output: ToolOutcome["output"], note: string): ToolOutcome["output"] {
  return typeof output === "string" ? `${output}\n${note}` : [...output, { type: "input_text", text: note }];
}

type Prepared = { ok: true; tool: Tool; input: unknown } | { ok: false; message: string };

function prepare({ item, tools, isRaw }: { item: CallItem | null; tools: TurnContext["tools"]; isRaw: boolean }): Prepared {
  if (!item) return { ok: false, message: "What this call asked for cannot be read any more; nothing was run. Send it again." };
  const name = toolName(item);
  const tool = tools.get(name);
  if (!tool) {
    const known = [...new Set([...tools.values()].map((each) => each.name))].join(", ");
    return { ok: false, message: `There is no tool named "${name}". The tools are: ${known}.` };
  }
  if (!isRaw && JSON.stringify(item).includes("[REDACTED:")) {
    return { ok: false, message: "Not run: this call held a secret, which is not kept, and the process that received it has ended. Issue it again." };
  }
  return inputOf(item, tool);
}

function inputOf(item: CallItem, tool: Tool): Prepared {
  if (item.type === "local_shell_call") return { ok: true, tool, input: item.action };
  if (item.type === "custom_tool_call") return { ok: true, tool, input: { input: item.input } };
  try {
    return { ok: true, tool, input: item.arguments.trim() === "" ? {} : (JSON.parse(item.arguments) as unknown) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, message: `The arguments are not valid JSON (${why}); nothing was run. Send the call again with valid arguments.` };
  }
}
