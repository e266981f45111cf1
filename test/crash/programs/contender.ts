/**
 * HOME THREAD MILLISECONDS: tries to become the writer of a thread, again and again, until the time is over. Whoever gets it records
 * that it did (with the next epoch and its pid), writes a few records with both, and lets go.
 */
import { setTimeout as wait } from "node:timers/promises";
import { openFileStore } from "../../../src/stores/file/store.ts";

const [home = "", thread = "", milliseconds = "0"] = process.argv.slice(2);
const store = openFileStore({ home, host: "crash", pid: process.pid, now: () => new Date().toISOString() });
const end = Date.now() + Number(milliseconds);
let held = 0;
let refused = 0;

while (Date.now() < end) {
  const opened = await store.open(thread);
  if (!opened.ok) {
    if (opened.why !== "busy") throw new Error(opened.message);
    refused += 1;
    await wait(1 + (process.pid % 5));
    continue;
  }
  const { log } = opened;
  const epoch = log.head;
  log.append([{ type: "writer.opened", epoch, pid: process.pid, host: "crash" }]);
  for (let step = 0; step < 3; step++) {
    log.append([{ type: "held", epoch, pid: process.pid, step }]);
    await (step === 1 ? log.durable(log.head - 1) : wait(0));
  }
  log.append([{ type: "writer.closed", epoch, pid: process.pid }]);
  await log.close();
  held += 1;
}
process.stdout.write(JSON.stringify({ held, refused }));
