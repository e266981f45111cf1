/** Probe: asks a model server on this machine what it has. Never fails: whoever does not answer properly and in time has nothing. */
import { get } from "node:http";
import { isLoopback } from "./choose.ts";

const PATIENCE_MS = 150;
const LARGEST = 1_000_000;

export function probeModels(url: string, patienceMs = PATIENCE_MS): Promise<readonly string[]> {
  if (!isLoopback(url) || !url.startsWith("http:")) return Promise.resolve([]);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const request = get(url, { agent: false, headers: { accept: "application/json" } }, (response) => {
      if (response.statusCode !== 200) return finish([]);
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > LARGEST) finish([]);
      });
      response.on("end", () => finish(modelsIn(Buffer.concat(chunks).toString("utf8"))));
      response.on("error", () => finish([]));
    });
    const timer = setTimeout(() => finish([]), patienceMs);
    request.on("error", () => finish([]));
    function finish(models: readonly string[]): void {
      clearTimeout(timer);
      request.destroy();
      resolve(models);
    }
  });
}

function modelsIn(text: string): string[] {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    if (!Array.isArray(data)) return [];
    return data.map((each: unknown) => (each as { id?: unknown } | null)?.id).filter((id): id is string => typeof id === "string" && id !== "");
  } catch {
    return [];
  }
}
