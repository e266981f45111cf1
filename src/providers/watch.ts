/** Waiting for a server, but not for ever. */
import type { PostResponse } from "../net/post.ts";

export interface Watch {
  /** Aborts when the caller does, or when nothing came for too long. */
  readonly signal: AbortSignal;
  readonly expired: boolean;
  waitFor<T>(promise: Promise<T>): Promise<T>;
  stop(): void;
}

/** The clock runs only while something is waited for: a slow reader is not a silent server. */
export function createWatch(outer: AbortSignal, ms: number): Watch {
  const inner = new AbortController();
  const abort = () => inner.abort();
  outer.addEventListener("abort", abort);
  let waiting = false;
  let expired = false;
  const timer = setTimeout(() => {
    if (!waiting) return;
    expired = true;
    inner.abort();
  }, ms);
  return {
    signal: inner.signal,
    get expired() {
      return expired;
    },
    async waitFor(promise) {
      waiting = true;
      timer.refresh();
      try {
        return await promise;
      } finally {
        waiting = false;
      }
    },
    stop() {
      clearTimeout(timer);
      outer.removeEventListener("abort", abort);
    },
  };
}

/** What comes of an answer, read no further than `most` characters. */
export async function wholeText(response: PostResponse, { watch, most }: { watch: Watch; most: number }): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < most) {
      const { done, value } = await watch.waitFor(response.chunks.next());
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (watch.signal.aborted) throw error;
    // What came of the error body tells more than that it was cut short.
  }
  return text;
}
