// npm test [-- --no-skips] [-- FILTER...]: bootstrap, what the machine must have, the checks, then every suite.
//
// The last line is the count of everything, checks and tests together. With FILTERs only the test files whose path
// contains one of them run, and the checks are left out. --no-skips, SKEIN_NO_SKIPS=1 or CI=true make a skipped test or
// an unmet need of the machine a failure.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bootstrap } from "./bootstrap.mjs";
import { STEP_NAMES, describeResult, runChecks } from "./checks.mjs";
import { REPOSITORY } from "./root-argument.mjs";
import { say } from "./say.mjs";
import { SUITES } from "./suites.mjs";
import { SYSTEM_NEEDS, isRootOnDebian, meetSystemNeeds } from "./system-needs.mjs";
import { describeCounts, sum, tally } from "./tally.mjs";

/** @typedef {import("./tally.mjs").Counts} Counts */

const { values, positionals: filters } = parseArgs({ allowPositionals: true, options: { "no-skips": { type: "boolean" } } });
const noSkips = values["no-skips"] === true || process.env.SKEIN_NO_SKIPS === "1" || process.env.CI === "true";

const ready = await bootstrap(REPOSITORY);
if (!ready.ok) say(ready.message);
const total = ready.ok ? await everything() : { passed: 0, failed: 1, skipped: 0 };
print(describeCounts(total));
process.exitCode = total.failed > 0 ? 1 : 0;

async function everything() {
  const unmet = meetSystemNeeds(SYSTEM_NEEDS, { mayInstall: isRootOnDebian(), say });
  const needs = { passed: 0, failed: noSkips ? unmet.length : 0, skipped: 0 };
  const checked = filters.length === 0 ? await checks() : [];
  return sum([needs, ...checked, tests(unmet.flatMap(({ suites }) => suites))]);
}

/** @returns {Promise<Counts[]>} */
async function checks() {
  heading("check");
  const results = await runChecks({ root: REPOSITORY, names: STEP_NAMES, onResult: (result) => print(describeResult(result).trimEnd()) });
  return results.map(({ ok }) => ({ passed: Number(ok), failed: Number(!ok), skipped: 0 }));
}

/** @param {string[]} withoutSuites @returns {Counts} */
function tests(withoutSuites) {
  heading(`tests: ${SUITES.map(({ name }) => name).join(", ")}`);
  const scratch = mkdtempSync(join(tmpdir(), "skein-test-"));
  const reportFile = join(scratch, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const left = withoutSuites.map((suite) => `--project=!${suite}`);
  const vitest = join(REPOSITORY, "node_modules", "vitest", "vitest.mjs");
  const { status } = spawnSync(process.execPath, [vitest, "run", ...reporters, ...left, ...filters], {
    cwd: REPOSITORY,
    stdio: ["ignore", 1, 2],
    env: process.stdout.isTTY ? process.env : { ...process.env, NO_COLOR: "1" },
  });
  const result = tally({ report: readReport(reportFile), exitCode: status ?? 1, root: REPOSITORY, noSkips });
  rmSync(scratch, { recursive: true });
  heading("result");
  for (const [suite, counts] of result.suites) print(`${suite}: ${describeCounts(counts)}`);
  for (const test of result.skippedTests) print(`skipped${noSkips ? ", which is a failure here" : ""}: ${test}`);
  return result.total;
}

/** @param {string} file @returns {import("./tally.mjs").Report | undefined} */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    say("vitest left no report, so it did not run to its end");
    return undefined;
  }
}

/** @param {string} title */
function heading(title) {
  print(`\n━━ ${title}`);
}

/** @param {string} line */
function print(line) {
  process.stdout.write(`${line}\n`);
}
