/**
 * Open: files and folders for reading. A path is looked at first and opened then; on Linux the system says what was really opened, and that
 * is what is checked, so that a link put in its way meanwhile leads nowhere.
 */
import { constants, readlinkSync, type Dirent } from "node:fs";
import { open, readdir, stat, type FileHandle } from "node:fs/promises";
import type { ToolOutcome } from "../../core/tool.ts";
import { failed } from "./arguments.ts";
import { kindOf, LOOKED_AT, type Kind } from "./kind.ts";
import { reason } from "./real.ts";
import type { View } from "./view.ts";

export interface OpenFile {
  readonly file: FileHandle;
  readonly bytes: number;
  /** Null: text, as far as its start tells. */
  readonly kind: Kind | null;
}

interface Where {
  view: View;
  signal: AbortSignal;
}

/** What `use` makes of the file, or why it cannot be read. */
export async function withFile(path: string, { view, signal, use }: Where & { use: (opened: OpenFile) => Promise<ToolOutcome> }): Promise<ToolOutcome> {
  const found = view.find(path);
  if (!found.ok) return found.hidden ? hidden(path) : failed(found.message);
  let file: FileHandle | null = null;
  try {
    const there = await stat(found.real);
    if (!there.isFile()) return failed(`${path} ${there.isDirectory() ? "is a folder" : "is not a file but a device, pipe or socket"}.`);
    file = await open(found.real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (!view.sees(opened(file, found.real))) return hidden(path);
    const { size } = await file.stat();
    const start = Buffer.alloc(LOOKED_AT);
    const { bytesRead } = await file.read(start, 0, start.length, 0);
    return await use({ file, bytes: Math.max(size, bytesRead), kind: kindOf(start.subarray(0, bytesRead)) });
  } catch (error) {
    return failed(signal.aborted ? "Interrupted." : `${path} ${reason(error)}.`);
  } finally {
    await file?.close();
  }
}

/** A text is why it cannot be read. */
export async function entriesOf(folder: string, view: View): Promise<Dirent[] | string> {
  let file: FileHandle | null = null;
  try {
    file = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    const real = opened(file, folder);
    if (!view.sees(real)) return "is hidden in this sandbox";
    return await readdir(process.platform === "linux" ? `/proc/self/fd/${file.fd}` : folder, { withFileTypes: true });
  } catch (error) {
    return reason(error);
  } finally {
    await file?.close();
  }
}

/** Where what was opened really is: as the system says, or as it was looked up where the system does not say. */
function opened({ fd }: FileHandle, lookedUp: string): string {
  try {
    const real = readlinkSync(`/proc/self/fd/${fd}`);
    return real.startsWith("/") ? real : lookedUp;
  } catch {
    return lookedUp;
  }
}

export function hidden(path: string): ToolOutcome {
  const what = `${path} is hidden in this sandbox`;
  return { ...failed(`${what}.`), denied: { what, path } };
}
