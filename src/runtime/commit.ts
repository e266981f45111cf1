/**
 * commit: append → reduce → publish, in one synchronous step that nothing can interleave. Disk before screen.
 *
 * Secrets are redacted first, so that log, state, model and screen hold the same. About every megabyte a `state.saved` follows,
 * so that opening never has far to go back.
 */
import type { Event } from "../protocol/event.ts";
import type { Draft, LogRecord } from "../protocol/record.ts";
import { project, type Projection } from "../core/events.ts";
import { reduce } from "../core/reduce.ts";
import type { Redactor } from "../core/redact.ts";
import { carryOf, type State } from "../core/state.ts";
import type { Log } from "../core/store.ts";

export const CARRY_EVERY_BYTES = 1_000_000;

/** Nobody may act on one of these before it would survive power loss. */
const ACTED_ON: ReadonlySet<string> = new Set<LogRecord["type"]>([
  "input.queued",
  "input.changed",
  "input.withdrawn",
  "turn.interrupted",
  "turn.continued",
  "ask.answered",
  "call.requested",
  "call.started",
  "call.ended",
  "turn.ended",
  "history.compacted",
  "history.restored",
  "thread.rewound",
  "settings.changed",
  "thread.described",
  "grant.added",
  "grant.revoked",
]);

export interface Committer {
  state: State;
  readonly log: Log;
  readonly projection: Projection;
  /** The last record that must be durable before an effect may start. */
  mustSync: number;
  /** Length of the log at its last carry. */
  carriedAt: number;
  readonly redactor: Redactor;
  publish(events: Event[]): void;
}

export function commit(committer: Committer, drafts: readonly Draft[]): LogRecord[] {
  if (drafts.length === 0) return [];
  const { log, redactor } = committer;
  const records = log.append(drafts.map((draft) => redactor.draft(draft)));
  for (const record of records) {
    committer.state = reduce(committer.state, record);
    if (ACTED_ON.has(record.type)) committer.mustSync = record.seq;
    if ("carry" in record) committer.carriedAt = log.bytes;
    const events = project(committer.projection, record);
    if (events.length > 0) committer.publish(events);
  }
  if (log.bytes - committer.carriedAt > CARRY_EVERY_BYTES) {
    committer.carriedAt = log.bytes;
    commit(committer, [{ type: "state.saved", carry: carryOf(committer.state) }]);
  }
  return records;
}
