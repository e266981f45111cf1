/**
 * Events of the past, computed again from the log: those after a cursor, along the live lineage. The records just before the
 * cursor are read too, as far as the events after it need them (their turn's start, the items of inputs taken later).
 */
import type { Cursor, Event } from "../protocol/event.ts";
import type { LogRecord, Position } from "../protocol/record.ts";
import { createProjection, parseCursor, project, type Place } from "../core/events.ts";
import { asKnown } from "../core/known.ts";
import { walkBack } from "../core/load.ts";
import type { Store } from "../core/store.ts";
import { read } from "./loading.ts";

export type Replay = { known: true; events: Event[] } | { known: false };

/** `known` is false when the log does not hold the cursor, as after a power loss: the client must start over. */
export async function replay(store: Store, position: Position, after: Cursor | null): Promise<Replay> {
  const place = after === null ? null : parseCursor(after);
  if (after !== null && (!place || place.seq >= position.before)) return { known: false };
  const records = await recordsAround(store, position, place?.seq ?? -1);
  const projection = createProjection(position.thread, records.epoch);
  const events: Event[] = [];
  for (const record of records.oldestFirst) {
    const projected = project(projection, record);
    if (!place || record.seq > place.seq) events.push(...projected);
    else if (record.seq === place.seq) {
      if (projection.epoch !== place.epoch) return { known: false };
      events.push(...projected.slice(place.n + 1));
    }
  }
  return { known: true, events };
}

/** Live records from where the context of `seq` begins, and the writer epoch there. */
async function recordsAround(store: Store, position: Position, seq: number): Promise<{ oldestFirst: LogRecord[]; epoch: number }> {
  const newestFirst: LogRecord[] = [];
  const inputs = new Set<number>();
  let epoch = 0;
  let boundary = false;
  await read(
    store,
    walkBack(position, (record) => {
      newestFirst.push(record);
      const known = asKnown(record);
      if (known?.type === "turn.started") for (const input of known.inputs) inputs.add(input);
      if (known?.type === "input.taken") inputs.add(known.from);
      inputs.delete(record.seq);
      if (record.seq > seq) return true;
      boundary ||= known?.type === "turn.started" || known?.type === "turn.ended";
      if (known?.type === "writer.opened") epoch = known.epoch;
      else if (known && "carry" in known) epoch = known.carry.thread.epoch;
      else return true;
      return !(boundary && inputs.size === 0);
    }),
  );
  return { oldestFirst: newestFirst.reverse(), epoch };
}

export function isAfter(event: Event, place: Place | null): boolean {
  const at = event.cursor === undefined ? null : parseCursor(event.cursor);
  if (!at || !place) return true;
  return at.seq > place.seq || (at.seq === place.seq && at.n > place.n);
}
