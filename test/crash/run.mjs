// npm run crash -- [--kills N] [--seed N] [--parallel N]: kills a real writer N times (2,000 unless told) and prints what it found as JSON.
// Ends with 1 when anything was lost, unresumable or doubled, or when no kill hit in mid-write.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({ options: { kills: { type: "string" }, seed: { type: "string" }, parallel: { type: "string" } } });
const folder = join(import.meta.dirname, "../../node_modules/.cache/skein-test");
const home = mkdtempSync(join(tmpdir(), "skein-kill-"));

/** @param {string} name */
async function bundled(name) {
  const outfile = join(folder, `crash-${name.replaceAll("/", "-")}-${process.pid}.mjs`);
  await build({ entryPoints: [join(import.meta.dirname, `${name}.ts`)], outfile, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "error" });
  return outfile;
}

mkdirSync(folder, { recursive: true });
const [program, kills] = await Promise.all([bundled("programs/writer"), bundled("kills")]);
try {
  /** @type {typeof import("./kills.ts")} */
  const { killWriters } = await import(pathToFileURL(kills).href);
  const result = await killWriters({ program, home, kills: Number(values.kills ?? 2000), seed: Number(values.seed ?? Date.now() % 1e6), parallel: Number(values.parallel ?? 2) });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  process.exitCode = result.failures.length > 0 ? 1 : 0;
} finally {
  for (const path of [home, program, kills]) rmSync(path, { recursive: true, force: true });
}
