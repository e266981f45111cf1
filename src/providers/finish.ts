/** An answer that the server ended before the model was done with it. */
import type { Usage } from "../protocol/record.ts";
import type { ModelEvent } from "../core/provider.ts";
import { failed, type Target } from "./failure.ts";

/**
 * With whole calls in it the conversation goes on by itself, and the model sees what it had come to. Without, the turn would end as if
 * all was said: that is told.
 */
export function cutShort(why: "length" | "filtered" | "window", { calls, usage, target }: { calls: number; usage: Usage | null; target: Target }): ModelEvent {
  if (why === "filtered") return failed("content_filter", `${target.provider} stopped the answer: its content filter or the model refused. What came before is kept.`, { retryable: false });
  if (calls > 0) return { type: "done", usage };
  if (why === "window") return failed("context_length_exceeded", `The answer of ${target.model} filled its context window. What it wrote is kept.`, { retryable: false });
  return failed("max_output_tokens", `The answer of ${target.model} reached the longest output that the server allows. What it wrote is kept; say "continue" to go on.`, { retryable: false });
}
