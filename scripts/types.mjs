// Declarations of what package.json exports, for programs in TypeScript: dist/types/NAME/entry.d.ts and what these import, nothing else.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

/** Throws with what the compiler said. @param {{ root: string, entries: string[], outdir: string }} given */
export function writeTypes({ root, entries, outdir }) {
  const folder = mkdtempSync(join(tmpdir(), "skein-types-"));
  try {
    const project = join(folder, "tsconfig.json");
    writeFileSync(project, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions: options(root, outdir), include: [], files: entries }));
    const { status, stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", project], { encoding: "utf8" });
    if (status !== 0) throw new Error(stdout);
    keepReachable(outdir, entries.map((entry) => join(outdir, relative(join(root, "src"), entry))));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} root @param {string} outdir */
function options(root, outdir) {
  return { noEmit: false, noCheck: true, allowJs: false, checkJs: false, declaration: true, emitDeclarationOnly: true, rootDir: join(root, "src"), outDir: outdir, typeRoots: [join(root, "node_modules/@types")] };
}

/** @param {string} outdir @param {string[]} entries */
function keepReachable(outdir, entries) {
  const reached = new Set(entries.map(declaration));
  for (const file of reached) {
    for (const [, to] of readFileSync(file, "utf8").matchAll(/from "(\..*?)"/gu)) reached.add(declaration(resolve(dirname(file), /** @type {string} */ (to))));
  }
  for (const entry of readdirSync(outdir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && !reached.has(file)) rmSync(file);
  }
}

/** @param {string} source */
function declaration(source) {
  return source.replace(/\.ts$/u, ".d.ts");
}
