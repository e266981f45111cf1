/**
 * dispatch: one connection's requests → the runtime. Every front end, in this process or not, comes in here. Bad input is answered
 * with an error that says what is wrong; it never reaches the runtime.
 */
import type { Event } from "../protocol/event.ts";
import type { Refusal } from "../protocol/op.ts";
import { RPC, type Message, type Method, type Owner, type Params, type Request, type Result, type RpcError } from "../protocol/rpc.ts";
import type { State } from "../core/state.ts";
import { liveStatus } from "../core/status.ts";
import type { Threads } from "../runtime/threads.ts";
import type { Session } from "../runtime/session.ts";
import { checkParams } from "./validate.ts";

export interface Connection {
  receive(message: Message): void;
  /** The other side is gone: its subscriptions end, its threads stay as they are. */
  close(): void;
}

class Refused extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.error = error;
  }
}

type Handlers = { [M in Method]: (params: Params<M>) => Promise<Result<M>> };

/** `send` may give a promise: no more events of a subscription are sent before it is kept, and those that pile up meanwhile are bounded. */
export function connect(threads: Threads, send: (message: Message) => Promise<void> | void): Connection {
  const subscriptions = new Map<string, AbortController>();
  let counter = 0;

  const session = (thread: string): Session => {
    const found = threads.loaded(thread);
    if (!found) throw new Refused({ code: RPC.notFound, message: `Thread ${thread} is not open here; resume it first.` });
    return found;
  };

  const state = async (thread: string): Promise<State> => {
    const found = await threads.state(thread);
    if (!found) throw new Refused({ code: RPC.notFound, message: `There is no thread ${thread}.` });
    return found;
  };

  /** An answer waits for nobody. */
  const tell = (message: Message): void => void send(message);

  async function stream(subscription: string, events: AsyncIterable<Event>): Promise<void> {
    let reason = "closed";
    try {
      for await (const event of events) {
        const sent = send({ method: "event", params: { subscription, event } });
        if (sent) await sent;
      }
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    if (subscriptions.delete(subscription)) tell({ method: "end", params: { subscription, reason } });
  }

  const handlers: Handlers = {
    "thread/start": async (params) => ({ thread: (await threads.start(params)).thread }),
    "thread/resume": async ({ thread }) => unwrap(await threads.resume(thread)).resumed,
    "thread/fork": async (params) => ({ thread: unwrap(await threads.fork(params)).session.thread }),
    "thread/close": async ({ thread }) => {
      await threads.close(thread, "closed by the client");
      return {};
    },
    "thread/find": async ({ prefix }) => ({ threads: await threads.store.find(prefix) }),
    "thread/last": async ({ cwd }) => ({ thread: await lastThread(threads, cwd) }),
    "thread/list": (query) => threads.store.list(query),
    "thread/search": (query) => threads.store.search(query),
    "thread/status": async ({ thread }) => liveStatus(await state(thread)),
    async "thread/previewCompaction"({ thread, settings = {} }) {
      const preview = await threads.previewCompaction(thread, settings);
      if (!preview) throw new Refused({ code: RPC.notFound, message: `There is no thread ${thread}.` });
      return preview;
    },
    "thread/op": async ({ thread, op }) => {
      const accepted = await session(thread).submit(op);
      if (!accepted.ok) throw new Refused(refusalError(accepted.refusal, null));
      return { cursor: accepted.cursor };
    },
    "thread/subscribe": async ({ thread, after }) => {
      const subscription = `s${++counter}`;
      const abort = new AbortController();
      subscriptions.set(subscription, abort);
      const loaded = threads.loaded(thread);
      const events = loaded ? loaded.watch(after, abort.signal) : threads.follow(thread, after, abort.signal);
      queueMicrotask(() => void stream(subscription, events));
      return { subscription };
    },
    "thread/unsubscribe": async ({ subscription }) => {
      const abort = subscriptions.get(subscription);
      subscriptions.delete(subscription);
      abort?.abort();
      return {};
    },
    "blob/put": async ({ thread, base64 }) => session(thread).store.blobs.put(thread, Buffer.from(base64, "base64")),
    "recording/read": async ({ source }) => {
      const recording = await threads.recording(source);
      if (!recording) throw new Refused({ code: RPC.notFound, message: `There is no recording "${source}": neither a thread nor a readable log.` });
      return { inputs: recording.inputs };
    },
    "usage/read": (query) => threads.usage(query),
    "owner/release": async ({ thread }) => {
      session(thread);
      await threads.close(thread, "released to another process");
      return {};
    },
  };

  async function answer(request: Request): Promise<void> {
    const { id, method } = request;
    if (!Object.hasOwn(handlers, method)) {
      tell({ id, error: { code: RPC.unknownMethod, message: `Unknown method "${method}".` } });
      return;
    }
    const problem = checkParams(method as Method, request.params);
    if (problem) {
      tell({ id, error: { code: RPC.badParams, message: problem } });
      return;
    }
    try {
      const handler = handlers[method as Method] as (params: unknown) => Promise<unknown>;
      tell({ id, result: await handler(request.params) });
    } catch (error) {
      tell({ id, error: error instanceof Refused ? error.error : { code: RPC.internal, message: error instanceof Error ? error.message : String(error) } });
    }
  }

  return {
    receive(message) {
      if ("method" in message && "id" in message && (typeof message.id === "number" || typeof message.id === "string") && typeof message.method === "string") void answer(message);
      else tell({ id: 0, error: { code: RPC.invalidRequest, message: "A request needs an id and a method." } });
    },
    close() {
      for (const abort of subscriptions.values()) abort.abort();
      subscriptions.clear();
    },
  };
}

/** The thread written to last; with a folder, the newest of that folder. */
async function lastThread(threads: Threads, cwd: string | undefined): Promise<string | null> {
  if (cwd === undefined) {
    const active = await threads.store.active();
    if (active) return active;
  }
  const page = await threads.store.list({ limit: 1, ...(cwd === undefined ? {} : { cwd }) });
  return page.items[0]?.id ?? null;
}

function unwrap<T>(outcome: ({ ok: true } & T) | { ok: false; refusal: Refusal; owner: Owner | null }): T {
  if (outcome.ok) return outcome;
  throw new Refused(refusalError(outcome.refusal, outcome.owner));
}

function refusalError(refusal: Refusal, owner: Owner | null): RpcError {
  const code = refusal.code === "busy" && owner ? RPC.busy : refusal.code === "not_found" ? RPC.notFound : RPC.refused;
  return { code, message: refusal.message, data: owner ? { refusal, owner } : { refusal } };
}
