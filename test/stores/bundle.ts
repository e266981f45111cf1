/** Programs of the tests that run in processes of their own: bundled once, where their packages are found. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const REPOSITORY = join(import.meta.dirname, "../..");

/** The path of the program made of `entry`, a path relative to the repository. */
export async function bundled(entry: string): Promise<string> {
  const folder = join(REPOSITORY, "node_modules/.cache/skein-test");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${entry.replaceAll("/", "-")}-${process.pid}.mjs`);
  await build({ entryPoints: [join(REPOSITORY, entry)], outfile, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "error" });
  return outfile;
}
