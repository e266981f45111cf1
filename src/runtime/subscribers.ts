/**
 * Subscribers: everybody who watches a session. Publishing never waits: each subscriber has a bounded queue, and one that falls
 * behind loses the queue, not the events: it reads them again from the log, from its cursor.
 */
import type { Cursor, Event } from "../protocol/event.ts";
import { parseCursor } from "../core/events.ts";
import { isAfter, type Replay } from "./replaying.ts";

const QUEUE_LIMIT = 4096;

export interface Subscribers {
  publish(events: readonly Event[]): void;
  /** Ends every subscription after what is already queued. */
  end(): void;
  watch(after: Cursor | null, signal: AbortSignal): AsyncGenerator<Event>;
}

interface Watcher {
  queue: Event[];
  lagged: boolean;
  wake: () => void;
}

export interface Past {
  /** Events of the log after a cursor. */
  replay(after: Cursor | null): Promise<Replay>;
  /** Deltas that show each item that is being streamed now, with its text so far. */
  open(): Event[];
  reset(): Event;
}

export function createSubscribers(past: Past): Subscribers {
  const watchers = new Set<Watcher>();
  let ended = false;

  async function* watch(after: Cursor | null, signal: AbortSignal): AsyncGenerator<Event> {
    const watcher: Watcher = { queue: [], lagged: false, wake: () => {} };
    const abort = () => watcher.wake();
    signal.addEventListener("abort", abort);
    watchers.add(watcher);
    let cursor = after;
    try {
      for (;;) {
        watcher.queue = past.open();
        watcher.lagged = false;
        let replayed = await past.replay(cursor);
        if (!replayed.known) {
          yield past.reset();
          replayed = await past.replay(null);
        }
        const finished = new Set<string>();
        for (const event of replayed.known ? replayed.events : []) {
          if (signal.aborted) return;
          if (event.type === "item/completed") finished.add(event.item_id);
          cursor = event.cursor ?? cursor;
          yield event;
        }
        while (!watcher.lagged) {
          const event = watcher.queue.shift();
          if (event) {
            if (signal.aborted) return;
            if (!isAfter(event, cursor === null ? null : parseCursor(cursor)) || ("delta" in event && finished.has(event.item_id))) continue;
            cursor = event.cursor ?? cursor;
            yield event;
          } else if (ended || signal.aborted) return;
          else await new Promise<void>((resolve) => (watcher.wake = resolve));
        }
      }
    } finally {
      watchers.delete(watcher);
      signal.removeEventListener("abort", abort);
    }
  }

  return {
    watch,
    publish(events) {
      for (const watcher of watchers) {
        if (watcher.lagged) continue;
        for (const event of events) if (!joined(watcher.queue.at(-1), event)) watcher.queue.push("delta" in event ? { ...event } : event);
        if (watcher.queue.length > QUEUE_LIMIT) {
          watcher.lagged = true;
          watcher.queue = [];
        }
        watcher.wake();
      }
    },
    end() {
      ended = true;
      for (const watcher of watchers) watcher.wake();
    },
  };
}

/** A delta that goes on where the one that still waits ends is added to it: a slow reader gets fewer, longer ones. */
function joined(last: Event | undefined, event: Event): boolean {
  if (!last || !("delta" in event) || !("delta" in last)) return false;
  if (last.type !== event.type || last.item_id !== event.item_id) return false;
  if (last.type === "item/commandExecution/outputDelta" && event.type === last.type && last.stream !== event.stream) return false;
  if (last.type === "item/reasoning/delta" && event.type === last.type && (last.index !== event.index || last.kind !== event.kind)) return false;
  last.delta += event.delta;
  return true;
}
