/** A thread as a person names it: any unique beginning of its id, or the last one. */
import type { Client } from "../client/client.ts";
import { EXIT, UserError } from "./shell.ts";

const MOST_SHOWN = 5;

export async function resolveThread(client: Client, wanted: { id: string | null; last: boolean }): Promise<string> {
  if (wanted.last) {
    const { thread } = await client.call("thread/last", {});
    if (!thread) throw new UserError("There is no thread yet.", EXIT.notFound);
    return thread;
  }
  const prefix = (wanted.id ?? "").toLowerCase();
  if (!/^[0-9a-z-]{1,64}$/u.test(prefix)) throw new UserError(`"${wanted.id ?? ""}" is not a thread id. \`skein list\` shows them.`, EXIT.usage);
  const { threads } = await client.call("thread/find", { prefix });
  if (threads.length === 1) return threads[0]!;
  if (threads.includes(prefix)) return prefix;
  if (threads.length === 0) throw new UserError(`There is no thread that begins with "${prefix}". \`skein list\` shows them.`, EXIT.notFound);
  throw new UserError(`"${prefix}" fits more than one thread:\n${await shown(client, threads)}Give more of the id.`, EXIT.usage);
}

/** The newest, each with its date and what it is about. */
async function shown(client: Client, threads: readonly string[]): Promise<string> {
  const newest = threads.toSorted().reverse().slice(0, MOST_SHOWN);
  const { items } = await client.call("thread/list", { limit: 100 });
  const lines = newest.map((id) => {
    const summary = items.find((item) => item.id === id);
    return summary ? `  ${id}  ${summary.created_at.slice(0, 16).replace("T", " ")}  ${(summary.title ?? summary.preview ?? "").replace(/\p{Cc}/gu, " ").slice(0, 60)}`.trimEnd() : `  ${id}`;
  });
  const more = threads.length - newest.length;
  return `${[...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join("\n")}\n`;
}
