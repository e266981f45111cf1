/**
 * Sample: one model request. Text is shown as it comes; an item is committed when it is whole. If the stream fails, whole items are
 * kept and the half one is discarded; if it is aborted, what the user already read is kept as a partial item.
 */
import { isCall, isMessage, isReasoning, type Item, type Origin } from "../protocol/item.ts";
import type { Draft, Failure, Usage } from "../protocol/record.ts";
import { kindOf } from "../core/events.ts";
import type { Step } from "../core/next.ts";
import { prompt } from "../core/prompt.ts";
import type { ModelEvent } from "../core/provider.ts";
import { dropRefused } from "../core/refused.ts";
import { untilAborted } from "./aborting.ts";
import type { TurnContext } from "./begin.ts";
import type { Host } from "./host.ts";
import type { LiveStream } from "./live.ts";
import type { Handle } from "./handle.ts";
import { backoff, retriesOf, sleepUntil, withPatience } from "./retrying.ts";
import { withTexts } from "./texts.ts";

interface Given {
  session: Handle;
  host: Host;
  context: TurnContext;
  step: Extract<Step, { do: "sample" }>;
  signal: AbortSignal;
}

export async function runSample({ session, host, context, step, signal }: Given): Promise<void> {
  if (step.notBefore) await sleepUntil(Date.parse(step.notBefore), host, signal);
  const turn = session.state.talk.turn;
  if (signal.aborted || !turn) return;
  const { provider } = context;
  const request = prompt(session.state, { instructions: context.instructions, tools: context.specs });
  const origin = provider?.origin(request.model) ?? null;
  const started: Draft = { type: "sample.started", turn: turn.id };
  if (step.attempt > 1) started["attempt"] = step.attempt;
  if (origin && !sameOrigin(origin, session.state.talk.origin)) started["origin"] = origin;
  const sample = session.commit([started])[0]!.seq;
  const end = (outcome: { status: "done" | "failed" | "lost"; usage?: Usage; failure?: Failure; retries?: number; retryAt?: string }): Draft => ({ type: "sample.ended", turn: turn.id, sample, ...outcome });
  if (!provider) {
    const problem = context.problem ?? { code: "no_provider", message: "No model is configured." };
    session.commit([end({ status: "failed", failure: { ...problem, retryable: false } })]);
    return;
  }

  const items = openItems(session, sample);
  const meter = outputMeter(session, host);
  const outcome = await receive(untilAborted(provider.stream(await withTexts(request, session.thread, session.store.blobs), { signal, blobs: session.store.blobs }), signal), (event) => {
    if (event.type === "notice") return session.show({ type: "warning", message: event.message });
    if (event.type === "text.delta" || event.type === "reasoning.delta") meter(event.delta.length);
    if (event.type !== "item.done") return items.show(event);
    items.finish(event.index);
    if (isCall(event.item)) session.raw.set(event.item.call_id, event.item);
    session.commit([{ type: "item.added", turn: turn.id, id: `${sample}.${event.index}`, item: event.item }]);
    items.close(event.index);
  });
  if (outcome?.type === "done") {
    session.live.clear();
    session.commit([end({ status: "done", ...(outcome.usage ? { usage: outcome.usage } : {}) })]);
  } else if (outcome?.type === "failed") {
    items.discard();
    const dropped = dropRefused(session.state, outcome.failure);
    const failure = dropped ? { ...outcome.failure, retryable: true } : withPatience(outcome.failure, outcome.retryAfterMs);
    const retryAt = failure.retryable && !dropped ? new Date(host.now() + backoff(step.attempt, outcome.retryAfterMs, host)).toISOString() : undefined;
    session.commit([...(dropped ? [dropped] : []), end({ status: "failed", failure, ...(outcome.usage ? { usage: outcome.usage } : {}), ...(failure.retryable ? { retries: retriesOf(provider, failure) } : {}), ...(retryAt ? { retryAt } : {}) })]);
  } else {
    const partial = items.partial().map(({ id, item }): Draft => ({ type: "item.added", turn: turn.id, id, item, partial: true }));
    session.commit([...partial, end({ status: "lost" })]);
    session.live.clear();
  }
}

const CHARACTERS_PER_TOKEN = 4;
const METER_EVERY_MS = 500;

/** Shows now and then about how much has come. */
function outputMeter(session: Handle, host: Host): (characters: number) => void {
  let characters = 0;
  let shownAt = host.now();
  return (more) => {
    characters += more;
    if (host.now() - shownAt < METER_EVERY_MS) return;
    shownAt = host.now();
    session.show({ type: "turn/tokens/estimated", output_tokens: Math.ceil(characters / CHARACTERS_PER_TOKEN) });
  };
}

type Last = Extract<ModelEvent, { type: "done" | "failed" }>;

/** Hands on each event but the last, which it gives back when the stream is closed; null when it was aborted before. */
async function receive(events: AsyncIterable<ModelEvent>, take: (event: Exclude<ModelEvent, Last>) => void): Promise<Last | null> {
  for await (const event of events) {
    if (event.type === "done" || event.type === "failed") return event;
    take(event);
  }
  return null;
}

/** The items of one answer that are under way. */
function openItems(session: Handle, sample: number) {
  const streams = new Map<number, { id: string; kind: "message" | "reasoning"; stream: LiveStream }>();
  return {
    show(event: Exclude<ModelEvent, { type: "item.done" | "notice" | "done" | "failed" }>): void {
      if (event.type === "item.started") {
        const id = `${sample}.${event.index}`;
        const kind = kindOf(event.item);
        if (isMessage(event.item)) {
          const stream = session.live.open(id, "message", (delta, offset) => ({ type: "item/agentMessage/delta", item_id: id, delta, offset }));
          streams.set(event.index, { id, kind: "message", stream });
        } else if (isReasoning(event.item)) {
          const stream = session.live.open(id, "reasoning", (delta, offset) => ({ type: "item/reasoning/delta", item_id: id, delta, offset, kind: "summary", index: 0 }));
          streams.set(event.index, { id, kind: "reasoning", stream });
        }
        if (kind === "agentMessage" || kind === "reasoning") session.show({ type: "item/started", item_id: id, item_kind: kind, item: event.item });
      } else streams.get(event.index)?.stream.push(event.delta);
    },
    finish: (index: number) => streams.get(index)?.stream.end(),
    close(index: number): void {
      const open = streams.get(index);
      if (!open) return;
      streams.delete(index);
      session.live.close(open.id);
    },
    discard(): void {
      for (const { id } of streams.values()) session.show({ type: "item/discarded", item_id: id, message: "The stream broke off; the answer is asked for again." });
      streams.clear();
      session.live.clear();
    },
    partial(): { id: string; item: Item }[] {
      const kept: { id: string; item: Item }[] = [];
      for (const { id, kind, stream } of streams.values()) {
        stream.end();
        const { text } = stream;
        if (text === "") continue;
        if (kind === "message") kept.push({ id, item: { type: "message", role: "assistant", content: [{ type: "output_text", text }] } });
        else kept.push({ id, item: { type: "reasoning", summary: [{ type: "summary_text", text }] } });
      }
      return kept;
    },
  };
}

function sameOrigin(a: Origin, b: Origin | null): boolean {
  return b !== null && a.wire === b.wire && a.provider === b.provider && a.model === b.model && a.account === b.account;
}
