/** The indexer's thread: a pass for each order. Nobody waits for it, and it may be ended at any moment. */
import { parentPort, workerData } from "node:worker_threads";
import { homeAt } from "../layout.ts";
import { runPass } from "./indexer.ts";
import type { Order, Report, ThreadData } from "./messages.ts";
import { loadSqlite } from "./sqlite.ts";

const PROGRESS_EVERY_MS = 100;

const { home, stop } = workerData as ThreadData;
const flag = new Int32Array(stop);
const tell = (report: Report) => parentPort?.postMessage(report);

parentPort?.on("message", (order: Order) => void obey(order));

async function obey(order: Order): Promise<void> {
  const sqlite = await loadSqlite();
  if (!sqlite) return tell({ type: "ended", end: "failed" });
  let told = 0;
  try {
    const end = runPass({
      ...order,
      home: homeAt(home),
      sqlite,
      stopped: () => Atomics.load(flag, 0) !== 0,
      onProgress(progress) {
        if (Date.now() - told < PROGRESS_EVERY_MS) return;
        told = Date.now();
        tell({ type: "progress", progress });
      },
    });
    tell({ type: "ended", end });
  } catch {
    tell({ type: "ended", end: "failed" });
  }
}
