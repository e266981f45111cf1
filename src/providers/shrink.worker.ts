/** One image in a thread of its own: decoding takes seconds at worst, and what it leaves behind goes with the thread. */
import { parentPort, workerData } from "node:worker_threads";
import { shrunk, type Bounds } from "./shrinking.ts";

const { content, bounds } = workerData as { content: Uint8Array; bounds: Bounds };
parentPort!.postMessage(shrunk(content, bounds));
