/** Small files, read whole and replaced at once: a reader sees the old content or the new, never a part. */
import { basename, dirname, join } from "node:path";
import { errorCode, type Files } from "./files.ts";

let counter = 0;

/** A name beside `path` that nobody else uses. */
export function temporaryBeside(path: string): string {
  counter += 1;
  return join(dirname(path), `.${basename(path)}.${process.pid}-${counter}.tmp`);
}

export function isTemporary(name: string): boolean {
  return name.startsWith(".") && name.endsWith(".tmp");
}

/** Writes everything or throws. */
export function writeFully(fd: number, content: Uint8Array, { files, position = 0 }: { files: Files; position?: number }): void {
  for (let done = 0; done < content.byteLength; ) {
    const wrote = files.write(fd, content.subarray(done), position + done);
    if (wrote === 0) throw new Error("nothing could be written");
    done += wrote;
  }
}

/** Does nothing when the file holds that content already. Not synced: what is derived can be made again. */
export function replaceFile(path: string, content: string | Uint8Array, files: Files): void {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (holds(path, bytes, files)) return;
  const temporary = temporaryBeside(path);
  try {
    const fd = files.open(temporary, "create");
    try {
      writeFully(fd, bytes, { files });
    } finally {
      files.close(fd);
    }
    files.rename(temporary, path);
  } catch (error) {
    discard(temporary, files);
    throw error;
  }
}

function holds(path: string, content: Uint8Array, files: Files): boolean {
  try {
    return files.stat(path)?.size === content.byteLength && readWhole(path, files).equals(content);
  } catch {
    return false;
  }
}

/** A leftover is harmless, so failing to remove one is as well. */
export function discard(path: string, files: Files): void {
  try {
    files.unlink(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}

/** Null where the file is missing or is no JSON object. */
export function readJson(path: string, files: Files): Record<string, unknown> | null {
  let bytes: Buffer;
  try {
    bytes = readWhole(path, files);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** A whole file. */
export function readWhole(path: string, files: Files): Buffer {
  const fd = files.open(path, "read");
  try {
    const bytes = Buffer.alloc(files.fstat(fd).size);
    let offset = 0;
    while (offset < bytes.length) {
      const got = files.read(fd, bytes, { offset, length: bytes.length - offset, position: offset });
      if (got === 0) break;
      offset += got;
    }
    return bytes.subarray(0, offset);
  } finally {
    files.close(fd);
  }
}
