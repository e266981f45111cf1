/**
 * Compact: puts a summary in the place of the older history, as one sample of the turn. Whatever the model does, the result fits: if it
 * fails, refuses or says nothing, the user's own requests and the ledger stand for what went; only where a compaction was asked for
 * without need, nothing is changed then. With `review`, the text is an ask first and takes effect as it is answered.
 */
import type { Item, Origin } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { CompactStrategy, Draft, Failure, Usage } from "../protocol/record.ts";
import { compacted, NO_SUMMARY, plan, requestsOf, strategyOf, summaryMessage, TOO_LARGE, type Plan } from "../core/compact.ts";
import { roomOf } from "../core/room.ts";
import { visible } from "../core/history.ts";
import type { Step } from "../core/next.ts";
import { prompt } from "../core/prompt.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import type { Host } from "./host.ts";
import { askId } from "./ids.ts";
import { summarize, type Retrying } from "./summarize.ts";
import { withTexts } from "./texts.ts";

interface Given {
  session: Handle;
  host: Host;
  context: TurnContext;
  step: Extract<Step, { do: "compact" }>;
  signal: AbortSignal;
}

export async function runCompact(given: Given): Promise<void> {
  const { session, step } = given;
  const { talk } = session.state;
  const reviewed = talk.asks.find((ask) => ask.kind === "summary" && ask.answer !== undefined);
  if (reviewed) return put(given, { plan: plan(session.state), ...reviewedText(reviewed.answer!, reviewed.body) });

  const prepared = step.trigger === "manual" ? undefined : (talk.prepared ?? undefined);
  const planned = plan(session.state, prepared?.summary ? prepared.before : undefined);
  if (planned.tooLarge) return giveUp(session, tooLarge(planned.tooLarge));
  if (prepared?.summary && prepared.before === planned.keepFrom) {
    const bytes = await session.store.blobs.get(session.thread, prepared.summary).catch(() => null);
    if (bytes) return put(given, { plan: planned, text: new TextDecoder().decode(bytes), strategy: "summary" });
  }
  // A wish for the summary needs one.
  const strategy = talk.compaction?.instructions === undefined ? strategyOf(session.state) : "summary";
  if (strategy === "user-messages") return offer(given, { plan: planned, text: requestsOf(session.state, planned.goes), strategy });
  await bySample(given, planned, strategy);
}

/** One sample, whatever it takes: a second one would be another step of the turn. */
async function bySample(given: Given, planned: Plan, strategy: CompactStrategy): Promise<void> {
  const { session, host, context, step, signal } = given;
  const { compaction, turn } = session.state.talk;
  const sample = session.commit([{ type: "sample.started", turn: turn!.id, purpose: "compact" }])[0]!.seq;
  const end = (outcome: { status: "done" | "failed" | "lost"; usage?: Usage; failure?: Failure }): Draft => ({ type: "sample.ended", turn: turn!.id, sample, ...outcome });
  const requests = () => requestsOf(session.state, planned.goes);
  const remote = strategy === "remote" && !compaction?.review ? await remotely(given, planned) : null;
  if (remote && !signal.aborted) return put(given, { plan: planned, text: requests(), strategy, ...remote, ended: end({ status: "done", ...(remote.usage ? { usage: remote.usage } : {}) }) });
  const onRetry: Retrying = ({ attempt, most, at, failure }) =>
    session.show({ type: "turn/retrying", attempt, max_attempts: most, message: failure.message, code: failure.code, retry_at: new Date(at).toISOString() });
  const summary = await summarize({ session, host, context, plan: planned, instructions: compaction?.instructions, signal, onRetry });
  const usage = summary.usage ? { usage: summary.usage } : {};
  if (signal.aborted) {
    session.commit([end({ status: "lost", ...usage })]);
    return;
  }
  if (summary.ok) return offer(given, { plan: planned, text: summary.text, strategy: "summary", ended: end({ status: "done", ...usage }) });
  const failure = { ...summary.failure, retryable: false };
  if (step.trigger === "manual" && planned.before <= roomOf(session.state).limit) {
    session.commit([end({ status: "failed", failure: { ...failure, code: NO_SUMMARY, message: `No summary could be made, and nothing was changed. ${failure.message}` }, ...usage })]);
    return;
  }
  session.show({ type: "warning", message: `No summary could be made (${failure.message}); what you asked and the ledger of what was done stand for it.` });
  offer(given, { plan: planned, text: requests(), strategy: "user-messages", ended: end({ status: "failed", failure, ...usage }) });
}

/** Puts it into force, or before the user first. */
function offer(given: Given, made: Made): void {
  const { session } = given;
  const { compaction, turn } = session.state.talk;
  if (!compaction?.review) return put(given, made);
  const { goes, stays, before } = made.plan;
  const body: Json = { text: made.text, strategy: made.strategy, goes: goes.length, stays: stays.length, tokens: before };
  session.commit([...(made.ended ? [made.ended] : []), { type: "ask.opened", turn: turn!.id, ask: askId(), kind: "summary", body }]);
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

function reviewedText(answer: Json, body: Json): { text: string; strategy: CompactStrategy } {
  const { text } = (typeof answer === "object" && answer !== null ? answer : {}) as { text?: Json };
  const offered = body as { text: string; strategy?: CompactStrategy };
  return { text: typeof text === "string" && text.trim() !== "" ? text : offered.text, strategy: offered.strategy ?? "summary" };
}

function tooLarge({ tokens, budget, part, partTokens }: NonNullable<Plan["tooLarge"]>): Failure {
  const message = `Even without any history a request would not fit: what stands before it takes about ${tokens} tokens of ${budget}, the largest part of that, ${part}, about ${partTokens}. Shorten it, or choose a model with a larger window. The conversation is kept.`;
  return { code: TOO_LARGE, message, retryable: false };
}

function giveUp(session: Handle, failure: Failure): void {
  const turn = session.state.talk.turn!.id;
  const [started] = session.commit([{ type: "sample.started", turn, purpose: "compact" }]);
  session.commit([{ type: "sample.ended", turn, sample: started!.seq, status: "failed", failure }]);
}
