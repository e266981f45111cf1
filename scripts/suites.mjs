// The suites of test/. Those of a later `order` run after those of an earlier one, so that those which kill, time or fill
// up things do not disturb the others. A test file belongs to the suite named like its folder under test/; every other
// folder is "unit".

const FOLDERS = ["tools", "e2e", "crash", "tooling"];

/** @type {{ name: string, order: number, include: string[], exclude: string[] }[]} */
export const SUITES = [
  { name: "unit", order: 0, include: ["test/**/*.test.ts"], exclude: FOLDERS.map((folder) => `test/${folder}/**`) },
  ...FOLDERS.map((folder, index) => ({ name: folder, order: Math.min(index + 1, 3), include: [`test/${folder}/**/*.test.ts`], exclude: [] })),
];

/** Files that take long, the longest first: started last, one would keep the others waiting. */
export const LONGEST = [
  "test/crash/exec-kills.test.ts",
  "test/stores/machine.test.ts",
  "test/e2e/compaction.test.ts",
  "test/e2e/compaction-command.test.ts",
  "test/tools/sandbox/escape.test.ts",
  "test/stores/faults.test.ts",
  "test/crash/kill.test.ts",
  "test/tools/mcp/hostile.test.ts",
  "test/tooling/check.test.ts",
  "test/stores/index/worker.test.ts",
  "test/e2e/resume.test.ts",
  "test/e2e/stop.test.ts",
  "test/e2e/failures.test.ts",
  "test/stores/corruption.test.ts",
  "test/e2e/approvals.test.ts",
  "test/tooling/bootstrap.test.ts",
  "test/tools/interrupt.test.ts",
  "test/e2e/tools.test.ts",
  "test/e2e/exec.test.ts",
  "test/e2e/prefix.test.ts",
];

/** @param {string} path relative to the repository */
export function suiteOf(path) {
  const folder = path.split("/")[1] ?? "";
  return FOLDERS.includes(folder) ? folder : "unit";
}
