import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { definitions } from "./scripts/bundle.mjs";
import { SUITES } from "./scripts/suites.mjs";

export default defineConfig({
  define: definitions(import.meta.dirname),
  test: {
    // Most tests wait for other processes now and then.
    maxWorkers: availableParallelism() + 1,
    maxConcurrency: availableParallelism(),
    // Many tests start a dozen processes: on a busy machine that takes several times as long.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: SUITES.map(({ name, include, exclude }, groupOrder) => ({
      extends: true,
      test: { name, include, exclude, sequence: { groupOrder } },
    })),
  },
});
