/**
 * Session: one loaded thread. It owns the log, the state and whatever runs for it; everything that happens goes through `commit`.
 *
 * Ops are decided one at a time and acknowledged when their records are durable. After each commit the loop (turn.ts) is asked what
 * should be running. A fault of the medium closes the session: state is dropped, subscribers are told to start over, and
 * opening it again verifies what is on disk.
 */
import type { Cursor, Event, EventBody } from "../protocol/event.ts";
import type { Op, Refusal } from "../protocol/op.ts";
import type { Json } from "../protocol/json.ts";
import type { AskId, Draft, LogRecord } from "../protocol/record.ts";
import { decide, type Given } from "../core/decide.ts";
import { stateFile, summaryOf } from "../core/derived.ts";
import { cursorOf, END_OF_RECORD } from "../core/events.ts";
import { asKnown } from "../core/known.ts";
import { StoreFault, type Derived, type Store } from "../core/store.ts";
import { commit, type Committer } from "./commit.ts";
import type { Host } from "./host.ts";
import type { Handle } from "./handle.ts";
import { createLive } from "./live.ts";
import { loadState, recordAt } from "./loading.ts";
import { replay } from "./replaying.ts";
import { createSubscribers, type Subscribers } from "./subscribers.ts";
import { createTurnLoop, type TurnLoop } from "./turn.ts";

const REFRESH_EVERY_MS = 1000;

export type Accepted = { ok: true; cursor: Cursor } | { ok: false; refusal: Refusal };

export interface Session extends Handle {
  submit(op: Op): Promise<Accepted>;
  watch(after: Cursor | null, signal: AbortSignal): AsyncGenerator<Event>;
  /** Stops what runs, leaves an open turn parked, and gives the thread back. */
  close(why: string): Promise<void>;
  readonly closed: boolean;
  /** After everything that is in the log. */
  readonly cursor: Cursor;
}

export function createSession(committer: Committer, store: Store, host: Host): Session {
  const { log } = committer;
  let closing: Promise<void> | null = null;
  let inbox: Promise<unknown> = Promise.resolve();
  let refreshing: NodeJS.Timeout | null = null;
  const diffs: Derived["diffs"] = [];
  const waiting = new Map<AskId, (answer: Json) => void>();
  let refreshedAt = Number.NEGATIVE_INFINITY;

  const show = (body: EventBody) => {
    const turn = committer.state.talk.turn?.id ?? "";
    subscribers.publish([{ ...body, thread_id: log.thread, turn_id: turn, timestamp_ms: host.now() }]);
  };
  const live = createLive({ log, redactor: committer.redactor, show });
  const subscribers: Subscribers = createSubscribers({
    replay: (after) => replay(store, { thread: log.thread, before: log.head }, after),
    open: () => live.snapshot().map((body) => ({ ...body, thread_id: log.thread, turn_id: committer.state.talk.turn?.id ?? "" })),
    reset: () => ({ type: "thread/reset", message: "The log does not hold that position; here is everything from the start.", thread_id: log.thread, turn_id: "" }),
  });
  committer.publish = (events) => subscribers.publish(events);

  function commitDrafts(drafts: readonly Draft[]): LogRecord[] {
    try {
      const records = commit(committer, drafts);
      for (const record of records) {
        if (record.type === "turn.ended") turnEnded(record);
        if (record.type === "ask.answered") waiting.get(record["ask"] as string)?.(record["answer"] as Json);
      }
      loop.wake();
      return records;
    } catch (error) {
      if (error instanceof StoreFault && error.poisoned) fail(error);
      throw error;
    }
  }

  function fail(fault: StoreFault): void {
    show({ type: "error", code: fault.code, message: `${fault.message} What was acknowledged is on disk; resume the thread to go on.` });
    void session.close("storage fault");
  }

  function turnEnded(record: LogRecord): void {
    const ended = asKnown(record);
    if (ended?.type === "turn.ended" && ended.diff) diffs.push({ number: committer.state.thread.diffs, content: ended.diff });
    refreshDerivedSoon();
    log.durable(record.seq).catch((error: unknown) => {
      if (error instanceof StoreFault && !closing) fail(error);
    });
  }

  /** Replacing files costs more than a turn's records: after a quick run of turns, or whatever comes within a second, once is enough. */
  function refreshDerivedSoon(): void {
    const wait = Math.min(REFRESH_EVERY_MS, refreshedAt + REFRESH_EVERY_MS - host.now());
    if (wait <= 0) void refreshDerived();
    else refreshing ??= setTimeout(() => void refreshDerived(), wait).unref();
  }

  /** Derived files are a convenience: a fault here is shown, and nothing waits for it. */
  async function refreshDerived(): Promise<void> {
    clearTimeout(refreshing ?? undefined);
    refreshing = null;
    refreshedAt = host.now();
    const { state } = committer;
    try {
      await log.derive({ metadata: summaryOf(state), state: stateFile(state), diffs: diffs.splice(0) });
    } catch (error) {
      show({ type: "warning", message: `Derived files were not refreshed (${message(error)}); they are rebuilt when needed.` });
    }
  }

  async function accept(op: Op): Promise<Accepted> {
    if (closing) return refused("failed", "The session is closed; resume the thread to go on.");
    const given: Given = {};
    if (op.type === "rewind") {
      const valid = Number.isSafeInteger(op.before) && op.before > 0 && op.before <= log.head;
      const target = valid ? await loadState(store, { thread: log.thread, before: op.before }) : null;
      if (target) given.target = target;
    }
    if (op.type === "restore_history") Object.assign(given, { compaction: await compactionInForce(), model: await host.model(committer.state.thread.settings) });
    const decision = decide(committer.state, op, given);
    if (!decision.ok) return decision;
    commitDrafts(decision.records);
    if (op.type === "list_skills") show({ type: "skills/listed", ...(await host.skills(committer.state.thread.settings)) });
    if (committer.state.stale) await reload();
    await log.durable(log.head - 1);
    loop.retry();
    return { ok: true, cursor: session.cursor };
  }

  async function compactionInForce(): Promise<Given["compaction"]> {
    const { compaction } = committer.state.talk.history;
    if (compaction === null) return undefined;
    const record = await recordAt(store, { thread: log.thread, before: log.head }, compaction);
    const known = record && asKnown(record);
    return known?.type === "history.compacted" ? known : undefined;
  }

  async function reload(): Promise<void> {
    const state = await loadState(store, { thread: log.thread, before: log.head });
    if (state) committer.state = state;
  }

  async function shut(why: string): Promise<void> {
    await loop.stop();
    clearTimeout(refreshing ?? undefined);
    try {
      commit(committer, [{ type: "writer.closed" }]);
      await log.durable(log.head - 1);
      await refreshDerived();
    } catch (error) {
      show({ type: "error", message: `The log could not be closed cleanly (${message(error)}).` });
    }
    show({ type: "thread/closed", message: why });
    subscribers.end();
    await log.close();
    await host.closed(log.thread);
  }

  const session: Session = {
    thread: log.thread,
    store,
    live,
    get state() {
      return committer.state;
    },
    get cursor() {
      return cursorOf({ epoch: committer.projection.epoch, seq: log.head - 1, n: END_OF_RECORD });
    },
    get closed() {
      return closing !== null;
    },
    commit: commitDrafts,
    keep: (text) => store.blobs.put(log.thread, new TextEncoder().encode(committer.redactor.text(text))),
    keepBytes: (bytes) => store.blobs.put(log.thread, bytes),
    raw: new Map(),
    answer(ask, signal) {
      const given = committer.state.talk.asks.find((open) => open.ask === ask)?.answer;
      if (given !== undefined) return Promise.resolve(given);
      return new Promise<Json>((resolve, reject) => {
        waiting.set(ask, resolve);
        if (signal.aborted) reject(new Error("interrupted"));
        else signal.addEventListener("abort", () => reject(new Error("interrupted")), { once: true });
      }).finally(() => waiting.delete(ask));
    },
    settled: () => log.durable(committer.mustSync),
    show,
    submit(op) {
      const result = inbox.then(() => accept(op)).catch((error: unknown) => refused("failed", message(error)));
      inbox = result;
      return result;
    },
    watch: (after, signal) => subscribers.watch(after, signal),
    close(why) {
      closing ??= shut(why);
      return closing;
    },
  };
  const loop: TurnLoop = createTurnLoop(session, host);
  loop.wake();
  return session;
}

function refused(code: Refusal["code"], text: string): Accepted {
  return { ok: false, refusal: { code, message: text } };
}
function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
