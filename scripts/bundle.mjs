// How TypeScript becomes what Node runs: one flat folder of ES modules.
//
// Dynamic imports become chunks that are loaded only when reached. Entry points, chunks and workers lie side by side, so
// `new URL("./NAME.worker.js", import.meta.url)` finds src/**/NAME.worker.ts from any of them. npm packages are bundled,
// save those that carry native binaries or WebAssembly beside their code, which Node must find in node_modules.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const NATIVE_PACKAGES = ["@lydell/node-pty", "@photostructure/sqlite", "@silvia-odwyer/photon-node", "@vscode/ripgrep", "fs-native-extensions"];

const REQUIRE_FOR_COMMONJS = 'import { createRequire as createRequireForBundle } from "node:module"; const require = createRequireForBundle(import.meta.url);';

/** @typedef {Record<string, string>} Entries output name, without extension → source file */

/**
 * Bundles in memory; what to do with the files is the caller's business.
 * @param {{ root: string, entries: Entries, outdir: string }} options
 */
export async function bundle({ root, entries, outdir }) {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir,
    write: false,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    sourcemap: "linked",
    chunkNames: "[name]-[hash]",
    external: NATIVE_PACKAGES,
    define: definitions(root),
    banner: { js: REQUIRE_FOR_COMMONJS },
    logLevel: "warning",
  });
  return outputFiles;
}

/** The names that the bundler replaces by values. @param {string} root @returns {Record<string, string>} */
export function definitions(root) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return { __SKEIN_VERSION__: JSON.stringify(version) };
}

/** src/main.ts is the command; src/NAME/entry.ts is the library `skein/NAME`. @param {string} root @returns {Entries} */
export function productEntries(root) {
  /** @type {Entries} */
  const entries = { main: join(root, "src", "main.ts") };
  for (const entry of libraryEntries(root)) entries[basename(dirname(entry))] = entry;
  return { ...entries, ...workerEntries(root) };
}

/** @param {string} root */
export function libraryEntries(root) {
  const folders = readdirSync(join(root, "src"));
  return folders.map((folder) => join(root, "src", folder, "entry.ts")).filter((entry) => existsSync(entry));
}

/** @param {string} root @returns {Entries} */
export function workerEntries(root) {
  /** @type {Entries} */
  const entries = {};
  for (const file of readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })) {
    if (!file.isFile() || !file.name.endsWith(".worker.ts")) continue;
    const name = basename(file.name, ".ts");
    const path = join(file.parentPath, file.name);
    if (entries[name] !== undefined) throw new Error(`Two workers are called ${file.name}: ${entries[name]} and ${path}. Rename one.`);
    entries[name] = path;
  }
  return entries;
}
