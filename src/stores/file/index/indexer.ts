/**
 * The indexer: brings the index up to date with the folders, one pass at a time, in a thread of its own.
 *
 * One indexer at a time in a home; another one that comes is told `busy` and leaves. A pass may end anywhere, by a kill too: what was
 * committed counts, and the next pass goes on from there.
 *
 *   reconcile   threads that came get a row, those that went lose theirs. In a sweep every row is compared with its folder.
 *   marks       marked threads get a fresh row (marks.ts).
 *   full text   of one thread after another, newest first, from its watermark on. New marks go before old texts.
 *   settle      marks whose threads are taken in and closed are removed.
 */
import { randomUUID } from "node:crypto";
import type { ThreadId } from "../../../protocol/record.ts";
import { realFiles } from "../files.ts";
import { readFirst } from "../header.ts";
import type { Home } from "../layout.ts";
import { linesBackward } from "../scan.ts";
import { Entries } from "./entries.ts";
import { takeText } from "./fulltext.ts";
import { isSettled, look, membershipPrint, namesIn, type Look } from "./look.ts";
import { claim, marked, readStamp, release, settle, writeStamp } from "./marks.ts";
import type { Need } from "./need.ts";
import { pause, takeRow } from "./row.ts";
import type { Progress } from "./rows.ts";
import { discard, filePrint, lockIndexer, openForWriting } from "./schema.ts";
import { isCorruption, type Sqlite } from "./sqlite.ts";

export type PassEnd = "complete" | "busy" | "stopped";

export interface PassOptions {
  home: Home;
  sqlite: Sqlite;
  need: Need;
  /** The print of an index file in which a reader found damage. */
  damaged: string | null;
  stopped: () => boolean;
  onProgress: (progress: Progress) => void;
}

const SWEEP_AFTER_MS = 24 * 60 * 60 * 1000;
/** Transactions that leave enough behind to be tidied up. */
const TIDY_AFTER = 4;
const QUIET_MS = 60 * 60 * 1000;
const ATTEMPTS = 3;
/**
 * Threads are taken newest first, but in groups of so many, oldest first in each: FTS5 collects what is added in ascending order and
 * writes out what it has when a lower number comes.
 */
const GROUP = 200;

/** Throws what the file system does; the index stays as the last transaction left it. */
export function runPass(options: PassOptions): PassEnd {
  const { home, sqlite, damaged } = options;
  if (!realFiles.stat(home.root)) return "complete";
  const lock = lockIndexer(sqlite, home);
  if (!lock) return "busy";
  try {
    if (damaged !== null && damaged === filePrint(home)) discard(home);
    try {
      return withEntries(options);
    } catch (error) {
      if (!isCorruption(error)) throw error;
      discard(home);
      return withEntries(options);
    }
  } finally {
    lock.close();
  }
}

function withEntries(options: PassOptions): PassEnd {
  const db = openForWriting(options.sqlite, options.home);
  try {
    return new Pass(new Entries(db), options).run();
  } finally {
    db.close();
  }
}

class Pass {
  readonly #entries: Entries;
  readonly #options: PassOptions;
  readonly #home: Home;
  readonly #claimed = new Set<ThreadId>();
  #commits = 0;

  constructor(entries: Entries, options: PassOptions) {
    this.#entries = entries;
    this.#options = options;
    this.#home = options.home;
  }

  run(): PassEnd {
    const entries = this.#entries;
    const sweep = this.#sweepIsDue();
    if (sweep || entries.rows.fact("membership") !== membershipPrint(this.#home).print) this.#reconcile(sweep);
    do this.#takeMarks();
    while (this.#takeTexts());
    entries.commit();
    if (this.#stopped()) return "stopped";
    this.#settle();
    this.#tidy();
    entries.checkpoint();
    this.#options.onProgress(entries.rows.progress());
    return "complete";
  }

  /** One group; false when there is nothing left to take. */
  #takeTexts(): boolean {
    for (const thread of this.#entries.rows.behind(GROUP).reverse()) {
      if (this.#stopped()) return false;
      takeText(this.#entries, this.#home, { thread, stopped: this.#options.stopped });
      if (this.#entries.full) break;
    }
    this.#commitIfFull();
    return this.#entries.rows.behind(1).length > 0;
  }

  #tidy(): void {
    if (this.#commits < TIDY_AFTER) return;
    for (let step: "first" | "next" = "first"; !this.#stopped() && this.#entries.mergeWords(step); ) step = "next";
  }

  #stopped(): boolean {
    return this.#options.stopped();
  }

  #commitIfFull(): void {
    if (!this.#entries.full) return;
    this.#entries.commit();
    this.#commits += 1;
    this.#options.onProgress(this.#entries.rows.progress());
  }

  #sweepIsDue(): boolean {
    const { rows } = this.#entries;
    if (this.#options.need === "sweep" || rows.fact("stamp") !== readStamp(this.#home)) return true;
    const age = Date.now() - Number(rows.fact("swept") ?? 0);
    return age > SWEEP_AFTER_MS || age < 0;
  }

  #reconcile(sweep: boolean): void {
    const entries = this.#entries;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = this.#settledMembership();
      this.#takeAll(sweep);
      if (this.#stopped()) return;
      if (membershipPrint(this.#home).print !== before.print) continue;
      entries.setFact("membership", before.print);
      break;
    }
    if (!sweep) return;
    const stamp = randomUUID();
    entries.setFact("stamp", stamp);
    entries.setFact("swept", String(Date.now()));
    entries.commit();
    writeStamp(this.#home, stamp);
  }

  /** Taken at a time when the next change would show. */
  #settledMembership(): { print: string } {
    const found = membershipPrint(this.#home);
    if (isSettled(found.changedAt)) return found;
    pause();
    return membershipPrint(this.#home);
  }

  #takeAll(sweep: boolean): void {
    const known = this.#entries.known();
    const found = new Map<ThreadId, boolean>();
    for (const id of namesIn(this.#home.sessions)) found.set(id, false);
    for (const id of namesIn(this.#home.archive)) if (!found.has(id)) found.set(id, true);
    const changed = [...known.keys()].filter((id) => !found.has(id));
    for (const [id, archived] of found) if (sweep || known.get(id) !== archived) changed.push(id);
    const newestFirst = changed.toSorted().reverse();
    for (let start = 0; start < changed.length; start += GROUP) {
      for (const id of newestFirst.slice(start, start + GROUP).reverse()) {
        if (this.#stopped()) return;
        takeRow(this.#entries, this.#home, id);
      }
      this.#commitIfFull();
    }
  }

  #takeMarks(): void {
    for (const thread of marked(this.#home)) {
      if (this.#claimed.has(thread) || this.#stopped()) continue;
      claim(this.#home, thread);
      this.#claimed.add(thread);
      takeRow(this.#entries, this.#home, thread);
      this.#commitIfFull();
    }
  }

  #settle(): void {
    const done: ThreadId[] = [];
    for (const thread of this.#claimed) {
      if (this.#isTakenIn(thread)) done.push(thread);
      else release(this.#home, thread);
    }
    if (done.length === 0) return;
    const stamp = randomUUID();
    this.#entries.setFact("stamp", stamp);
    this.#entries.commit();
    writeStamp(this.#home, stamp);
    for (const thread of done) settle(this.#home, thread);
  }

  #isTakenIn(thread: ThreadId): boolean {
    const now = look(this.#home, thread);
    const row = this.#entries.rows.byId(thread);
    if (!now) return row === null;
    if (row?.print !== now.print || row.text_log !== now.logPrint) return false;
    return Date.now() - now.changedAt > QUIET_MS || isClosed(now);
  }
}

/** The log ends with its writer's farewell, so nobody writes to it. */
function isClosed({ place, log }: Look): boolean {
  if (!log) return true;
  let fd: number;
  try {
    fd = realFiles.open(place.files.log, "read");
  } catch {
    return false;
  }
  try {
    const { seal } = readFirst({ files: realFiles, fd }, place.thread);
    for (const line of linesBackward({ files: realFiles, fd, seal })) return line.ok && line.record.type === "writer.closed";
    return false;
  } finally {
    realFiles.close(fd);
  }
}
