/**
 * Bounds: what may be written by tools that run in our process. In workspace-write that is what a sandboxed command may write: the
 * working folder, the configured roots and the private /tmp, but neither the protected names at the top of a root (nor what they lead to)
 * nor Skein's home. In read-only it is nothing; with full access, everything.
 */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { PROTECTED_NAMES } from "../sandbox/protected.ts";
import { scratch } from "../scratch.ts";
import type { FileToolOptions, Within } from "./options.ts";
import { isFolder, isWithin, realOrSame } from "./real.ts";

export interface Bounds {
  /** Why this real path may not be written, as the rest of a sentence that begins with it; null: it may. */
  forbids(real: string): string | null;
  /** The folder above it that nothing in the sandbox can move. */
  anchor(real: string): string;
}

export function createBounds({ home, platform, sandbox }: FileToolOptions, { cwd, sandbox: mode }: Within): Bounds {
  if (mode === "danger-full-access") return { forbids: () => null, anchor: () => "/" };
  if (mode === "read-only") return { forbids: () => "cannot be written: the sandbox is read-only", anchor: () => "/" };
  const realHome = realOrSame(home);
  const roots = [cwd, ...sandbox.writableRoots].filter(isFolder).map(realOrSame).filter((root) => isSafe(root, realHome));
  const tmp = realOrSame(platform === "linux" || platform === "darwin" ? scratch().tmp : cwd);
  const kept = roots.flatMap((root) => PROTECTED_NAMES.flatMap((name) => [join(root, name), ...leadsTo(join(root, name))])).map(plain);
  const all = [...roots, tmp].toSorted((a, b) => a.length - b.length);
  return {
    forbids(real) {
      if (isWithin(plain(real), plain(realHome))) return "belongs to Skein itself";
      if (!all.some((root) => real !== root && isWithin(real, root))) return "lies outside of the folders that may be written";
      const path = plain(real);
      return kept.some((place) => isWithin(path, place)) ? `is protected (${PROTECTED_NAMES.join(", ")})` : null;
    },
    anchor: (real) => all.find((root) => isWithin(real, root)) ?? "/",
  };
}

/** Some file systems do not tell upper from lower case. */
function plain(path: string): string {
  return path.toLowerCase();
}

function isSafe(root: string, home: string): boolean {
  return root !== "/" && !["/proc", "/sys", "/dev"].some((place) => isWithin(root, place)) && !isWithin(root, home);
}

/** Where a link ends, and where a `.git` file says that the repository is. */
function leadsTo(path: string): string[] {
  const real = realOrSame(path);
  try {
    const pointer = /^gitdir: (.+)$/mu.exec(readFileSync(real, "utf8").slice(0, 4096))?.[1];
    return pointer === undefined ? [real] : [real, realOrSame(resolve(dirname(path), pointer.trim()))];
  } catch {
    return [real];
  }
}
