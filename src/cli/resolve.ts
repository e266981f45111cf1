/** A thread as a person names it: any unique beginning of its id, or the last one. */
import type { Client } from "../client/client.ts";
import { EXIT, UserError } from "./shell.ts";

export async function resolveThread(client: Client, wanted: { id: string | null; last: boolean }): Promise<string> {
  if (wanted.last) {
    const { thread } = await client.call("thread/last", {});
    if (!thread) throw new UserError("There is no thread yet.", EXIT.notFound);
    return thread;
  }
  const prefix = wanted.id ?? "";
  if (!/^[0-9A-Za-z-]{1,64}$/u.test(prefix)) throw new UserError(`"${prefix}" is not a thread id. \`skein list\` shows them.`, EXIT.usage);
  const { threads } = await client.call("thread/find", { prefix });
  if (threads.length === 1) return threads[0]!;
  if (threads.includes(prefix)) return prefix;
  if (threads.length === 0) throw new UserError(`There is no thread that begins with "${prefix}". \`skein list\` shows them.`, EXIT.notFound);
  throw new UserError(`"${prefix}" fits more than one thread:\n  ${threads.join("\n  ")}\nGive more of the id.`, EXIT.usage);
}
