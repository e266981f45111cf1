/** Reads a request to its end, keeps all of it, and follows how its exchange ends. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { lastUserText, toolsOff } from "./asked.ts";
import type { Outcome, RecordedRequest, Wire } from "./script.ts";

export interface Recording {
  readonly recorded: RecordedRequest;
  /** Aborted as soon as nobody listens any more. */
  readonly gone: AbortSignal;
  dropping(): void;
}

/** null when the client left before its body was complete. */
export async function record(parts: {
  request: IncomingMessage;
  response: ServerResponse;
  wire: Wire | null;
  closing: AbortSignal;
}): Promise<Recording | null> {
  const { request, response, wire, closing } = parts;
  const at = Date.now();
  const atMonotonic = performance.now();
  const raw = await bytesOf(request);
  if (raw === null) return null;

  const body = parsed(raw);
  const gone = new AbortController();
  const { promise: ended, resolve: end } = withResolvers<Outcome>();
  let dropped = false;
  const recorded: RecordedRequest = {
    n: -1, wire, method: request.method ?? "", path: request.url ?? "", headers: request.headers, raw, body,
    at, atMonotonic, said: lastUserText(body), toolsOff: toolsOff(body), compact: (request.url ?? "").split("?")[0]?.endsWith("/compact") === true,
    prefix: null, overflowed: false, problems: [], aborted: false, outcome: null, ended,
  };
  const finish = (outcome: Outcome): void => {
    if (recorded.outcome !== null) return;
    recorded.outcome = outcome;
    recorded.aborted = outcome === "aborted";
    gone.abort();
    end(outcome);
  };
  const left = (): void => finish(dropped ? "dropped" : closing.aborted ? "closed" : response.writableFinished ? "completed" : "aborted");
  response.once("close", left);
  if (response.destroyed || request.socket.destroyed) left();
  return { recorded, gone: gone.signal, dropping: () => void (dropped = true) };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(chunks);
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
