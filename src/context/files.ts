/**
 * Reading what people wrote for the model. A file is read up to a limit, never waited for (a FIFO is no file), and only if it is text.
 * What belongs to a repository is read only where it lies in it: a link that leaves it is not followed.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { isAbsolute, relative } from "node:path";

export type FileText =
  /** `isCut`: the file has more than the limit; `size` is that of the whole, in bytes. */
  | { kind: "text"; text: string; size: number; isCut: boolean }
  | { kind: "absent" }
  | { kind: "refused"; why: string };

/** `within`: the real path of the folder that the file must lie in; null: anywhere. */
export function readText(path: string, { limit, within }: { limit: number; within: string | null }): FileText {
  let file: number | null = null;
  try {
    const real = realpathSync(path);
    if (within !== null && !isInside(real, within)) return { kind: "refused", why: "it is a link that leaves the repository" };
    file = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return { kind: "refused", why: "it is not a file" };
    const bytes = readBytes(file, limit);
    const isCut = bytes.length < stat.size;
    const text = decode(bytes, isCut);
    return text === null ? { kind: "refused", why: "it is not text in UTF-8" } : { kind: "text", text, size: stat.size, isCut };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    return code === "ENOENT" || code === "ENOTDIR" ? { kind: "absent" } : { kind: "refused", why: `it cannot be read (${code})` };
  } finally {
    if (file !== null) closeSync(file);
  }
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}

function readBytes(file: number, limit: number): Uint8Array {
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const read = readSync(file, bytes, length, limit - length, null);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}

/** A character that the limit cuts in two is left out. */
function decode(bytes: Uint8Array, isCut: boolean): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}
