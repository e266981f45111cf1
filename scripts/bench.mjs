// npm run -s bench -- NAME [ARGUMENT...]: runs bench/NAME.ts, which prints JSON on stdout; without a name, lists them.
//
// The measured code is bundled like the product, workers beside it. It goes under node_modules/, where native packages
// are found, and is removed afterwards.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bootstrap } from "./bootstrap.mjs";
import { bundle, workerEntries } from "./bundle.mjs";
import { REPOSITORY } from "./root-argument.mjs";
import { say } from "./say.mjs";

const folder = join(REPOSITORY, "bench");
const [name, ...args] = process.argv.slice(2);

if (name === undefined) {
  for (const known of names()) process.stdout.write(`${known}\n`);
} else if (names().includes(name)) {
  const ready = await bootstrap(REPOSITORY);
  if (!ready.ok) say(ready.message);
  process.exitCode = ready.ok ? await run(name) : 1;
} else {
  say(`there is no bench/${name}.ts; there are: ${names().join(", ") || "none yet"}`);
  process.exitCode = 2;
}

/** @param {string} bench */
async function run(bench) {
  const outdir = join(REPOSITORY, "node_modules", ".cache", "skein-bench", `${bench}-${process.pid}`);
  mkdirSync(outdir, { recursive: true });
  try {
    const entries = { [bench]: join(folder, `${bench}.ts`), ...workerEntries(REPOSITORY) };
    for (const { path, contents } of await bundle({ root: REPOSITORY, entries, outdir })) writeFileSync(path, contents);
    const { status } = spawnSync(process.execPath, ["--expose-gc", join(outdir, `${bench}.js`), ...args], { stdio: "inherit" });
    return status ?? 1;
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

function names() {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .toSorted();
}
