/**
 * Connect: the client library on a transport, with the handshake done. This file and http.ts load the library; nothing else does, and they
 * are loaded only when there is a server to talk to.
 *
 * `initialize` comes first, because every server of today knows it. One that refuses it is asked again in the newer way of the protocol
 * (2026-07-28), which has no handshake.
 */
import { Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type ElicitRequestFormParams, type ElicitResult, type ServerCapabilities } from "@modelcontextprotocol/client";
import { LOST } from "./http.ts";
import { plain } from "./listing.ts";
import type { Connecting } from "./stdio.ts";

/** The connection to a server. */
export interface Peer {
  readonly capabilities: ServerCapabilities;
  /** Rejects with what `failureOf` explains. The library's own time limit is out of the way: `signal` is the bound. */
  request(method: string, params: Readonly<Record<string, unknown>>, options: RequestOptions): Promise<unknown>;
  readonly closed: Promise<void>;
  /** Why it ended, as far as that is known. */
  why(): string | null;
  lastWords(): string;
  close(): Promise<void>;
}
export interface RequestOptions {
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
}
export interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** What a server may want of us. */
export interface Wants {
  toolsChanged(): void;
  elicit(request: ElicitRequestFormParams): Promise<ElicitResult>;
  /** As a file URL. */
  root(): string;
}

interface Given {
  open(): Connecting;
  version: string;
  signal: AbortSignal;
  wants: Wants;
}

const FOREVER = 2 ** 31 - 1;
const NEWER = "2026-07-28";

/** Results are read by those who asked, leniently. */
const ANY = { "~standard": { version: 1, vendor: "skein", validate: (value: unknown) => ({ value }) } } as const;

export async function connect(given: Given): Promise<Peer> {
  try {
    return await connectBy("legacy", given);
  } catch (error) {
    const refused = (error instanceof ProtocolError && error.code !== LOST) || (error instanceof SdkHttpError && error.status === 400);
    if (!refused || given.signal.aborted) throw error;
    return connectBy({ pin: NEWER }, given).catch(() => {
      throw error;
    });
  }
}

async function connectBy(mode: "legacy" | { pin: string }, { open, version, signal, wants }: Given): Promise<Peer> {
  const transport = open();
  const client = new Client(
    { name: "skein", version },
    {
      capabilities: { elicitation: { form: {} }, roots: {} },
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: wants.toolsChanged } },
    },
  );
  const closed = new Promise<void>((resolve) => void Object.assign(client, { onclose: resolve }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: wants.root() }] }));
  client.setRequestHandler("elicitation/create", ({ params }) => ("requestedSchema" in params ? wants.elicit(params) : { action: "decline" }));
  try {
    await Promise.race([client.connect(transport, { signal, timeout: FOREVER }), abortOf(signal)]);
  } catch (error) {
    await transport.close();
    throw transport.why() === null ? error : new Error(transport.why()!);
  }
  return {
    capabilities: client.getServerCapabilities() ?? {},
    request: (method, params, options) =>
      client.request({ method, params: { ...params } }, ANY, { signal: options.signal, timeout: FOREVER, ...(options.onProgress ? { onprogress: options.onProgress } : {}) }),
    closed,
    why: () => transport.why(),
    lastWords: () => transport.lastWords(),
    close: () => client.close(),
  };
}

/** Rejects when it is aborted. The library does not look at the signal while it asks in the newer way. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error("aborted"));
    else signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
  });
}

/** `lost`: the server is gone, or no longer knows us. */
export function failureOf(error: unknown): { lost: boolean; message: string } {
  const message = clip(error instanceof Error ? error.message : String(error));
  if (error instanceof SdkHttpError) {
    if (error.status === 404) return { lost: true, message: "it answered 404: it does not know this session or address" };
    if (error.status === 401 || error.status === 403) return { lost: false, message: `it answered ${error.status}: it wants another key (bearer_token_env_var, http_headers)` };
    return { lost: false, message: `it answered ${error.status}: ${message}` };
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected) return { lost: true, message: "the connection was closed" };
    return { lost: false, message: error.code === SdkErrorCode.InvalidResult ? "its answer is not in the form that MCP has" : message };
  }
  if (error instanceof ProtocolError) return { lost: error.code === LOST, message };
  const { cause } = error as { cause?: unknown };
  return { lost: true, message: cause instanceof Error ? clip(cause.message || String((cause as NodeJS.ErrnoException).code)) : message };
}

function clip(text: string): string {
  return plain(text.length > 1000 ? `${text.slice(0, 1000)}…` : text);
}
