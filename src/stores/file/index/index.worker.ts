/** The indexer's thread: a pass for each order. Nobody waits for it, and it may be ended whenever it is not busy. */
import { parentPort, workerData } from "node:worker_threads";
import { homeAt } from "../layout.ts";
import { runPass, type PassEnd } from "./indexer.ts";
import { BUSY, STOP, type Order, type Report, type ThreadData } from "./messages.ts";
import { loadSqlite } from "./sqlite.ts";

const PROGRESS_EVERY_MS = 100;

const { home, flags: shared } = workerData as ThreadData;
const flags = new Int32Array(shared);
const stopped = (): boolean => Atomics.load(flags, STOP) !== 0;
const tell = (report: Report) => parentPort?.postMessage(report);

parentPort?.on("message", (order: Order) => void obey(order));

async function obey(order: Order): Promise<void> {
  const end = stopped() ? "stopped" : await pass(order).catch(() => "failed" as const);
  Atomics.store(flags, BUSY, 0);
  Atomics.notify(flags, BUSY);
  tell({ type: "ended", end });
}

async function pass(order: Order): Promise<PassEnd | "failed"> {
  const sqlite = await loadSqlite();
  if (!sqlite) return "failed";
  let told = 0;
  return runPass({
    ...order,
    home: homeAt(home),
    sqlite,
    stopped,
    onProgress(progress) {
      if (Date.now() - told < PROGRESS_EVERY_MS) return;
      told = Date.now();
      tell({ type: "progress", progress });
    },
  });
}
