/** `skein list` and `skein search`: pages of threads and of places in them. */
import type { ListQuery, ThreadSummary } from "../protocol/library.ts";
import type { Source } from "../protocol/record.ts";
import { resolve } from "node:path";
import { whole } from "./numbers.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

const SOURCES: readonly string[] = ["interactive", "exec", "app-server", "mcp"];

export async function list(values: Values, shell: Shell): Promise<number> {
  const query = queryOf(values, shell);
  const connected = await shell.connect({ mode: "read", overrides: [] });
  try {
    const page = await connected.client.call("thread/list", query);
    if (values["json"]) for (const summary of page.items) shell.stdout.write(`${JSON.stringify(summary)}\n`);
    else shell.stdout.write(page.items.length === 0 ? "No threads.\n" : `${page.items.map(row).join("\n")}\n`);
    if (page.next) shell.stderr.write(`more: skein list --cursor ${page.next}\n`);
    if (page.incomplete) shell.stderr.write("The index is being rebuilt: there may be more.\n");
    return EXIT.done;
  } finally {
    await connected.close();
  }
}

export async function search(given: { words: string; values: Values }, shell: Shell): Promise<number> {
  if (given.words.trim() === "") throw new UserError("What should be searched for? skein search WORDS", EXIT.usage);
  const cursor = cursorOf(given.values, /^\d+(?:\.\d+)?$/u);
  const connected = await shell.connect({ mode: "read", overrides: [] });
  const progress = shell.stderr.isTTY ? setTimeout(() => void shell.stderr.write("Reading what is new since the last search …\n"), 500) : undefined;
  try {
    const page = await connected.client.call("thread/search", {
      text: given.words,
      wait: true,
      limit: whole(given.values["limit"], "--limit") ?? 20,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const hit of page.items) {
      if (given.values["json"]) shell.stdout.write(`${JSON.stringify(hit)}\n`);
      else shell.stdout.write(`${hit.thread.slice(0, 13)}  ${hit.at.slice(0, 16).replace("T", " ")}  ${hit.kind.padEnd(9)}  ${hit.snippet.replace(/\s+/gu, " ")}\n`);
    }
    if (page.items.length === 0) shell.stderr.write("Nothing found.\n");
    if (page.next) shell.stderr.write(`more: --cursor ${page.next}\n`);
    if (page.incomplete) shell.stderr.write("The index has not caught up: there may be more.\n");
    return EXIT.done;
  } finally {
    clearTimeout(progress);
    await connected.close();
  }
}

/** Null when none was given. */
function cursorOf({ cursor }: Values, shape: RegExp): string | null {
  if (typeof cursor !== "string") return null;
  if (!shape.test(cursor)) throw new UserError(`--cursor takes what the page before gave as "more"; not "${cursor}".`, EXIT.usage);
  return cursor;
}

function queryOf(values: Values, shell: Shell): ListQuery {
  const query: ListQuery = { limit: whole(values["limit"], "--limit") ?? 20 };
  const sources = values["source"];
  if (Array.isArray(sources)) {
    for (const source of sources) if (!SOURCES.includes(String(source))) throw new UserError(`--source takes ${SOURCES.join(", ")}; not "${String(source)}".`, EXIT.usage);
    query.source = sources as Source[];
  }
  if (Array.isArray(values["provider"])) query.provider = values["provider"] as string[];
  if (typeof values["cwd"] === "string") query.cwd = resolve(shell.cwd, values["cwd"]);
  if (typeof values["text"] === "string") query.text = values["text"];
  const cursor = cursorOf(values, /^[0-9a-f-]{36}$/u);
  if (cursor !== null) query.cursor = cursor;
  if (values["archived"]) query.archived = true;
  return query;
}

function row(summary: ThreadSummary): string {
  const when = summary.created_at.slice(0, 16).replace("T", " ");
  const fork = summary.parent ? " ⑂" : "";
  return `${summary.id.slice(0, 13)}  ${when}  ${summary.status.padEnd(8)}  ${summary.title ?? summary.preview ?? "No preview available"}${fork}`;
}
