/** Bringing the row of one thread up to date. A row is only called fresh when the folder held still while it was made. */
import type { ThreadId } from "../../../protocol/record.ts";
import type { Home } from "../layout.ts";
import { summarize } from "../summary.ts";
import type { Entries } from "./entries.ts";
import { GRAIN_MS, isSettled, look } from "./look.ts";

const ATTEMPTS = 3;

export function takeRow(entries: Entries, home: Home, thread: ThreadId): void {
  for (let attempt = 1; ; attempt++) {
    const before = look(home, thread);
    if (!before) return entries.drop(thread);
    const row = entries.rows.byId(thread);
    if (row?.print === before.print && row.archived === before.archived) return;
    const settled = isSettled(before.changedAt);
    const summary = summaryOf(home, thread);
    if (!summary) return entries.drop(thread);
    const still = settled && look(home, thread)?.print === before.print;
    if (still || attempt === ATTEMPTS) return entries.put(before, { summary, print: still ? before.print : "", before: row });
    pause();
  }
}

/** Null where there is nothing to show, whatever the reason: one folder must not stop the indexer. */
function summaryOf(home: Home, thread: ThreadId): ReturnType<typeof summarize> {
  try {
    return summarize(home.root, thread);
  } catch {
    return null;
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));

/** Until what was changed before shows in a print. */
export function pause(): void {
  Atomics.wait(never, 0, 0, GRAIN_MS + 10);
}
