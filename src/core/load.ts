/**
 * load: the state of a thread at a position, from as little of the log as will do.
 *
 * It walks back along the lineage to the nearest record with a carry (or to the root), replays what follows it, and goes on back
 * only as far as the model-visible history reaches. So the cost is that of the tail, not of the past. It is a plan of reads and
 * does none itself: whoever drives it answers each need with records, newest first (see runtime/loading.ts).
 */
import type { KnownRecord, LogRecord, Position } from "../protocol/record.ts";
import { historyFrom } from "./history.ts";
import { asKnown } from "./known.ts";
import { settle, stepBack } from "./lineage.ts";
import { atCarrier, reduce } from "./reduce.ts";
import { born, type State } from "./state.ts";

/** `back`: records of the thread's own log before `before`, newest first, at least one if there are any. `header`: the first record. */
export type Need = { kind: "back"; thread: string; before: number } | { kind: "header"; thread: string };
export type Reads<T> = Generator<Need, T, readonly LogRecord[]>;

/** Null when there is nothing at the position. */
export function* load(position: Position): Reads<State | null> {
  const collected: LogRecord[] = [];
  const needed = new Set<number>();
  let state: State | null = null;
  yield* walkBack(position, (record) => {
    const kept = !state || record.seq >= state.talk.history.from;
    if (!kept && !isAhead(needed, record.seq)) return false;
    collected.push(record);
    if (kept) noteInputs(needed, record);
    const known = asKnown(record);
    if (!state && known && "carry" in known) state = replay(atCarrier(known), collected, collected.length - 2);
    return true;
  });
  const oldest = collected.at(-1);
  if (!oldest) return null;
  const first = asKnown(oldest)?.type === "thread.created" ? collected.length - 2 : collected.length - 1;
  state ??= replay(born(oldest, null), collected, first);
  state.history = historyFrom(oldestFirst(collected), state.talk.history);
  state.head = position.before;
  state.stale = false;
  return state;
}

/** Walks live(position), newest first, until `visit` says false or the root was visited. */
export function* walkBack(position: Position, visit: (record: LogRecord, thread: string) => boolean): Reads<void> {
  let at: Position | null = position;
  /** Threads without a record before the place, since the last record. */
  let passed = new Set<string>();
  while (at && !passed.has(at.thread)) {
    const thread: string = at.thread;
    const batch: readonly LogRecord[] = yield { kind: "back", thread, before: at.before };
    if (batch.length === 0) {
      const [header]: readonly LogRecord[] = yield { kind: "header", thread };
      const settled: Position | null = header ? settle(at, header) : null;
      at = settled && settled.thread !== thread ? settled : null;
      passed.add(thread);
      continue;
    }
    passed = new Set();
    for (const record of batch) {
      if (!visit(record, thread)) return;
      at = stepBack(thread, record);
      if (!at || at.thread !== thread || at.before !== record.seq) break;
    }
  }
}

function replay(state: State, newestFirst: readonly LogRecord[], from: number): State {
  let current = state;
  for (let index = from; index >= 0; index--) current = reduce(current, newestFirst[index]!);
  return current;
}

/** Input is taken by reference: its items may lie just before the history that takes them. */
function noteInputs(needed: Set<number>, record: LogRecord): void {
  const known = asKnown(record);
  if (known?.type === "turn.started") for (const seq of known.inputs) needed.add(seq);
  else if (known?.type === "input.taken") needed.add(known.from);
}
/** Whether one of them may still come when walking back from `seq`; those above it were lost. */
function isAhead(needed: ReadonlySet<number>, seq: number): boolean {
  for (const input of needed) if (input <= seq) return true;
  return false;
}

function* oldestFirst(newestFirst: readonly LogRecord[]): Iterable<KnownRecord> {
  for (let index = newestFirst.length - 1; index >= 0; index--) {
    const known = asKnown(newestFirst[index]!);
    if (known) yield known;
  }
}

/** Where the typed inputs of a lineage were taken, newest first: the positions that a fork or rewind "before message n" aims at. */
export function* inputPositions(position: Position, enough: (found: number) => boolean): Reads<number[]> {
  const found: number[] = [];
  yield* walkBack(position, (record) => {
    const known = asKnown(record);
    if (known?.type === "turn.started" && known.inputs.length > 0) found.push(known.seq);
    else if (known?.type === "input.taken") found.push(known.seq);
    return !enough(found.length);
  });
  return found;
}

/** Answers the plan's needs from `read`, at once. */
export function runReads<T>(plan: Reads<T>, read: (need: Need) => readonly LogRecord[]): T {
  let step = plan.next([]);
  while (!step.done) step = plan.next(read(step.value));
  return step.value;
}

