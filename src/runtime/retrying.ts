/** Retrying: how long is waited before a model request that failed is made again, and how often that is done. */
import type { Failure } from "../protocol/record.ts";
import type { Provider } from "../core/provider.ts";
import type { Host } from "./host.ts";

const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 30_000;
/** Nobody waits longer than that for a request: who was asked to is told so. */
const LONGEST_WAIT_MS = 10 * 60_000;

/** A request that never got an answer and a stream that broke off have budgets of their own. */
export function retriesOf(provider: Provider, failure: Failure): number {
  return failure.status !== undefined || failure.code === "network" ? provider.requestRetries : provider.retries;
}

/** Doubles with each attempt, with up to a tenth more at random; what the server asks for is honoured. */
export function backoff(attempt: number, retryAfterMs: number | null, host: Pick<Host, "random">): number {
  const doubled = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  return Math.max(retryAfterMs ?? 0, doubled * (1 + host.random() / 10));
}

/** The failure as it is when the server wants to be left alone for too long. */
export function withPatience(failure: Failure, retryAfterMs: number | null): Failure {
  if (!failure.retryable || (retryAfterMs ?? 0) <= LONGEST_WAIT_MS) return failure;
  return { ...failure, retryable: false, message: `${failure.message} The server asks to wait ${Math.ceil(retryAfterMs! / 60_000)} minutes; try again then.` };
}

export function sleepUntil(time: number, host: Pick<Host, "now">, signal: AbortSignal): Promise<void> {
  const wait = time - host.now();
  if (!(wait > 0) || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(finish, Math.min(wait, LONGEST_WAIT_MS));
    function finish() {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    }
    signal.addEventListener("abort", finish);
  });
}
