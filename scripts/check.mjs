// npm run check [-- STEP...] [-- --root DIR]: types, unused, lint, layers, cycles; all of them unless some are named.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ensureInstalled } from "./bootstrap.mjs";
import { STEP_NAMES, describeResult, runChecks } from "./checks.mjs";
import { REPOSITORY } from "./root-argument.mjs";
import { say } from "./say.mjs";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { root: { type: "string" } } });
const root = resolve(values.root ?? REPOSITORY);
const unknown = positionals.filter((name) => !STEP_NAMES.includes(name));

if (unknown.length > 0) {
  say(`no check is called ${unknown.join(", ")}; there are: ${STEP_NAMES.join(", ")}`);
  process.exitCode = 2;
} else {
  const ready = await ensureInstalled(REPOSITORY);
  if (ready.ok) await check();
  else {
    say(ready.message);
    process.exitCode = 1;
  }
}

async function check() {
  const names = positionals.length > 0 ? positionals : STEP_NAMES;
  const results = await runChecks({ root, names, onResult: (result) => process.stdout.write(describeResult(result)) });
  const failed = results.filter(({ ok }) => !ok).map(({ name }) => name);
  const summary = failed.length > 0 ? `, ${failed.length} failed (${failed.join(", ")})` : "";
  process.stdout.write(`check: ${results.length - failed.length} passed${summary}\n`);
  if (failed.length > 0) process.exitCode = 1;
}
