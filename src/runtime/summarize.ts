/**
 * Summarize: asks the model for a summary of what a compaction lets go. One request, which begins like the turn's own so that the
 * provider's cache serves it; where that does not fit, the history is read in pieces, each with the summary so far, so that the
 * number of requests is bounded by its length.
 */
import { isMessage, textOf, userText } from "../protocol/item.ts";
import type { Failure, Usage } from "../protocol/record.ts";
import { capSummary, OVERFLOW, roomOf, type Plan } from "../core/compact.ts";
import { visible } from "../core/history.ts";
import { prompt } from "../core/prompt.ts";
import type { ModelRequest } from "../core/provider.ts";
import { addUsage } from "../core/state.ts";
import { tokensOf, tokensOfText } from "../core/tokens.ts";
import { pieces } from "../core/transcript.ts";
import { untilAborted } from "./aborting.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import { withTexts } from "./texts.ts";

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
const TRIES = 2;

interface Given {
  session: Handle;
  context: TurnContext;
  plan: Plan;
  instructions: string | undefined;
  signal: AbortSignal;
}

export async function summarize(given: Given): Promise<Summary> {
  const { session, context, plan } = given;
  const room = roomOf(session.state);
  const most = Math.floor((room.window ?? room.limit) * SHARE);
  const base: ModelRequest = { ...prompt(session.state, { instructions: context.instructions, tools: context.specs }), toolChoice: "none" };
  const ask = `${ASK}${given.instructions === undefined ? "" : `\nThe user asks for this: ${given.instructions}`}`;
  const { summary, shown } = session.state.history;
  const input = visible({ summary, shown, entries: [...plan.goes] });
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
    if (result.usage) usage = usage ? addUsage(usage, result.usage) : result.usage;
    if (!result.ok) return { ...result, usage };
    text = result.text;
  }
  return { ok: true, text, usage };
}

async function request(given: Given, wanted: ModelRequest): Promise<Summary> {
  for (let attempt = 1; ; attempt++) {
    const result = await once(given, wanted);
    if (result.ok || !result.failure.retryable || attempt === TRIES || given.signal.aborted) return result;
  }
}

async function once({ session, context, signal }: Given, wanted: ModelRequest): Promise<Summary> {
  const { provider } = context;
  if (!provider) return { ok: false, failure: { code: "no_provider", message: "No model is configured." }, usage: null };
  const { blobs } = session.store;
  let text = "";
  for await (const event of untilAborted(provider.stream(await withTexts(wanted, session.thread, blobs), { signal, blobs }), signal)) {
    if (event.type === "item.done" && isMessage(event.item)) text += textOf(event.item);
    if (event.type === "failed") return { ok: false, failure: event.failure, usage: event.usage ?? null };
    if (event.type !== "done") continue;
    if (text.trim() !== "") return { ok: true, text, usage: event.usage };
    return { ok: false, failure: { code: "empty_summary", message: "The model gave no summary." }, usage: event.usage };
  }
  return { ok: false, failure: { code: "interrupted", message: "The summary was interrupted." }, usage: null };
}
