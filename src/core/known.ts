/** Which records this build understands. Anything else is kept in the log and has no meaning here. */
import { LOG_VERSION, type KnownRecord, type LogRecord } from "../protocol/record.ts";

const KNOWN: ReadonlySet<string> = new Set<KnownRecord["type"]>([
  "thread.created",
  "thread.described",
  "settings.changed",
  "writer.opened",
  "writer.closed",
  "grant.added",
  "grant.revoked",
  "file.changed",
  "state.saved",
  "input.queued",
  "input.changed",
  "input.withdrawn",
  "input.taken",
  "context.changed",
  "turn.started",
  "turn.interrupted",
  "turn.continued",
  "sample.started",
  "sample.ended",
  "item.added",
  "item.dropped",
  "ask.opened",
  "ask.answered",
  "ask.withdrawn",
  "call.requested",
  "call.started",
  "call.ended",
  "plan.changed",
  "history.compacted",
  "history.restored",
  "thread.rewound",
  "turn.ended",
]);

export function asKnown(record: LogRecord): KnownRecord | null {
  return record.v <= LOG_VERSION && KNOWN.has(record.type) ? (record as KnownRecord) : null;
}

/** A record that this build must understand before it may write to the thread, and does not. */
export function isBarrier(record: LogRecord): boolean {
  return record.critical === true && asKnown(record) === null;
}
