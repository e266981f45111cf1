/** The indexer's thread and a process that uses it, built as the product is. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle, workerEntries } from "../../../scripts/bundle.mjs";

const root = join(import.meta.dirname, "..", "..", "..");

export interface Built {
  worker: URL;
  start(...args: string[]): ChildProcess;
  /** The lines that it printed, when it has ended. */
  run(...args: string[]): Promise<{ lines: unknown[]; code: number | null }>;
  remove(): void;
}

export async function build(): Promise<Built> {
  const outdir = join(root, "node_modules", ".cache", `skein-index-test-${process.pid}`);
  const entries = { "index.worker": workerEntries(root)["index.worker"]!, driver: fileURLToPath(new URL("./driver.ts", import.meta.url)) };
  for (const { path, contents } of await bundle({ root, entries, outdir })) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
  const start = (...args: string[]) => spawn(process.execPath, [join(outdir, "driver.js"), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  return {
    worker: pathToFileURL(join(outdir, "index.worker.js")),
    start,
    run: (...args) => ended(start(...args)),
    remove: () => rmSync(outdir, { recursive: true, force: true }),
  };
}

export async function ended(child: ChildProcess): Promise<{ lines: unknown[]; code: number | null }> {
  let printed = "";
  child.stdout!.on("data", (data) => (printed += String(data)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { lines: printed.split("\n").filter(Boolean).map((line) => JSON.parse(line) as unknown), code };
}
