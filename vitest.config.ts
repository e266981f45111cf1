import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { definitions } from "./scripts/bundle.mjs";
import { LONGEST, SUITES } from "./scripts/suites.mjs";

class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => LONGEST.indexOf(relative(import.meta.dirname, moduleId));
    const long = files.filter((file) => place(file) >= 0).toSorted((a, b) => place(a) - place(b));
    return Promise.resolve([...long, ...files.filter((file) => place(file) < 0)]);
  }
}

export default defineConfig({
  define: definitions(import.meta.dirname),
  test: {
    maxWorkers: Math.max(2, availableParallelism()),
    maxConcurrency: availableParallelism(),
    // Many tests start a dozen processes: on a busy machine that takes several times as long.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
    projects: SUITES.map(({ name, include, exclude, order }) => ({
      extends: true,
      test: { name, include, exclude, sequence: { groupOrder: order } },
    })),
  },
});
