/**
 * Which of the valid lines are the log.
 *
 * A writer gives each seq once and in order, so a log in which one comes twice or late was touched by something else (lines pasted
 * by hand, a file merged by a tool, two writers without a lock). The rule: the first of a seq wins, and a line that comes after a
 * higher seq is left out. Left out lines are damage. Because a line with a far too high seq would by that rule condemn
 * everything after it, it is itself left out when the seq that was due comes right after it and counts on from there. Both
 * directions follow the rule, looking at most 2 × WINDOW lines (or WINDOW_BYTES) further than they give.
 */
import type { Damage } from "../../core/store.ts";
import type { BadLine, GoodLine, ScannedLine } from "./scan.ts";

export const WINDOW = 32;
export const WINDOW_BYTES = 256 * 1024;

export type OnDamage = ((damage: Damage) => void) | undefined;

/** `after`: the seq of the line before the first; null at the start of the log. */
export function* inOrder(lines: Iterable<ScannedLine>, { after, onDamage }: { after: number | null; onDamage: OnDamage }): Generator<GoodLine, void, void> {
  const ahead = new Lookahead(lines);
  let last = after;
  let lost = 0;
  for (let line = ahead.take(); line; line = ahead.take()) {
    if (!line.ok) {
      lost += line.records;
      onDamage?.(damageOf(line));
      continue;
    }
    const { seq } = line.record;
    if (last !== null && (seq <= last || (seq > last + 1 + lost && isStray(seq, last + 1, ahead)))) {
      onDamage?.(strayDamage(line));
      continue;
    }
    yield line;
    last = seq;
    lost = 0;
  }
}

function isStray(seq: number, due: number, ahead: Lookahead): boolean {
  let highest = seq;
  let dueCame = false;
  for (const line of ahead.peek()) {
    if (!line.ok) continue;
    if (dueCame) return line.record.seq <= highest;
    if (line.record.seq === due) dueCame = true;
    else if (line.record.seq < due) return false;
    else highest = Math.max(highest, line.record.seq);
  }
  return false;
}

/** The same, newest first. `before`: every line given has a lower seq. */
export function* inOrderBackward(lines: Iterable<ScannedLine>, { before, onDamage }: { before: number; onDamage: OnDamage }): Generator<GoodLine, void, void> {
  const window = new BackwardWindow(lines, onDamage);
  let lowest = before;
  for (let line = window.take(); line; line = window.take()) {
    const { seq } = line.record;
    if (seq >= lowest || window.isStray(line) || window.hasOlder(seq, lowest)) {
      onDamage?.(strayDamage(line));
      continue;
    }
    yield line;
    lowest = seq;
  }
}

/** The good lines being looked at, newest first: some that were decided, then those that were not. */
class BackwardWindow {
  readonly #lines: Iterator<ScannedLine>;
  readonly #onDamage: OnDamage;
  readonly #strays = new Set<GoodLine>();
  #held: GoodLine[] = [];
  #decided = 0;
  #bytes = 0;
  #ended = false;

  constructor(lines: Iterable<ScannedLine>, onDamage: OnDamage) {
    this.#lines = lines[Symbol.iterator]();
    this.#onDamage = onDamage;
  }

  take(): GoodLine | undefined {
    while (!this.#ended && this.#held.length - this.#decided <= 2 * WINDOW && (this.#bytes < WINDOW_BYTES || this.#held.length === this.#decided)) this.#read();
    const line = this.#held[this.#decided];
    if (!line) return undefined;
    this.#bytes -= line.bytes;
    this.#decided += 1;
    if (this.#decided > 8 * WINDOW) {
      this.#held = this.#held.slice(this.#decided - WINDOW);
      this.#decided = WINDOW;
    }
    return line;
  }

  isStray(line: GoodLine): boolean {
    return this.#strays.delete(line);
  }

  /** There is an older line, in its place, with a seq from `from` to below `before`. Half of what is held is looked at: strays are known once what precedes them is held. */
  hasOlder(from: number, before: number): boolean {
    const end = Math.min(this.#held.length, this.#decided + WINDOW);
    for (let index = this.#decided; index < end; index++) {
      const line = this.#held[index]!;
      if (line.record.seq >= from && line.record.seq < before && !this.#strays.has(line)) return true;
    }
    return false;
  }

  #read(): void {
    const step = this.#lines.next();
    if (step.done) {
      this.#ended = true;
      return;
    }
    const line = step.value;
    if (!line.ok) {
      this.#onDamage?.(damageOf(line));
      return;
    }
    this.#noteStrays(line);
    this.#held.push(line);
    this.#bytes += line.bytes;
  }

  /** Lines just after `line` that have too high a seq, where the one due after it follows them and is counted on from. */
  #noteStrays(line: GoodLine): void {
    const due = line.record.seq + 1;
    let index = this.#held.length - 1;
    let highest = -1;
    for (; index >= 0 && this.#held[index]!.record.seq > due; index--) highest = Math.max(highest, this.#held[index]!.record.seq);
    if (highest < 0 || index < 1 || this.#held[index]!.record.seq !== due || this.#held[index - 1]!.record.seq > highest) return;
    for (let stray = index + 1; stray < this.#held.length; stray++) this.#strays.add(this.#held[stray]!);
  }
}

class Lookahead {
  readonly #lines: Iterator<ScannedLine>;
  readonly #held: ScannedLine[] = [];
  #bytes = 0;

  constructor(lines: Iterable<ScannedLine>) {
    this.#lines = lines[Symbol.iterator]();
  }

  take(): ScannedLine | undefined {
    const held = this.#held.shift();
    if (!held) return this.#read();
    this.#bytes -= held.bytes;
    return held;
  }

  peek(): readonly ScannedLine[] {
    while (this.#held.length < WINDOW && this.#bytes < WINDOW_BYTES) {
      const line = this.#read();
      if (!line) break;
      this.#held.push(line);
      this.#bytes += line.bytes;
    }
    return this.#held;
  }

  #read(): ScannedLine | undefined {
    const step = this.#lines.next();
    return step.done ? undefined : step.value;
  }
}

function damageOf({ offset, bytes, why }: BadLine): Damage {
  return { offset, bytes, why };
}
function strayDamage({ offset, bytes, record }: GoodLine): Damage {
  return { offset, bytes, why: `record ${record.seq} is not where it belongs` };
}
