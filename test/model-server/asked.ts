/** What a request asks, whichever wire it comes by. */
import { createHash } from "node:crypto";
import type { Wire } from "./script.ts";

interface Body {
  readonly input?: unknown;
  readonly messages?: unknown;
  readonly prompt_cache_key?: unknown;
  readonly tool_choice?: unknown;
}

/** The text of the last message of a user: its strings and text parts. */
export function lastUserText(body: unknown): string {
  return textOf(userMessages(body).at(-1));
}

/** Tools are named and must not be called, as when a summary is asked for. */
export function toolsOff(body: unknown): boolean {
  const { tool_choice: choice } = (body ?? {}) as Body;
  return choice === "none" || (choice as { type?: unknown } | undefined)?.type === "none";
}

/** Requests of one conversation: the same cache key or, where the wire has none, the same first words. */
export function conversationOf(wire: Wire, body: unknown): string {
  const { prompt_cache_key: key } = (body ?? {}) as Body;
  if (typeof key === "string") return `${wire} ${key}`;
  return `${wire} ${createHash("sha256").update(textOf(userMessages(body)[0])).digest("hex")}`;
}

function userMessages(body: unknown): unknown[] {
  const { input, messages } = (body ?? {}) as Body;
  if (typeof input === "string") return [{ content: input }];
  const list: unknown[] = Array.isArray(input) ? input : Array.isArray(messages) ? messages : [];
  return list.filter((item) => (item as { role?: unknown } | null)?.role === "user");
}

function textOf(message: unknown): string {
  const { content } = (message ?? {}) as { content?: unknown };
  if (typeof content === "string") return content;
  const parts: unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (part as { text?: unknown } | null)?.text).filter((text) => typeof text === "string").join("\n");
}

export function commonPrefix(one: Buffer, other: Buffer): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one[at] === other[at]) at++;
  return at;
}
