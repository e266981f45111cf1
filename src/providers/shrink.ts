/** Images that are too large for a wire are made smaller in a thread of their own. Nothing of it is loaded before the first. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bounds, Picture } from "./shrinking.ts";

const SCRIPT = new URL("./shrink.worker.js", import.meta.url);

/** Null when the image cannot be read, or the signal aborts. */
export async function shrink(content: Uint8Array, { bounds, signal }: { bounds: Bounds; signal: AbortSignal }): Promise<Picture | null> {
  if (signal.aborted) return null;
  // Where the sources themselves run there is no script for a thread.
  if (!existsSync(fileURLToPath(SCRIPT))) return (await import("./shrinking.ts")).shrunk(content, bounds);
  const { Worker } = await import("node:worker_threads");
  return new Promise((resolve) => {
    const worker = new Worker(SCRIPT, { workerData: { content, bounds }, name: "skein image" });
    const stop = () => void worker.terminate();
    signal.addEventListener("abort", stop, { once: true });
    worker.once("message", resolve);
    worker.once("error", () => resolve(null));
    worker.once("exit", () => {
      signal.removeEventListener("abort", stop);
      resolve(null);
    });
  });
}
