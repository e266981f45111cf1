/** Real: where a path leads once all links are followed. */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export type Real = { ok: true; path: string; exists: boolean } | { ok: false; why: string };

/** Also of what does not exist yet. A link that leads nowhere is refused: what is made there would be somewhere else. */
export function realPath(path: string): Real {
  try {
    return { ok: true, path: realpathSync.native(path), exists: true };
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return { ok: false, why: reason(error) };
    if (isThere(path)) return { ok: false, why: "is a symbolic link that leads nowhere" };
    if (dirname(path) === path) return { ok: false, why: reason(error) };
    const parent = realPath(dirname(path));
    return parent.ok ? { ok: true, path: join(parent.path, basename(path)), exists: false } : parent;
  }
}

/** The same, of the link itself where the last part is one. */
export function realPlace(path: string): Real {
  const parent = realPath(dirname(path));
  if (!parent.ok || dirname(path) === path) return parent;
  const place = join(parent.path, basename(path));
  return { ok: true, path: place, exists: isThere(place) };
}

/** The real path, or the path itself where there is none. */
export function realOrSame(path: string): string {
  const real = realPath(path);
  return real.ok ? real.path : path;
}

/** What may not even be looked at is none. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** `path` is `folder` or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "may not be opened (permission denied)",
  ELOOP: "goes through too many symbolic links",
  EEXIST: "is there already, made by something else",
  EISDIR: "is a folder",
  ENAMETOOLONG: "is too long a path",
  ENOENT: "does not exist",
  ENOTDIR: "goes through a file as if it were a folder, or through a link",
  EPERM: "may not be changed (operation not permitted)",
  EROFS: "is on a read-only file system",
  ENOSPC: "does not fit: the disk is full",
};

/** An error of the file system as the rest of a sentence that begins with a path. */
export function reason(error: unknown): string {
  return REASONS[codeOf(error) ?? ""] ?? `cannot be used (${error instanceof Error ? error.message : String(error)})`;
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
