/** Programs of the tests that run in processes of their own: bundled once, where their packages are found. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll } from "vitest";

const REPOSITORY = join(import.meta.dirname, "../..");

const made: string[] = [];
afterAll(() => {
  for (const path of made.splice(0)) rmSync(path, { force: true });
});

/** The path of the program made of `entry`, a path relative to the repository. */
export async function bundled(entry: string): Promise<string> {
  const folder = join(REPOSITORY, "node_modules/.cache/skein-test");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${entry.replaceAll("/", "-")}-${process.pid}.mjs`);
  made.push(outfile);
  await build({ entryPoints: [join(REPOSITORY, entry)], outfile, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "error" });
  return outfile;
}
