/**
 * Summarize: asks the model for a summary of what a compaction lets go. One request, which begins like the turn's own so that the
 * provider's cache serves it; where that does not fit, the history is read in pieces, each with the summary so far, so that the
 * number of requests is bounded by its length.
 */
import { isMessage, textOf, userText } from "../protocol/item.ts";
import type { Failure, Usage } from "../protocol/record.ts";
import { capSummary, type Plan } from "../core/compact.ts";
import { OVERFLOW, roomOf } from "../core/room.ts";
import { visible } from "../core/history.ts";
import { prompt } from "../core/prompt.ts";
import type { ModelRequest } from "../core/provider.ts";
import { addUsage } from "../core/state.ts";
import { tokensOf, tokensOfText } from "../core/tokens.ts";
import { pieces } from "../core/transcript.ts";
import { untilAborted } from "./aborting.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import type { Host } from "./host.ts";
import { backoff, retriesOf, sleepUntil, withPatience } from "./retrying.ts";
import { withTexts } from "./texts.ts";

export const INTERRUPTED: Failure = { code: "interrupted", message: "The summary was interrupted." };

export type Summary = { ok: true; text: string; usage: Usage | null } | { ok: false; failure: Failure; usage: Usage | null };

const ASK = `Summarise the conversation so far for yourself: it will be taken out of your sight, and you go on with your summary alone. \
Say what the user wants and every constraint that they gave; what was decided and why; what was found out, with exact names, paths, numbers and error messages; \
what was changed and in what state it is; what is left to do, and what comes next. Be complete and brief. Answer with the summary only, and call no tool.`;
const MORE = "Here is the next part of a long conversation. Extend the summary so far by what it adds; keep everything that still matters.";
/** Of the window that a request for a summary may fill: the answer needs some of it. */
const SHARE = 0.92;
/** Of the room for the history, what a piece of it takes, and what the summary so far. */
const PIECE = 0.6;
const SO_FAR = 0.3;
/** Smaller pieces would be too many. */
const SMALLEST_PIECE = 250;

interface Given {
  session: Handle;
  host: Host;
  context: TurnContext;
  plan: Plan;
  instructions: string | undefined;
  signal: AbortSignal;
  /** Told when a request is made again. */
  onRetry?: Retrying;
}

export type Retrying = (retrying: { attempt: number; most: number; at: number; failure: Failure }) => void;

export async function summarize(given: Given): Promise<Summary> {
  const { session, context, plan } = given;
  const room = roomOf(session.state);
  const most = Math.floor((room.window ?? room.limit) * SHARE);
  const base: ModelRequest = { ...prompt(session.state, { instructions: context.instructions, tools: context.specs }), toolChoice: "none" };
  const ask = `${ASK}${given.instructions === undefined ? "" : `\nThe user asks for this: ${given.instructions}`}`;
  const { summary, shown, madeBy } = session.state.history;
  const input = visible({ summary, shown, madeBy, entries: [...plan.goes] });
  const overhead = tokensOfText(base.instructions) + tokensOfText(JSON.stringify(base.tools)) + tokensOfText(ask);
  const tokens = (overhead + input.reduce((sum, { item }) => sum + tokensOf(item), 0)) * plan.scale;
  const { schema: _none, ...plain } = base;
  if (tokens > most) return inPieces(given, { plain, ask, most });
  const whole = await request(given, { ...plain, input: [...input, { item: userText(ask), origin: null }] });
  return whole.ok || whole.failure.code !== OVERFLOW ? whole : inPieces(given, { plain, ask, most: Math.floor(tokens / 2) });
}

async function inPieces(given: Given, { plain, ask, most }: { plain: ModelRequest; ask: string; most: number }): Promise<Summary> {
  const { summary } = given.session.state.history;
  const room = most / given.plan.scale - tokensOfText(plain.instructions) - tokensOfText(ask);
  let text = summary.map(textOf).join("\n");
  let usage: Usage | null = null;
  for (const piece of pieces(given.plan.goes, Math.max(SMALLEST_PIECE, Math.floor(room * PIECE)))) {
    const parts = [text === "" ? "" : `The summary so far:\n${capSummary(text, Math.floor(room * SO_FAR))}`, `${MORE}\n\n${piece}`, ask].filter((part) => part !== "");
    const result = await request(given, { ...plain, tools: [], input: [{ item: userText(parts.join("\n\n")), origin: null }] });
    usage = total(usage, result.usage);
    if (!result.ok) return { ...result, usage };
    text = result.text;
  }
  return { ok: true, text, usage };
}

async function request(given: Given, wanted: ModelRequest): Promise<Summary> {
  const { context, host, signal } = given;
  let spent: Usage | null = null;
  for (let attempt = 1; ; attempt++) {
    const { retryAfterMs, ...answer } = await once(given, wanted);
    spent = total(spent, answer.usage);
    const result = { ...answer, usage: spent };
    if (result.ok || signal.aborted) return result;
    const failure = withPatience(result.failure, retryAfterMs);
    const most = context.provider ? retriesOf(context.provider, failure) : 0;
    if (!failure.retryable || attempt > most) return { ...result, failure };
    const at = host.now() + backoff(attempt, retryAfterMs, host);
    given.onRetry?.({ attempt, most, at, failure });
    await sleepUntil(at, host, signal);
  }
}

async function once({ session, context, signal }: Given, wanted: ModelRequest): Promise<Summary & { retryAfterMs: number | null }> {
  const { provider, problem } = context;
  const failed = (failure: Failure, more: { usage?: Usage | null; retryAfterMs?: number | null } = {}) => ({ ok: false as const, failure, usage: more.usage ?? null, retryAfterMs: more.retryAfterMs ?? null });
  if (!provider) return failed(problem ?? { code: "no_provider", message: "No model is configured." });
  const { blobs } = session.store;
  let text = "";
  for await (const event of untilAborted(provider.stream(await withTexts(wanted, session.thread, blobs), { signal, blobs }), signal)) {
    if (event.type === "item.done" && isMessage(event.item)) text += textOf(event.item);
    if (event.type === "failed") return failed(event.failure, { usage: event.usage ?? null, retryAfterMs: event.retryAfterMs });
    if (event.type !== "done") continue;
    if (text.trim() !== "") return { ok: true, text, usage: event.usage, retryAfterMs: null };
    return failed({ code: "empty_summary", message: "The model gave no summary." }, { usage: event.usage });
  }
  return failed(INTERRUPTED);
}

function total(before: Usage | null, more: Usage | null): Usage | null {
  return before && more ? addUsage(before, more) : (before ?? more);
}
