/** What an error is to the user: words, and the exit code that fits them. */
import { RpcFailure } from "../client/client.ts";
import { RPC } from "../protocol/rpc.ts";
import { EXIT, UserError } from "./shell.ts";

/** Null for what nobody foresaw: a bug, which should be seen whole. */
export function expected(error: unknown): { message: string; exit: number } | null {
  if (error instanceof UserError) return { message: error.message, exit: error.exit };
  if (!(error instanceof RpcFailure)) return null;
  const { code } = error.error;
  return { message: error.message, exit: code === RPC.busy ? EXIT.busy : code === RPC.notFound ? EXIT.notFound : EXIT.failed };
}
