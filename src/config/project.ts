/**
 * Project: the folder that Skein works in, and whether the user trusts it.
 *
 * - The root is the nearest folder upwards that holds `.git`; without one, the working folder itself. All paths are real paths.
 * - The nearest entry of `[projects]` from the working folder up to the root decides. An entry is the user's own word and always counts.
 * - Without an entry, exec trusts nothing; interactive use asks the caller's records, which are bound to the root and to the hash of its
 *   config, so that a config that has changed is asked about again.
 * - Until the root itself is trusted, nothing of it is read as configuration: its bytes are hashed and no more. Trust in a folder below
 *   the root is not trust in the root's config.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mode } from "./config.ts";
import { realOrSame } from "./home.ts";
import { readConfigFile, type FileRead } from "./read.ts";

export interface Project {
  root: string;
  /** `.skein/config.toml` of the root, whether or not it exists. */
  file: string;
  /** SHA-256 (hex) of that file, of nothing when there is none: what a trust record is bound to. Null where no record is asked for. */
  hash: string | null;
  trusted: boolean;
  /** Who says so; null: nobody has said anything yet. */
  by: "projects" | "record" | null;
}

type Level = "trusted" | "untrusted";

interface Given {
  cwd: string;
  home: string;
  mode: Mode;
  /** `[projects]` of the home's config, absolute paths. */
  listed: ReadonlyMap<string, Level>;
  recorded(root: string, hash: string): boolean;
}

/** `bytes` is the repository's config: null when there is none or when it may not be read. */
export type Found = { ok: true; project: Project; bytes: Uint8Array | null } | { ok: false; message: string };

export async function findProject(given: Given): Promise<Found> {
  const chain = chainOf(realOrSame(given.cwd));
  const root = chain.at(-1)!;
  const file = join(root, ".skein", "config.toml");
  const listed = realEntries(given.listed);
  const folder = chain.find((each) => listed.has(each));
  const level = folder === undefined ? null : listed.get(folder)!;
  const says = (trusted: boolean, by: Project["by"], hash: string | null = null): Project => ({ root, file, hash, trusted, by });

  if (level === "untrusted") return { ok: true, project: says(false, "projects"), bytes: null };
  if (level === null && given.mode === "exec") return { ok: true, project: says(false, null), bytes: null };

  // In the user's own home folder the file of that name is the home's config, which is not the repository's to give.
  const read: FileRead = realOrSame(file) === realOrSame(join(given.home, "config.toml")) ? { ok: true, bytes: null } : readConfigFile(file);
  if (level === "trusted") {
    if (listed.get(root) !== "trusted") return { ok: true, project: says(true, "projects"), bytes: null };
    return read.ok ? { ok: true, project: says(true, "projects"), bytes: read.bytes } : read;
  }
  if (!read.ok) return { ok: true, project: says(false, null), bytes: null };
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256").update(read.bytes ?? "").digest("hex");
  const trusted = given.recorded(root, hash);
  return { ok: true, project: says(trusted, trusted ? "record" : null, hash), bytes: trusted ? read.bytes : null };
}

/** From the working folder up to the root. */
function chainOf(cwd: string): string[] {
  const chain: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    chain.push(folder);
    if (existsSync(join(folder, ".git"))) return chain;
    if (dirname(folder) === folder) return [cwd];
  }
}

/** An entry may name a folder through a symbolic link. Of two entries for one folder, "untrusted" counts. */
function realEntries(listed: Given["listed"]): Map<string, Level> {
  const entries = new Map<string, Level>();
  for (const [path, level] of listed) {
    const folder = realOrSame(path);
    if (entries.get(folder) !== "untrusted") entries.set(folder, level);
  }
  return entries;
}
