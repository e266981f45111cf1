/**
 * npm run -s bench -- generate FOLDER [--bytes 50MB] [--sessions 50000] [--seed 1]
 *
 * Makes realistic sessions in a home at FOLDER and says how fast: one session with about so many bytes of log, or many small ones.
 * Deterministic: the same seed gives the same bytes. The mix of what is in them is documented in generate/mix.ts.
 */
import { parseArgs } from "node:util";
import { makeMany } from "./generate/many.ts";
import { makeSession } from "./generate/session.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { bytes: { type: "string" }, sessions: { type: "string" }, seed: { type: "string", default: "1" } },
});
const [home] = positionals;
if (home === undefined) throw new Error("Say where: npm run -s bench -- generate FOLDER [--bytes 50MB] [--sessions 50000] [--seed 1]");

const seed = Number(values.seed);
const started = performance.now();
const made = values.sessions === undefined ? makeSession({ home, seed, bytes: byteCount(values.bytes ?? "50MB") }) : makeMany({ home, seed, sessions: Number(values.sessions) });
const seconds = (performance.now() - started) / 1000;
process.stdout.write(`${JSON.stringify({ ...made, seconds, megabytesPerSecond: made.bytes / 1e6 / seconds }, null, 2)}\n`);

function byteCount(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(kB|MB|GB)?$/iu.exec(text);
  if (!match) throw new Error(`"${text}" is not a size; write 500kB, 50MB or 1GB`);
  return Number(match[1]) * { kb: 1e3, mb: 1e6, gb: 1e9, "": 1 }[(match[2] ?? "").toLowerCase() as "kb" | "mb" | "gb" | ""];
}
