// From vitest's JSON report to the counts that `npm test` ends with.
//
// Nothing that went wrong may be missing from the count: a file that could not be loaded, and a run that failed outside
// of any test, are each one failure. Where nothing may be skipped, a skipped test is a failure too.

import { relative } from "node:path";
import { suiteOf } from "./suites.mjs";

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {{ fullName: string, status: string }} TestReport */
/** @typedef {{ name: string, status: string, assertionResults: TestReport[] }} FileReport */
/** @typedef {{ testResults: FileReport[] }} Report */

/**
 * @param {{ report: Report | undefined, exitCode: number, root: string, noSkips: boolean }} run
 * @returns {{ total: Counts, suites: Map<string, Counts>, skippedTests: string[] }}
 */
export function tally({ report, exitCode, root, noSkips }) {
  /** @type {Map<string, Counts>} */
  const suites = new Map();
  const skippedTests = [];
  for (const file of report?.testResults ?? []) {
    const path = relative(root, file.name);
    const counts = suites.get(suiteOf(path)) ?? { passed: 0, failed: 0, skipped: 0 };
    suites.set(suiteOf(path), counts);
    for (const { fullName, status } of file.assertionResults) {
      const outcome = status === "passed" || status === "failed" ? status : "skipped";
      if (outcome === "skipped") skippedTests.push(`${path}: ${fullName}`);
      counts[outcome === "skipped" && noSkips ? "failed" : outcome] += 1;
    }
    if (file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed")) counts.failed += 1;
  }
  const total = sum([...suites.values()]);
  if (exitCode !== 0 && total.failed === 0) total.failed = 1;
  return { total, suites, skippedTests };
}

/** @param {Counts[]} all @returns {Counts} */
export function sum(all) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of all) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

/** @param {Counts} counts */
export function describeCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
