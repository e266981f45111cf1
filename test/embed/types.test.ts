/** A TypeScript program against the declarations of the package, with the compiler as strict as it gets. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { libraryEntries } from "../../scripts/bundle.mjs";
import { writeTypes } from "../../scripts/types.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const [tool, program] = [...readFileSync(join(ROOT, "docs", "tools.md"), "utf8").matchAll(/```ts\n([^]*?)```/gu)].map(([, source]) => source!) as [string, string];
const folder = mkdtempSync(join(tmpdir(), "skein-typed-"));

beforeAll(() => {
  const packed = join(folder, "node_modules", "skein");
  mkdirSync(packed, { recursive: true });
  copyFileSync(join(ROOT, "package.json"), join(packed, "package.json"));
  writeTypes({ root: ROOT, entries: libraryEntries(ROOT), outdir: join(packed, "dist", "types") });
  for (const name of ["zod", "@types"]) symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

const WRONG = `
import { tool } from "skein/embed";
import { z } from "zod";
// @ts-expect-error: the schema has no such argument.
export const a = tool({ name: "a", description: "", effect: "read", parameters: z.object({ city: z.string() }), run: async ({ town }) => town });
// @ts-expect-error: there is no such effect.
export const b = tool({ name: "b", description: "", effect: "none", parameters: z.object({}), run: async () => "" });
`;

it("the program of docs/tools.md has types, of the package and of its tool's arguments", { timeout: 120_000 }, () => {
  const files = { "weather.ts": tool, "main.ts": program, "wrong.ts": WRONG };
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source);
  const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2023", "--types", "node"];
  const { stdout } = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), ...strict, ...Object.keys(files)], { cwd: folder, encoding: "utf8" });
  expect(stdout).toBe("");
});
