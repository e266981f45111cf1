/**
 * Compact: puts a summary in the place of the older history, as one sample of the turn. Whatever the model does, the result fits: if it
 * fails, refuses or says nothing, the user's own requests and the ledger stand for what went. With `review`, the summary is an ask first
 * and takes effect as it is answered.
 */
import type { Item, Origin } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { CompactStrategy, Draft, Failure, Usage } from "../protocol/record.ts";
import { compacted, plan, requestsOf, strategyOf, summaryMessage, TOO_LARGE, type Plan } from "../core/compact.ts";
import { visible } from "../core/history.ts";
import type { Step } from "../core/next.ts";
import { prompt } from "../core/prompt.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import { askId } from "./ids.ts";
import { summarize } from "./summarize.ts";
import { withTexts } from "./texts.ts";

interface Given {
  session: Handle;
  context: TurnContext;
  step: Extract<Step, { do: "compact" }>;
  signal: AbortSignal;
}

export async function runCompact(given: Given): Promise<void> {
  const { session, step } = given;
  const { talk } = session.state;
  const reviewed = talk.asks.find((ask) => ask.kind === "summary" && ask.answer !== undefined);
  if (reviewed) return put(given, { plan: plan(session.state), text: reviewedText(reviewed.answer!, reviewed.body), strategy: "summary" });

  const prepared = step.trigger === "manual" ? undefined : (talk.prepared ?? undefined);
  const planned = plan(session.state, prepared?.summary ? prepared.before : undefined);
  if (planned.tooLarge) return giveUp(session, planned.tooLarge);
  if (prepared?.summary && prepared.before === planned.keepFrom) {
    const bytes = await session.store.blobs.get(session.thread, prepared.summary).catch(() => null);
    if (bytes) return put(given, { plan: planned, text: new TextDecoder().decode(bytes), strategy: "summary" });
  }
  const strategy = strategyOf(session.state);
  if (strategy === "user-messages") return put(given, { plan: planned, text: requestsOf(session.state), strategy });
  await bySample(given, planned, strategy);
}

/** One sample, whatever it takes: a second one would be another step of the turn. */
async function bySample(given: Given, planned: Plan, strategy: CompactStrategy): Promise<void> {
  const { session, context, signal } = given;
  const { compaction, turn } = session.state.talk;
  const sample = session.commit([{ type: "sample.started", turn: turn!.id, purpose: "compact" }])[0]!.seq;
  const end = (outcome: { status: "done" | "failed" | "lost"; usage?: Usage; failure?: Failure }): Draft => ({ type: "sample.ended", turn: turn!.id, sample, ...outcome });
  const remote = strategy === "remote" && !compaction?.review ? await remotely(given, planned) : null;
  if (remote && !signal.aborted) return put(given, { plan: planned, text: requestsOf(session.state), strategy, ...remote, ended: end({ status: "done", ...(remote.usage ? { usage: remote.usage } : {}) }) });
  const summary = await summarize({ session, context, plan: planned, instructions: compaction?.instructions, signal });
  const usage = summary.usage ? { usage: summary.usage } : {};
  if (signal.aborted) {
    session.commit([end({ status: "lost", ...usage })]);
    return;
  }
  if (summary.ok && compaction?.review) {
    const body: Json = { text: summary.text, goes: planned.goes.length, stays: planned.stays.length, tokens: planned.before };
    session.commit([end({ status: "done", ...usage }), { type: "ask.opened", turn: turn!.id, ask: askId(), kind: "summary", body }]);
    return;
  }
  const ended = summary.ok ? end({ status: "done", ...usage }) : end({ status: "failed", failure: { ...summary.failure, retryable: false }, ...usage });
  if (!summary.ok) session.show({ type: "warning", message: `No summary could be made (${summary.failure.message}); what you asked and the ledger of what was done stand for it.` });
  put(given, { plan: planned, text: summary.ok ? summary.text : requestsOf(session.state), strategy: summary.ok ? "summary" : "user-messages", ended });
}

/** By the provider itself, where it can: opaque items for itself alone; others will see what the user asked. */
async function remotely({ session, context, signal }: Given, planned: Plan): Promise<{ opaque: Item[]; madeBy: Origin; usage: Usage | null } | null> {
  const { provider } = context;
  if (!provider?.remoteCompact) return null;
  const { state, store, thread } = session;
  const request = prompt(state, { instructions: context.instructions, tools: context.specs });
  const input = visible({ ...state.history, entries: [...planned.goes] });
  const answer = await provider.remoteCompact(await withTexts({ ...request, input }, thread, store.blobs), { signal, blobs: store.blobs });
  return answer.ok ? { opaque: answer.items.filter((item) => item.type === "compaction"), madeBy: provider.origin(request.model), usage: answer.usage } : null;
}

interface Made {
  plan: Plan;
  text: string;
  strategy: CompactStrategy;
  opaque?: readonly Item[];
  madeBy?: Origin;
  ended?: Draft;
}

function put({ session, step }: Given, made: Made): void {
  const items: Item[] = [summaryMessage(made.text, made.plan.summaryTokens), ...(made.opaque ?? [])];
  const record = compacted(session.state, made.plan, { items, strategy: made.strategy, trigger: step.trigger, ...(made.madeBy ? { madeBy: made.madeBy } : {}) });
  session.commit(made.ended ? [record, made.ended] : [record]);
}

function reviewedText(answer: Json, body: Json): string {
  const { text } = (typeof answer === "object" && answer !== null ? answer : {}) as { text?: Json };
  return typeof text === "string" && text.trim() !== "" ? text : (body as { text: string }).text;
}

function giveUp(session: Handle, { part, tokens }: NonNullable<Plan["tooLarge"]>): void {
  const turn = session.state.talk.turn!.id;
  const message = `Even without any history a request would not fit: ${part} alone take about ${tokens} tokens. Shorten them, or choose a model with a larger window. The conversation is kept.`;
  const [started] = session.commit([{ type: "sample.started", turn, purpose: "compact" }]);
  session.commit([{ type: "sample.ended", turn, sample: started!.seq, status: "failed", failure: { code: TOO_LARGE, message, retryable: false } }]);
}
