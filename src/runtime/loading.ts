/** Drives core's plans of reads against a store: each need is answered with a batch of records, newest first. */
import type { LogRecord, Position } from "../protocol/record.ts";
import { load, walkBack, type Need, type Reads } from "../core/load.ts";
import type { State } from "../core/state.ts";
import type { Damage, Store } from "../core/store.ts";

/** Small, because what a plan does not need of its last batch is read for nothing; the next batch goes on in the same read. */
const BATCH = 64;

interface Listeners {
  onDamage?: (damage: Damage) => void;
  onRecord?: (record: LogRecord) => void;
}

export async function read<T>(store: Store, plan: Reads<T>, { onDamage, onRecord }: Listeners = {}): Promise<T> {
  const source = createSource(store, onDamage);
  try {
    let step = plan.next([]);
    while (!step.done) {
      const records = await source.answer(step.value);
      if (onRecord) for (const record of records) onRecord(record);
      step = plan.next(records);
    }
    return step.value;
  } finally {
    await source.close();
  }
}

export function loadState(store: Store, position: Position): Promise<State | null> {
  return read(store, load(position));
}

/** With the state, about how many bytes of log had to be replayed for it: what follows the nearest carry. */
export async function loadTail(store: Store, position: Position, onDamage: (damage: Damage) => void): Promise<{ state: State; tail: number } | null> {
  let tail = 0;
  let carried = false;
  const onRecord = (record: LogRecord) => {
    carried ||= "carry" in record;
    if (!carried) tail += weigh(record);
  };
  const state = await read(store, load(position), { onDamage, onRecord });
  return state && { state, tail };
}

/** About the length of a value as JSON: its texts, and a little for everything else. */
function weigh(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 6;
  let weight = 2;
  for (const key in value) weight += key.length + 4 + weigh((value as Record<string, unknown>)[key]);
  return weight;
}

/** The live record with this seq; null when it cannot be read. */
export async function recordAt(store: Store, position: Position, seq: number): Promise<LogRecord | null> {
  let found: LogRecord | null = null;
  await read(
    store,
    walkBack(position, (record) => {
      if (record.seq === seq) found = record;
      return record.seq > seq;
    }),
  );
  return found;
}

/** All records of the thread's lineage, oldest first; null when there is no such thread. */
export async function liveRecords(store: Store, thread: string, onDamage: (damage: Damage) => void): Promise<LogRecord[] | null> {
  const head = await store.head(thread);
  if (head === null) return null;
  const newestFirst: LogRecord[] = [];
  await read(
    store,
    walkBack({ thread, before: head }, (record) => {
      newestFirst.push(record);
      return true;
    }),
    { onDamage },
  );
  return newestFirst.reverse();
}

/** Keeps one backward read open as long as the plan goes on from where the last batch ended. */
function createSource(store: Store, onDamage?: (damage: Damage) => void) {
  let open: { thread: string; before: number; records: AsyncIterator<LogRecord> } | null = null;
  const close = async () => {
    await open?.records.return?.();
    open = null;
  };
  return {
    close,
    async answer(need: Need): Promise<readonly LogRecord[]> {
      if (need.kind === "header") {
        const header = await store.header(need.thread);
        return header ? [header] : [];
      }
      if (!open || open.thread !== need.thread || open.before !== need.before) {
        await close();
        const range = { before: need.before, order: "backward" as const, ...(onDamage ? { onDamage } : {}) };
        open = { thread: need.thread, before: need.before, records: store.read(need.thread, range)[Symbol.asyncIterator]() };
      }
      const batch: LogRecord[] = [];
      while (batch.length < BATCH) {
        const { done, value } = await open.records.next();
        if (done) break;
        batch.push(value);
      }
      open.before = batch.at(-1)?.seq ?? open.before;
      return batch;
    },
  };
}
