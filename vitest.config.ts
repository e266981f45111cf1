import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { definitions } from "./scripts/bundle.mjs";
import { SUITES } from "./scripts/suites.mjs";

export default defineConfig({
  define: definitions(import.meta.dirname),
  test: {
    maxWorkers: Math.max(2, availableParallelism()),
    maxConcurrency: availableParallelism(),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: SUITES.map(({ name, include, exclude }, groupOrder) => ({
      extends: true,
      test: { name, include, exclude, sequence: { groupOrder } },
    })),
  },
});
