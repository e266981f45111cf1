/**
 * Following: the events of a thread that another process writes, from its log alone. It sees what is acknowledged, never the text that is
 * still being streamed, and it never repairs. The cursors are those that the owner gives out.
 */
import type { Cursor, Event } from "../protocol/event.ts";
import { createProjection, project, parseCursor, projectionAt } from "../core/events.ts";
import type { Store } from "../core/store.ts";
import { loadState } from "./loading.ts";
import { replay } from "./replaying.ts";

export async function* followEvents(store: Store, thread: string, given: { after: Cursor | null; signal: AbortSignal }): AsyncGenerator<Event> {
  const head = await store.head(thread);
  if (head === null) throw new Error(`There is no thread ${thread}.`);
  const position = { thread, before: head };
  const past = await replay(store, position, given.after);
  if (past.known) yield* past.events;
  else {
    yield { type: "thread/reset", message: "The log does not hold that position; here is everything from the start.", thread_id: thread, turn_id: "" };
    const all = await replay(store, position, null);
    if (all.known) yield* all.events;
  }
  const state = await loadState(store, position);
  const projection = { ...(state ? projectionAt(state) : createProjection(thread, 0)), thread };
  const seen = parseCursor(given.after ?? "")?.seq ?? -1;
  for await (const record of store.follow(thread, Math.max(head, seen + 1), given.signal)) yield* project(projection, record);
}
