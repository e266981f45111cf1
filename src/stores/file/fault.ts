/** What the operating system said, as a StoreFault that says what happened, what was kept and what to do. */
import { StoreFault } from "../../core/store.ts";
import { errorCode } from "./files.ts";

const REASONS: Record<string, string> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EIO: "the disk reported an error",
  EMFILE: "too many files are open",
  ENFILE: "the system has too many files open",
  EROFS: "the file system is read-only",
  EACCES: "access was denied",
  EPERM: "access was denied",
};

/** A mistake in the program is not a fault of the medium: it is thrown on. `doing` completes "Could not …"; `kept` says what is still true. */
export function asFault(error: unknown, { doing, kept, poisoned = false }: { doing: string; kept: string; poisoned?: boolean }): StoreFault {
  if (error instanceof StoreFault && error.poisoned === poisoned) return error;
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) throw error;
  const code = errorCode(error) ?? "unknown";
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new StoreFault(`Could not ${doing}: ${reason}. ${kept}`, { code, poisoned, cause: error });
}

export function isReadOnly(error: unknown): boolean {
  return ["EROFS", "EACCES", "EPERM"].includes(errorCode(error) ?? "");
}
