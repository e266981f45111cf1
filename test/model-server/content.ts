/** What a reply contains, read the same way by every wire. */
import type { Call, Reasoning, Reply, Usage } from "./script.ts";

export interface ReasoningContent {
  readonly summary: readonly string[];
  readonly encrypted: string | null;
  readonly redacted: string | null;
}

export function reasoningOf(reply: Reply, n: number): ReasoningContent | null {
  if (reply.reasoning === undefined) return null;
  const given: Reasoning = typeof reply.reasoning === "string" ? { summary: reply.reasoning } : reply.reasoning;
  return {
    summary: listOf(given.summary),
    encrypted: given.encrypted === undefined ? `opaque-reasoning-${n}` : given.encrypted,
    redacted: given.redacted ?? null,
  };
}

export function hasText(reply: Reply): boolean {
  return reply.text !== undefined || reply.deltas !== undefined;
}

/** Numbered deltas ("0000041 ") let a test see a missing, doubled or reordered one. */
export function* textDeltas(reply: Reply): Generator<string> {
  yield* listOf(reply.text);
  if (reply.deltas === undefined) return;
  const { count, size } = typeof reply.deltas === "number" ? { count: reply.deltas, size: 8 } : reply.deltas;
  for (let i = 0; i < count; i++) yield `${String(i).padStart(size - 1, "0")} `;
}

export function listOf(text: string | readonly string[] | undefined): readonly string[] {
  if (text === undefined) return [];
  return typeof text === "string" ? [text] : text;
}

/** The call's arguments on a wire that has functions only. */
export function functionArguments(call: Call): string {
  if (call.custom) return JSON.stringify({ input: customInput(call) });
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}

export function customInput(call: Call): string {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}

/** Arguments arrive in small pieces; a surrogate pair stays in one, as each piece is JSON text of its own. */
export function pieces(text: string, size = 16): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + size, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end++;
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}

/** Constant unless the script says otherwise, so that golden files do not depend on path lengths. */
export function usageOf(reply: Reply): Required<Usage> {
  return { input: 100, cached: 0, cacheWrite: 0, output: 20, reasoning: 0, ...reply.usage };
}
