// npm run build [-- --release]: src/ → dist/, unless dist/ is fresh.
//
// dist/ is complete at every moment. Chunks carry the hash of their content and are put in place before the entry points
// that import them, each by a rename; the stamp comes last. Chunks of an earlier build stay for a day, because a process
// that started from it may still import them. --release starts from an empty dist/, adds the declarations for TypeScript and
// insists on every exported file.

import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./bootstrap.mjs";
import { bundle, libraryEntries, productEntries } from "./bundle.mjs";
import { isBuiltFrom, listSources, recordBuiltFrom } from "./freshness.mjs";
import { withCheckoutLock } from "./make-ready.mjs";
import { say } from "./say.mjs";
import { writeTypes } from "./types.mjs";

const KEEP_OLD_CHUNKS_MS = 24 * 60 * 60 * 1000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const release = process.argv.includes("--release");

const installed = await ensureInstalled(root);
if (installed.ok) {
  await withCheckoutLock(root, async () => {
    if (release) rmSync(dist, { recursive: true, force: true });
    const sources = listSources(root);
    if (isBuiltFrom(root, sources)) return;
    await build(sources);
    if (release) {
      writeTypes({ root, entries: libraryEntries(root), outdir: join(dist, "types") });
      insistOnExports();
    }
  });
} else {
  say(installed.message);
  process.exitCode = 1;
}

/** @param {string} sources */
async function build(sources) {
  say("building dist/, because the sources changed");
  const entries = productEntries(root);
  const files = await bundle({ root, entries, outdir: dist }).catch((error) => {
    if (!Array.isArray(error?.errors)) throw error;
    process.exitCode = 1;
    return undefined;
  });
  if (files === undefined) return;
  mkdirSync(dist, { recursive: true });
  const entryFiles = new Set(Object.keys(entries).map((name) => join(dist, `${name}.js`)));
  const chunksFirst = files.toSorted((a, b) => Number(entryFiles.has(a.path)) - Number(entryFiles.has(b.path)));
  for (const { path, contents } of chunksFirst) {
    const unfinished = join(dist, `.unfinished-${basename(path)}`);
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  recordBuiltFrom(root, sources);
  removeOldFiles(new Set([...files.map(({ path }) => basename(path)), ".sources"]));
}

/** @param {Set<string>} current */
function removeOldFiles(current) {
  for (const name of readdirSync(dist)) {
    const path = join(dist, name);
    if (!current.has(name) && Date.now() - statSync(path).mtimeMs > KEEP_OLD_CHUNKS_MS) rmSync(path, { recursive: true, maxRetries: 3 });
  }
}

function insistOnExports() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const [name, target] of Object.entries(exports)) {
    for (const file of typeof target === "string" ? [target] : Object.values(target)) {
      if (existsSync(join(root, file))) continue;
      say(`package.json exports "${name}" as ${file}, which the build did not make. Add its entry.ts or take the export out.`);
      process.exitCode = 1;
    }
  }
}
