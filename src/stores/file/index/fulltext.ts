/**
 * Taking the texts of one log into the index, from its watermark to its end or until the batch is full.
 *
 * The watermark is a byte offset, the end of a line, moved in the same transaction as the texts before it: after a kill nothing is taken
 * twice or left out. A log is only appended to; where it was replaced (a scrub) or cut below the watermark, its texts are dropped
 * and taken anew. Bad lines are passed over.
 */
import type { ThreadId } from "../../../protocol/record.ts";
import { realFiles } from "../files.ts";
import { readFirst } from "../header.ts";
import type { Home } from "../layout.ts";
import { NEWLINE } from "../line.ts";
import { linesForward, readFully, type LogFile, type ScannedLine } from "../scan.ts";
import type { Entries } from "./entries.ts";
import { look, type Look } from "./look.ts";
import type { SessionRow } from "./rows.ts";
import { textIn } from "./texts.ts";

/** How many bytes of a log are read in the time that one character takes to index. */
const SCAN_SPEED = 10;

export function takeText(entries: Entries, home: Home, { thread, stopped }: { thread: ThreadId; stopped: () => boolean }): void {
  const now = look(home, thread);
  const row = entries.rows.byId(thread);
  if (!row) return;
  if (!now) return entries.drop(thread);
  const log = openLog(now);
  if (!log) {
    entries.dropLogTexts(row);
    return entries.covered(row, { log: now.logPrint, whole: true, file: "", at: 0 });
  }
  try {
    take(entries, { row, now, log, stopped });
  } finally {
    realFiles.close(log.fd);
  }
}

/** Null where it cannot be read: there is nothing to take then. */
function openLog({ place }: Look): LogFile | null {
  try {
    const fd = realFiles.open(place.files.log, "read");
    return { files: realFiles, fd, seal: readFirst({ files: realFiles, fd }, place.thread).seal };
  } catch {
    return null;
  }
}

function take(entries: Entries, { row, now, log, stopped }: { row: SessionRow; now: Look; log: LogFile; stopped: () => boolean }): void {
  const { size, identity: file } = realFiles.fstat(log.fd);
  let at = row.text_at;
  if (at > 0 && (row.text_file !== file || size < at || !endsLine(log, at))) {
    entries.dropLogTexts(row);
    at = 0;
  }
  let whole = true;
  for (const line of readable(log, at)) {
    if (entries.full || stopped()) {
      whole = false;
      break;
    }
    at = line.offset + line.bytes;
    entries.spend(line.bytes / SCAN_SPEED);
    const text = line.ok ? textIn(line.record, now.place.files) : null;
    if (line.ok && text) entries.addText(row.id, row.no, { ...text, seq: line.record.seq, offset: line.offset, bytes: line.bytes });
  }
  entries.covered(row, { log: now.logPrint, whole, file, at });
}

/** A log that cannot be read on ends there. */
function* readable(log: LogFile, from: number): Generator<ScannedLine, void, void> {
  const lines = linesForward(log, { from });
  for (;;) {
    let step: IteratorResult<ScannedLine, void>;
    try {
      step = lines.next();
    } catch {
      return;
    }
    if (step.done) return;
    yield step.value;
  }
}

function endsLine(log: LogFile, at: number): boolean {
  const byte = Buffer.alloc(1);
  readFully(log, byte, at - 1);
  return byte[0] === NEWLINE;
}
