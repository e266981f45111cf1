/**
 * Writes a log as the file store would, but all at once: the same lines (sealed by the store's own code), with carries that the
 * real `reduce` gave, and no lock, no sync and no write for each record.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { encode } from "../../src/protocol/codec.ts";
import { LOG_VERSION, type Draft, type LogRecord, type Position, type ThreadId } from "../../src/protocol/record.ts";
import { reduce } from "../../src/core/reduce.ts";
import { born, carryOf, type State } from "../../src/core/state.ts";
import { CARRY_EVERY_BYTES } from "../../src/runtime/commit.ts";
import { sealLine, sealOf, type Seal } from "../../src/stores/file/line.ts";

const WRITE_AT_ONCE = 4 * 1024 * 1024;

export class LogWriter {
  readonly thread: ThreadId;
  state: State;
  bytes = 0;
  head: number;
  records = 0;
  /** The writer's clock, in milliseconds. */
  now: number;
  readonly #fd: number;
  readonly #seal: Seal;
  #carriedAt = 0;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;

  /** `base`: the state at the place where a fork leaves its parent. */
  constructor(given: { path: string; thread: ThreadId; first: Draft; at: number; base?: { position: Position; state: State } }) {
    this.thread = given.thread;
    this.now = given.at;
    this.head = given.base?.position.before ?? 0;
    this.#fd = openSync(given.path, "w", 0o600);
    this.#seal = sealOf(given.thread);
    this.state = born(this.#write(given.first), given.base?.state ?? null);
  }

  push(draft: Draft): LogRecord {
    const record = this.#write(draft);
    this.state = reduce(this.state, record);
    if ("carry" in record) this.#carriedAt = this.bytes;
    if (this.bytes - this.#carriedAt > CARRY_EVERY_BYTES) this.push({ type: "state.saved", carry: carryOf(this.state) });
    return record;
  }

  close(): void {
    this.#flush();
    closeSync(this.#fd);
  }

  #write(draft: Draft): LogRecord {
    const at = new Date(this.now).toISOString();
    const seq = this.head++;
    const line = sealLine(encode(draft, { seq, at }), this.#seal);
    this.records += 1;
    this.bytes += line.length;
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    if (this.#waitingBytes >= WRITE_AT_ONCE) this.#flush();
    return { v: LOG_VERSION, seq, at, ...draft };
  }

  #flush(): void {
    const bytes = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting, this.#waitingBytes);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done);
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
