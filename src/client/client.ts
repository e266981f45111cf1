/**
 * Client: the one way in for every front end, over any transport. Browser-safe.
 *
 * `events` goes on until its signal aborts, the server ends the subscription, or the connection closes; the cursor of the last
 * event is all that is needed to go on later without a gap or a duplicate.
 */
import type { Cursor, Event } from "../protocol/event.ts";
import type { Op } from "../protocol/op.ts";
import type { Message, Method, Params, Request, Result, RpcError } from "../protocol/rpc.ts";

export interface Transport {
  send(message: Message): void;
  /** `closed` is called when the other side is gone. */
  listen(receive: (message: Message) => void, closed: () => void): void;
  close(): void;
}

export class RpcFailure extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.name = "RpcFailure";
    this.error = error;
  }
}

export interface Client {
  call<M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
  submit(thread: string, op: Op): Promise<{ cursor: Cursor }>;
  events(thread: string, after: Cursor | null, signal: AbortSignal): AsyncGenerator<Event>;
  close(): void;
}

interface Feed {
  queue: Event[];
  ended: boolean;
  wake: () => void;
}

export function createClient(transport: Transport): Client {
  const waiting = new Map<number | string, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const feeds = new Map<string, Feed>();
  let counter = 0;

  function receive(message: Message): void {
    if ("method" in message) {
      if (!("id" in message)) deliver(message);
      return;
    }
    const pending = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) pending?.reject(new RpcFailure(message.error));
    else pending?.resolve(message.result);
  }

  function endAll(): void {
    for (const { reject } of waiting.values()) reject(new Error("The connection was closed."));
    waiting.clear();
    for (const feed of feeds.values()) {
      feed.ended = true;
      feed.wake();
    }
  }

  transport.listen(receive, endAll);

  function deliver(message: Exclude<Message, Request | { id: unknown }>): void {
    const { subscription } = message.params;
    let feed = feeds.get(subscription);
    if (!feed) feeds.set(subscription, (feed = { queue: [], ended: false, wake: () => {} }));
    if (message.method === "event") feed.queue.push(message.params.event);
    else feed.ended = true;
    feed.wake();
  }

  function call<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
    const id = ++counter;
    return new Promise<Result<M>>((resolve, reject) => {
      waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      transport.send({ id, method, params });
    });
  }

  async function* events(thread: string, after: Cursor | null, signal: AbortSignal): AsyncGenerator<Event> {
    const { subscription } = await call("thread/subscribe", { thread, after });
    const feed = feeds.get(subscription) ?? { queue: [], ended: false, wake: () => {} };
    feeds.set(subscription, feed);
    const abort = () => feed.wake();
    signal.addEventListener("abort", abort);
    try {
      while (!signal.aborted) {
        const batch = feed.queue;
        feed.queue = [];
        for (const event of batch) {
          if (signal.aborted) return;
          yield event;
        }
        if (feed.queue.length > 0) continue;
        if (feed.ended) return;
        await new Promise<void>((resolve) => (feed.wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", abort);
      feeds.delete(subscription);
      if (!feed.ended) await call("thread/unsubscribe", { subscription }).catch(() => {});
    }
  }

  return {
    call,
    events,
    submit: (thread, op) => call("thread/op", { thread, op }),
    close() {
      endAll();
      transport.close();
    },
  };
}
