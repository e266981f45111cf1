/** What an error is to the user: words, and the exit code that fits them. */
import { RpcFailure } from "../client/client.ts";
import { RPC } from "../protocol/rpc.ts";
import { EXIT, UserError } from "./shell.ts";

/** Null for what nobody foresaw: a bug, which should be seen whole. */
export function expected(error: unknown): { message: string; exit: number } | null {
  if (error instanceof UserError) return { message: error.message, exit: error.exit };
  if (isOfSystem(error)) return { message: systemText(error), exit: EXIT.failed };
  if (!(error instanceof RpcFailure)) return null;
  const { code } = error.error;
  return { message: error.message, exit: code === RPC.busy ? EXIT.busy : code === RPC.notFound ? EXIT.notFound : EXIT.failed };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of its path is not a folder",
  EISDIR: "it is a folder",
  EACCES: "access was denied",
  EPERM: "access was denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EMFILE: "too many files are open",
  ELOOP: "its links lead in a circle",
};

function isOfSystem(error: unknown): error is NodeJS.ErrnoException & { code: string; syscall: string } {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return error instanceof Error && typeof code === "string" && typeof syscall === "string";
}

function systemText({ code, syscall, path, message }: NodeJS.ErrnoException & { code: string; syscall: string }): string {
  if (syscall === "uv_cwd") return "The folder that this was started in is gone. Change to one that exists, and run it again.";
  if (path === undefined) return `${message}.`;
  return `${path} cannot be used: ${REASONS[code] ?? message} (${code}, ${syscall}).`;
}
