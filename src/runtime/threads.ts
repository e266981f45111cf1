/**
 * Threads: starts, resumes, forks, lists and closes. Many threads live in one process, each with its own session; who asks for a
 * thread that is already loaded here gets the same session.
 */
import type { Cursor, Event } from "../protocol/event.ts";
import type { ResumedThread, Owner } from "../protocol/rpc.ts";
import type { Refusal } from "../protocol/op.ts";
import type { Settings, Source, ThreadId } from "../protocol/record.ts";
import type { CompactionPreview } from "../protocol/library.ts";
import { withLimits } from "../core/room.ts";
import { createProjection } from "../core/events.ts";
import { inputPositions } from "../core/load.ts";
import { born, type State } from "../core/state.ts";
import { compactionPreview } from "../core/status.ts";
import type { Log, Store } from "../core/store.ts";
import { followEvents } from "./following.ts";
import type { Host } from "./host.ts";
import { commit, type Committer } from "./commit.ts";
import { threadId } from "./ids.ts";
import { loadState, read } from "./loading.ts";
import { resume } from "./resume.ts";
import { createSession, type Session } from "./session.ts";

export type Outcome<T> = ({ ok: true } & T) | { ok: false; refusal: Refusal; owner: Owner | null };

export interface Threads {
  start(given: { source: Source; settings: Settings; ephemeral?: boolean }): Promise<Session>;
  resume(thread: ThreadId): Promise<Outcome<{ session: Session; resumed: ResumedThread }>>;
  fork(given: { thread: ThreadId; source: Source; before?: number; nthUserMessage?: number }): Promise<Outcome<{ session: Session }>>;
  /** The session of a thread that is loaded here. */
  loaded(thread: ThreadId): Session | null;
  /** What a thread's log means, whoever writes it; null when there is no such thread. */
  state(thread: ThreadId): Promise<State | null>;
  /** Events of a thread that another process may be writing. */
  follow(thread: ThreadId, after: Cursor | null, signal: AbortSignal): AsyncGenerator<Event>;
  close(thread: ThreadId, why: string): Promise<void>;
  closeAll(why: string): Promise<void>;
  /** What a compaction now would do, with these settings beside the thread's own. */
  previewCompaction(thread: ThreadId, settings: Partial<Settings>): Promise<CompactionPreview | null>;
  recording: Host["recording"];
  usage: Host["usage"];
  readonly store: Store;
}

export function createThreads(host: Host): Threads {
  const sessions = new Map<ThreadId, Session>();
  const opening = new Map<ThreadId, Promise<Outcome<{ session: Session; resumed: ResumedThread }>>>();

  function keep(session: Session): Session {
    sessions.set(session.thread, session);
    return session;
  }
  function loaded(thread: ThreadId): Session | null {
    const session = sessions.get(thread);
    return session && !session.closed ? session : null;
  }

  async function start(given: { source: Source; settings: Settings; ephemeral?: boolean }): Promise<Session> {
    const store = given.ephemeral ? host.ephemeral : host.store;
    const id = threadId(host.now());
    const log = await store.create(id, { type: "thread.created", id, base: null, source: given.source, settings: given.settings });
    const header = (await store.header(id))!;
    return keep(createSession(opened(log, born(header, null), host), store, host));
  }

  async function open(thread: ThreadId): Promise<Outcome<{ session: Session; resumed: ResumedThread }>> {
    await sessions.get(thread)?.close("resumed again");
    const result = await resume(host.store, thread, host);
    if (!result.ok) return result;
    const session = keep(createSession(result.committer, host.store, host));
    return { ok: true, session, resumed: describe(session, result.repairs) };
  }

  async function fork(given: { thread: ThreadId; source: Source; before?: number; nthUserMessage?: number }): Promise<Outcome<{ session: Session }>> {
    const head = await host.store.head(given.thread);
    if (head === null) return notFound(`There is no thread ${given.thread}.`);
    const at = given.before ?? (given.nthUserMessage === undefined ? head : await nthInput(given.thread, head, given.nthUserMessage));
    const valid = at !== null && Number.isSafeInteger(at) && at > 0 && at <= head;
    const base = valid ? await loadState(host.store, { thread: given.thread, before: at }) : null;
    if (!valid || !base) return notFound(`Thread ${given.thread} has no such message or position to fork before; nothing was created.`);
    const id = threadId(host.now());
    const log = await host.store.create(id, {
      type: "thread.created",
      id,
      base: { thread: given.thread, before: at },
      source: given.source,
      settings: base.thread.settings,
    });
    const header = (await host.store.header(id))!;
    return { ok: true, session: keep(createSession(opened(log, born(header, base), host), host.store, host)) };
  }

  /** The position before the n-th typed input (0-based) of the lineage; null when there is none. */
  async function nthInput(thread: ThreadId, head: number, n: number): Promise<number | null> {
    const state = await loadState(host.store, { thread, before: head });
    const fromEnd = (state?.talk.userMessages ?? 0) - n;
    if (!Number.isSafeInteger(n) || n < 0 || fromEnd <= 0) return null;
    const positions = await read(host.store, inputPositions({ thread, before: head }, (found) => found >= fromEnd));
    return positions[fromEnd - 1] ?? null;
  }

  async function stateOf(thread: ThreadId): Promise<State | null> {
    const head = await host.store.head(thread);
    return loaded(thread)?.state ?? (head === null ? null : loadState(host.store, { thread, before: head }));
  }

  return {
    start,
    fork,
    loaded,
    state: stateOf,
    async previewCompaction(thread, settings) {
      const state = await stateOf(thread);
      return state && compactionPreview(withLimits(state, await host.model({ ...state.thread.settings, ...settings } as Settings), settings));
    },
    follow: (thread, after, signal) => followEvents(host.store, thread, { after, signal }),
    recording: (source) => host.recording(source),
    usage: (query) => host.usage(query),
    store: host.store,
    async resume(thread) {
      const session = loaded(thread);
      if (session) return { ok: true, session, resumed: describe(session, []) };
      const pending = opening.get(thread) ?? open(thread).finally(() => opening.delete(thread));
      opening.set(thread, pending);
      return pending;
    },
    async close(thread, why) {
      await sessions.get(thread)?.close(why);
      sessions.delete(thread);
    },
    async closeAll(why) {
      await Promise.all([...sessions.values()].map((session) => session.close(why)));
      sessions.clear();
    },
  };
}

/** A committer for a log that was just created: its first writer. */
function opened(log: Log, state: Committer["state"], host: Host): Committer {
  const committer: Committer = {
    state,
    log,
    projection: createProjection(log.thread, 0),
    mustSync: log.head - 1,
    carriedAt: log.bytes,
    redactor: host.redactor,
    publish: () => {},
  };
  commit(committer, [{ type: "writer.opened", epoch: 1, pid: host.pid, host: host.hostname }]);
  return committer;
}

function describe(session: Session, repairs: string[]): ResumedThread {
  const { thread, talk } = session.state;
  return {
    thread: session.thread,
    settings: thread.settings,
    title: thread.title,
    parked: talk.turn?.parked ? talk.turn.id : null,
    queued: talk.queue.map(({ op, items }) => ({ op, items })),
    usage: thread.usage,
    cursor: session.cursor,
    repairs,
  };
}
function notFound(message: string): { ok: false; refusal: Refusal; owner: null } {
  return { ok: false, refusal: { code: "not_found", message }, owner: null };
}
