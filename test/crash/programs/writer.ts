/**
 * HOME THREAD: a writer that is meant to be killed. It appends records of all sizes, syncs, forks, keeps blobs, derives, closes
 * and opens again, as fast as it can, and reports on stdout what it was promised, one line each, before it goes on:
 *
 *   a SEQ        acknowledged: append returned for every record up to SEQ
 *   d SEQ        durable up to SEQ
 *   f ID         the fork exists
 *   b SHA BYTES  the blob is kept
 *   o HEAD       opened; the next record gets HEAD
 *
 * The pipe is written synchronously: a line that was written arrives, whatever happens to the process.
 */
import { writeSync } from "node:fs";
import type { Log } from "../../../src/core/store.ts";
import type { Draft } from "../../../src/protocol/record.ts";
import { openFileStore } from "../../../src/stores/file/store.ts";
import { LONGEST, random, textOf } from "../content.ts";

const [home = "", thread = "", seed = "1"] = process.argv.slice(2);
const next = random(Number(seed));
const store = openFileStore({ home, host: "crash", pid: process.pid, now: () => new Date().toISOString() });

const SETTINGS = { model: "m", model_provider: "p", cwd: "/", approval_policy: "never", sandbox_mode: "read-only" };
const say = (line: string) => writeSync(1, `${line}\n`);

async function open(): Promise<Log> {
  const opened = await store.open(thread);
  if (!opened.ok) throw new Error(opened.message);
  say(`o ${opened.log.head}`);
  return opened.log;
}

function append(log: Log): void {
  const drafts: Draft[] = [];
  for (let index = 0, count = 1 + (next() % 3); index < count; index++) {
    const size = next() % 2 === 0 ? next() % LONGEST : next() % 3000;
    const seq = log.head + index;
    drafts.push({ type: "item.added", id: `i${seq}`, item: { type: "message", role: "assistant", content: [{ type: "output_text", text: textOf(seq, size) }] } });
  }
  log.append(drafts);
  say(`a ${log.head - 1}`);
}

async function fork(log: Log): Promise<void> {
  const id = `f${seed}-${log.head}-${process.pid}`.padEnd(12, "0");
  const base = { thread, before: 1 + (next() % log.head) };
  const forked = await store.create(id, { type: "thread.created", id, base, source: "exec", settings: SETTINGS });
  say(`f ${id}`);
  await forked.close();
}

let log = await open();
for (;;) {
  const dice = next() % 150;
  if (dice === 0) await fork(log);
  else if (dice === 1) {
    const { sha256, bytes } = await store.blobs.put(thread, Buffer.from(textOf(log.head, next() % 200_000)));
    say(`b ${sha256} ${bytes}`);
  } else if (dice === 2) await log.derive({ metadata: { id: thread, head: log.head } as never, state: { head: log.head }, diffs: [] });
  else if (dice === 3) {
    await log.close();
    log = await open();
  } else if (dice < 8) {
    const seq = log.head - 1;
    await log.durable(seq);
    say(`d ${seq}`);
  } else append(log);
}
