/**
 * The script that the model server plays: what a test writes.
 *
 * A script is a list of replies, one taken by each model request in order of arrival, or a function of the request. A reply with `when`
 * waits aside: it answers every request that it fits, as often as one comes, before any other is taken.
 * A reply says what the model does in words that fit every wire; the wire's own module turns it into events.
 * Content is always played in the order reasoning, search, text, calls. `raw` replaces all of it, verbatim.
 */
import type { IncomingHttpHeaders } from "node:http";

export type Wire = "responses" | "chat" | "messages";

export interface Call {
  readonly name: string;
  /** An object is sent as JSON; a string is sent as it is, valid or not. */
  readonly arguments: object | string;
  /** Made up when absent: unique in the conversation, also after the server was restarted. */
  readonly id?: string;
  /** A free-form call. Responses: `custom_tool_call`. Other wires: a function call whose only argument is `input`. */
  readonly custom?: boolean;
}

export interface Reasoning {
  readonly summary?: string | readonly string[];
  /** Opaque content: Responses `encrypted_content`, Messages `signature`. Made up when absent; null leaves it out. */
  readonly encrypted?: string | null;
  /** Messages only: a `redacted_thinking` block with this data, instead of the summary. */
  readonly redacted?: string;
}

/** Tokens; `input` includes `cached` and `cacheWrite`, `output` includes `reasoning`, as on the Responses wire. */
export interface Usage {
  readonly input?: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly output?: number;
  readonly reasoning?: number;
}

export interface Failure {
  readonly code?: string;
  readonly message?: string;
}

/** A condition: all that is given must hold. */
export interface When {
  /** The last message of a user contains this. */
  readonly said?: string;
  /** Tools are named and must not be called (or may), as when a summary is asked for. */
  readonly toolsOff?: boolean;
  /** The request is (or is not) for `/responses/compact`. */
  readonly compact?: boolean;
}

/** A search that the server makes by itself. Chat has none. */
export interface Search {
  readonly query: string;
  readonly results?: readonly { readonly title: string; readonly url: string }[];
}

export interface Reply {
  /** A text is short for `{ said: text }`. */
  readonly when?: string | When;
  readonly reasoning?: string | Reasoning;
  /** Chat only: text sent in `reasoning_content`, whatever the profile. */
  readonly reasoningContent?: string | readonly string[];
  /** A string is one delta; a list is one delta for each entry. */
  readonly text?: string | readonly string[];
  /** That many more text deltas, numbered, each `size` characters long (8 unless said). */
  readonly deltas?: number | { readonly count: number; readonly size: number };
  readonly search?: Search;
  readonly calls?: readonly Call[];
  readonly usage?: Usage;
  /** Ends the reply early: Responses `response.incomplete`, chat `length`, Messages `max_tokens` (or the filter's word). */
  readonly incomplete?: "max_output_tokens" | "content_filter";
  /** An error inside the stream, after the content or after so many of its events. */
  readonly responseFailed?: Failure & { readonly afterEvents?: number };
  /** SSE text sent as it is, one write for each entry, instead of all content. */
  readonly raw?: readonly string[];

  /** An HTTP status other than 200, with the wire's own error body unless `body` is given. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
  /** What the wire's own error body says. */
  readonly error?: Failure;

  /** The socket dies in mid-stream; `clean` ends the HTTP response properly instead, but still too early. */
  readonly drop?: {
    readonly afterEvents?: number;
    readonly afterBytes?: number;
    readonly beforeHeaders?: true;
    readonly clean?: true;
  };
  /** Nothing more until the client goes away; `true` means not even headers. */
  readonly hang?: true | { readonly afterEvents: number };
  /** Waits in mid-stream for a promise of the test. */
  readonly hold?: { readonly afterEvents: number; readonly until: Promise<unknown> };
  /** Milliseconds before the headers. */
  readonly delayMs?: number;
  /** Milliseconds between events, each written alone. */
  readonly slowMs?: number;
  /** Bytes are cut inside every multi-byte character and inside every SSE frame. */
  readonly splitUtf8?: boolean;

  readonly noUsage?: boolean;
  /** Chat: no `[DONE]`. */
  readonly noDone?: boolean;
  readonly noCallIds?: boolean;
}

export type Script = readonly Reply[] | ((request: RecordedRequest, n: number) => Reply | Promise<Reply>);

/** `aborted`: the client left. `dropped`: the script cut it. `closed`: the server was closed. */
export type Outcome = "completed" | "aborted" | "dropped" | "closed";

export interface RecordedRequest {
  /** Place in `server.requests`, or in `server.others`, from 0. */
  n: number;
  /** null for a request that is not to a model endpoint. */
  readonly wire: Wire | null;
  readonly method: string;
  /** With the query string. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  /** The parsed JSON; undefined when it did not parse. Tests look inside, hence `any`. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
  /** When the headers arrived: `Date.now()` and `performance.now()`. */
  readonly at: number;
  readonly atMonotonic: number;
  /** The last text of a user in it. */
  readonly said: string;
  /** It names tools that must not be called, as one for a summary does. */
  readonly toolsOff: boolean;
  /** It was sent to `/responses/compact`. */
  readonly compact: boolean;
  /** How many bytes it has in common with the request before it of the same conversation; null for a first one. */
  prefix: number | null;
  /** It was answered with the wire's error for a conversation that is too long. */
  overflowed: boolean;
  /** What the wire's validator found wrong. */
  problems: readonly string[];
  aborted: boolean;
  /** null while the exchange is open. */
  outcome: Outcome | null;
  readonly ended: Promise<Outcome>;
}

/** Every key of a reply, so that a script from a file can be checked. */
export const replyKeys: Readonly<Record<keyof Reply, true>> = {
  when: true, search: true, reasoning: true, reasoningContent: true, text: true, deltas: true, calls: true, usage: true, incomplete: true,
  responseFailed: true, raw: true, status: true, headers: true, body: true, error: true, drop: true, hang: true, hold: true,
  delayMs: true, slowMs: true, splitUtf8: true, noUsage: true, noDone: true, noCallIds: true,
};
