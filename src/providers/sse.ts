/**
 * One exchange with a model server: a POST, then its events as they come, read by the wire's parser.
 *
 * Never throws. The last event is `done` or `failed`, unless the caller aborts: then it just ends. A server that is silent for longer
 * than the idle timeout, before or within the answer, is given up. Bytes may be cut anywhere, within characters too. A failure carries the
 * usage that the server had told by then.
 */
import { createParser } from "eventsource-parser";
import type { Usage } from "../protocol/record.ts";
import type { ModelEvent } from "../core/provider.ts";
import { dropped, httpFailure, idle, networkFailure, notAStream, serverError, streamFailure, type Failed, type Target } from "./failure.ts";
import type { Headers, Post, PostResponse } from "../net/post.ts";
import { parsed } from "./json.ts";
import { createWatch, wholeText, type Watch } from "./watch.ts";

export interface ServerEvent {
  /** Empty when the server named none. */
  name: string;
  data: string;
}

/** Reads one answer. It is told each event, and that the answer ended by itself; `out` takes what follows from it. */
export interface AnswerReader {
  read(event: ServerEvent, out: ModelEvent[]): void;
  /** Must leave `done` or `failed` in `out`. */
  end(out: ModelEvent[]): void;
  /** As far as the server has told it. */
  usage(): Usage | null;
}

export interface Exchange {
  post: Post;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  target: Target;
  reader: AnswerReader;
  /** What the headers of an answer say that people should know. */
  notices(headers: Headers): ModelEvent[];
  idleTimeoutMs: number;
  signal: AbortSignal;
}

/** An error body is read no further than this. */
const LONGEST_ERROR = 256 * 1024;

export async function* exchange(given: Exchange): AsyncGenerator<ModelEvent> {
  const { post, url, headers, body, target, signal } = given;
  if (signal.aborted) return;
  const watch = createWatch(signal, given.idleTimeoutMs);
  /** Whose rest nobody has read yet. */
  let open: PostResponse | null = null;
  let streaming = false;
  const release = () => {
    open?.release();
    open = null;
  };
  try {
    const response = await watch.waitFor(post({ url, headers, body, signal: watch.signal }));
    open = response;
    const problem = await refusal(response, target, watch);
    if (problem) {
      release();
      yield problem;
      return;
    }
    streaming = true;
    yield* given.notices(response.headers);
    for await (const events of answers(response, given.reader, watch)) {
      const over = isOver(events);
      if (over) release();
      yield* events.map((event) => priced(event, given.reader));
      if (over) return;
    }
  } catch (error) {
    if (signal.aborted) return;
    // An answer may be complete although its last words never came: some servers do not say goodbye.
    const rest: ModelEvent[] = [];
    if (streaming) given.reader.end(rest);
    if (rest.at(-1)?.type === "done") yield* rest;
    else yield priced(watch.expired ? idle(target, given.idleTimeoutMs) : streaming ? dropped(target) : networkFailure(error, target), given.reader);
  } finally {
    watch.stop();
    open?.cancel();
  }
}

function priced(event: ModelEvent, reader: AnswerReader): ModelEvent {
  const usage = event.type === "failed" ? reader.usage() : null;
  return usage === null ? event : ({ ...event, usage } as Failed);
}

/** The failure that the answer is instead of a stream. */
async function refusal(response: PostResponse, target: Target, watch: Watch): Promise<ModelEvent | null> {
  const { status, headers } = response;
  const contentType = headers["content-type"] ?? "";
  const isText = /^(?:application\/json|text\/html)\b/iu.test(contentType);
  if (status >= 200 && status < 300 && !isText) return null;
  const body = await wholeText(response, { watch, most: LONGEST_ERROR });
  if (status < 200 || status >= 300) return httpFailure({ status, headers, body }, target, Date.now());
  const error = serverError(parsed(body));
  return error ? streamFailure(error, target) : notAStream(target, contentType);
}

/** What follows from each piece of the answer, up to `done` or `failed`. */
async function* answers(response: PostResponse, reader: AnswerReader, watch: Watch): AsyncGenerator<ModelEvent[]> {
  const decoder = new TextDecoder();
  let out: ModelEvent[] = [];
  const parser = createParser({
    onEvent: ({ event = "", data }) => reader.read({ name: event, data }, out),
    // llama.cpp reports errors in a field of this name.
    onError: ({ field, value }) => {
      if (field === "error") reader.read({ name: "error", data: value ?? "" }, out);
    },
  });
  for (;;) {
    const { done, value } = await watch.waitFor(response.chunks.next());
    parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
    if (done && !isOver(out)) reader.end(out);
    if (out.length > 0) {
      const events = joined(out);
      out = [];
      yield events;
    }
    if (done) return;
  }
}

function isOver(events: readonly ModelEvent[]): boolean {
  return events.some(({ type }) => type === "done" || type === "failed");
}

/** Deltas of one item that arrived together are one delta; nothing follows `done` or `failed`. */
function joined(events: readonly ModelEvent[]): ModelEvent[] {
  const result: ModelEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.type === "text.delta" && last?.type === "text.delta" && last.index === event.index) last.delta += event.delta;
    else if (event.type === "reasoning.delta" && last?.type === "reasoning.delta" && last.index === event.index && last.part === event.part && last.kind === event.kind) last.delta += event.delta;
    else result.push(event);
    if (event.type === "done" || event.type === "failed") break;
  }
  return result;
}
