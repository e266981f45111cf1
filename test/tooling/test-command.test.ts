// `npm test` ends with one line that counts everything, and fails when it should.

import { chmodSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type SystemNeed, meetSystemNeeds } from "../../scripts/system-needs.mjs";
import { type Report, describeCounts, tally } from "../../scripts/tally.mjs";
import { node, plant, scratchFolder, write } from "./planted.ts";

describe.concurrent("npm test", { timeout: 120_000 }, () => {
  const TESTS = {
    "src/main.ts": "export const main = (): number => 0;\n",
    "test/core/passes.test.ts": 'import { it } from "vitest";\nit("passes", () => {});\n',
    "test/core/skips.test.ts": 'import { it } from "vitest";\nit.skip("is skipped", () => {});\n',
    "test/e2e/fails.test.ts": 'import { it } from "vitest";\nit("fails", () => { throw new Error("as planned"); });\n',
    "test/crash/broken.test.ts": 'import "./missing.ts";\n',
  };

  async function npmTest(...args: string[]) {
    const root = plant({ parts: ["scripts", "vitest.config.ts", "package.json", "package-lock.json"], files: TESTS });
    const { code, stdout } = await node([join(root, "scripts", "test.mjs"), ...args]);
    const afterHeading = stdout.slice(stdout.lastIndexOf("━━ result")).trimEnd().split("\n").slice(1);
    return { code, result: afterHeading };
  }

  it("counts by suite and altogether", async () => {
    expect(await npmTest("passes", "skips")).toEqual({
      code: 0,
      result: ["unit: 1 passed, 0 failed, 1 skipped", "skipped: test/core/skips.test.ts: is skipped", "1 passed, 0 failed, 1 skipped"],
    });
  });

  it("fails on a skipped test where nothing may be skipped", async () => {
    expect(await npmTest("--no-skips", "passes", "skips")).toEqual({
      code: 1,
      result: ["unit: 1 passed, 1 failed", "skipped, which is a failure here: test/core/skips.test.ts: is skipped", "1 passed, 1 failed"],
    });
  });

  it("fails on a failing test and on a file that cannot be loaded", async () => {
    const { code, result } = await npmTest("passes", "fails", "broken");
    expect({ code, result: result.toSorted() }).toEqual({
      code: 1,
      result: ["1 passed, 2 failed", "crash: 0 passed, 1 failed", "e2e: 0 passed, 1 failed", "unit: 1 passed, 0 failed"],
    });
  });
});

describe("the count", () => {
  const report: Report = { testResults: [{ name: "/r/test/core/a.test.ts", status: "passed", assertionResults: [{ fullName: "a", status: "passed" }] }] };

  it("has a failure when the run failed outside of any test", () => {
    expect(tally({ report, exitCode: 1, root: "/r", noSkips: false }).total).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it("has a failure when there is no report", () => {
    expect(tally({ report: undefined, exitCode: 1, root: "/r", noSkips: false }).total).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it("mentions skipped tests only if there are any", () => {
    expect([describeCounts({ passed: 3, failed: 0, skipped: 0 }), describeCounts({ passed: 3, failed: 1, skipped: 2 })]).toEqual([
      "3 passed, 0 failed",
      "3 passed, 1 failed, 2 skipped",
    ]);
  });
});

describe("what the machine must have", () => {
  const NEED: SystemNeed = { program: "skein-test-program", debianPackage: "skein-test-package", suites: ["sandbox"] };

  afterEach(() => vi.unstubAllEnvs());

  function machine(aptGet: string) {
    const tools = scratchFolder();
    write(tools, { "apt-get": `#!/bin/sh\n${aptGet}\n` });
    chmodSync(join(tools, "apt-get"), 0o755);
    vi.stubEnv("PATH", `${tools}${delimiter}${process.env.PATH}`);
    const said: string[] = [];
    return { tools, said, meet: (needs: SystemNeed[], mayInstall: boolean) => meetSystemNeeds(needs, { mayInstall, say: (line) => said.push(line) }) };
  }

  it("is not mentioned when it is there", () => {
    const { said, meet } = machine("exit 1");
    expect({ unmet: meet([{ ...NEED, program: "sh" }], true), said }).toEqual({ unmet: [], said: [] });
  });

  it("is installed where that is allowed", () => {
    const { said, meet } = machine('[ "$2" = update ] || { printf "" > "${0%/*}/skein-test-program"; chmod +x "${0%/*}/skein-test-program"; }');
    expect({ unmet: meet([NEED], true), said }).toEqual({ unmet: [], said: ["installing what the tests need from Debian: skein-test-package"] });
  });

  it("is otherwise named with the suites that do not run and the command that installs it", () => {
    const { said, meet } = machine("exit 1");
    expect({ unmet: meet([NEED], false), said }).toEqual({
      unmet: [NEED],
      said: [
        "NOT RUN: sandbox, because skein-test-program is not on this machine",
        "to run everything: sudo apt-get install skein-test-package (or your system's equivalent), then npm test",
      ],
    });
  });
});
