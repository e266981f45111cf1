/** The state of a thread straight from its log, at once: what derived files are rebuilt from. */
import { load, runReads, type Need } from "../../core/load.ts";
import type { State } from "../../core/state.ts";
import type { LogRecord, ThreadId } from "../../protocol/record.ts";
import type { Files } from "./files.ts";
import type { Home } from "./layout.ts";
import { headerOf, headOf, locate, readThread } from "./reader.ts";

/** So much of a log answers one need. */
const BATCH = 256 * 1024;

/** Null when there is no such thread. */
export function loadState(home: Home, thread: ThreadId, files: Files): State | null {
  const place = locate(home, thread, files);
  if (!place) return null;
  const reads = new BackwardReads(home, files);
  try {
    return runReads(load({ thread, before: headOf(place, files) }), (need) => reads.answer(need));
  } finally {
    reads.stop();
  }
}

/** Goes on with the read that answered the need before, where the next one starts there. */
class BackwardReads {
  readonly #home: Home;
  readonly #files: Files;
  #running: { thread: ThreadId; before: number; records: ReturnType<typeof readThread> } | null = null;

  constructor(home: Home, files: Files) {
    this.#home = home;
    this.#files = files;
  }

  answer(need: Need): LogRecord[] {
    const place = locate(this.#home, need.thread, this.#files);
    if (!place) return [];
    if (need.kind === "header") return [headerOf(place, this.#files)];
    let running = this.#running;
    if (running?.thread !== need.thread || running.before !== need.before) {
      this.stop();
      running = { thread: need.thread, before: need.before, records: readThread(place, { before: need.before, order: "backward" }, this.#files) };
    }
    const batch: LogRecord[] = [];
    for (let bytes = 0; bytes < BATCH; ) {
      const step = running.records.next();
      if (step.done) break;
      batch.push(step.value.record);
      bytes += step.value.bytes;
      running.before = step.value.record.seq;
    }
    this.#running = running;
    return batch;
  }

  stop(): void {
    this.#running?.records.return();
    this.#running = null;
  }
}
