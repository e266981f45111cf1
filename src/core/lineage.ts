/**
 * Lineage: which records are live.
 *
 * live(n) walks back from record n − 1. At `thread.rewound{before: p}` it goes on with live(p); at a fork's first record it goes
 * on with live(base) in the base's log; at a root's first record it ends. Aiming a rewind at a dead range therefore revives
 * that branch, and nothing is ever lost. Along a lineage seq strictly falls, so a seq names one record of it; headers that name each
 * other as base end the walk.
 */
import type { LogRecord, Position } from "../protocol/record.ts";
import { asKnown } from "./known.ts";

/** Where the walk goes after `record` of `thread`; null at the root. */
export function stepBack(thread: string, record: LogRecord): Position | null {
  const known = asKnown(record);
  if (known?.type === "thread.created") return known.base && { thread: known.base.thread, before: Math.min(known.base.before, known.seq) };
  if (known?.type === "thread.rewound") return { thread, before: Math.min(known.before, known.seq) };
  return { thread, before: record.seq };
}

/** A position that may lie before a fork's own records, moved into the log that holds it; null before the root's first. */
export function settle(position: Position, header: LogRecord): Position | null {
  if (position.before > header.seq) return position;
  const created = asKnown(header);
  const base = created?.type === "thread.created" ? created.base : null;
  return base && { thread: base.thread, before: Math.min(position.before, base.before) };
}

/** live(position), oldest first, over logs that are in memory: the plain statement of the rule that stores and loaders follow. */
export function live(logs: ReadonlyMap<string, readonly LogRecord[]>, position: Position): LogRecord[] {
  const found: LogRecord[] = [];
  let at: Position | null = position;
  let passed = new Set<string>();
  while (at && !passed.has(at.thread)) {
    const log: readonly LogRecord[] = logs.get(at.thread) ?? [];
    const header = log[0];
    if (!header) break;
    const settled: Position | null = settle(at, header);
    if (!settled) break;
    if (settled.thread !== at.thread) {
      passed.add(at.thread);
      at = settled;
      continue;
    }
    const record = lastBefore(log, settled.before);
    if (!record) break;
    found.push(record);
    passed = new Set();
    at = stepBack(at.thread, record);
  }
  return found.reverse();
}

function lastBefore(log: readonly LogRecord[], before: number): LogRecord | undefined {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (log[middle]!.seq < before) low = middle + 1;
    else high = middle;
  }
  return log[low - 1];
}
