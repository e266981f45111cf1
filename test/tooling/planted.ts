// Small trees to try the tooling on: the repository's own scripts and configuration around a few planted sources.

import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";

export const REPOSITORY = dirname(dirname(import.meta.dirname));

export type Files = Record<string, string>;

const scratch = mkdtempSync(join(realpathSync(tmpdir()), "skein-tooling-"));
afterAll(() => rmSync(scratch, { recursive: true }));

/** A new folder, removed when the tests of the file have ended. */
export function scratchFolder(): string {
  return mkdtempSync(join(scratch, "tree-"));
}

/** Copies `parts` of the repository, shares its node_modules and writes `files` over the result. */
export function plant({ parts, files }: { parts: readonly string[]; files: Files }): string {
  const root = scratchFolder();
  for (const part of parts) cpSync(join(REPOSITORY, part), join(root, part), { recursive: true });
  symlinkSync(join(REPOSITORY, "node_modules"), join(root, "node_modules"));
  write(root, files);
  return root;
}

export function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

export type Ended = { code: number | null; stdout: string; stderr: string };

/** Runs Node to its end, without the variables that change what the tooling does. */
export function node(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const { CI: _ci, SKEIN_NO_SKIPS: _noSkips, ...inherited } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env: { ...inherited, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    const ended: Ended = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (ended.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (ended.stderr += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...ended, code }));
  });
}
