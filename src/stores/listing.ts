/** Listing and searching without an index: everything is looked at. For stores in memory, and for a home that has no index. */
import { isCall, isMessage, isOutput, textOf, type Item } from "../protocol/item.ts";
import type { ListQuery, Page, SearchHit, SearchQuery, ThreadSummary } from "../protocol/library.ts";
import type { LogRecord, ThreadId } from "../protocol/record.ts";

const PAGE = 50;
const CONTEXT = 60;

export interface Listed {
  summary: ThreadSummary;
  archived: boolean;
}

/** Newest first: by the time of creation, then by id. */
export function listPage(threads: Iterable<Listed>, query: ListQuery): Page<ThreadSummary> {
  const found: ThreadSummary[] = [];
  for (const { summary, archived } of threads) if (archived === (query.archived ?? false) && matches(summary, query)) found.push(summary);
  found.sort((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1));
  return pageOf(found, { ...query, keyOf });
}

function keyOf({ created_at, id }: ThreadSummary): string {
  return `${created_at} ${id}`;
}

function matches(summary: ThreadSummary, { source, provider, cwd, text }: ListQuery): boolean {
  if (source && !source.includes(summary.session_source)) return false;
  if (provider && !provider.includes(summary.model_provider)) return false;
  if (cwd !== undefined && summary.cwd !== cwd) return false;
  return text === undefined || holds(`${summary.title ?? ""}\n${summary.preview ?? ""}`, text);
}

/** Newest first. */
export function searchPage(threads: Iterable<{ thread: ThreadId; records: Iterable<LogRecord> }>, query: SearchQuery): Page<SearchHit> {
  const found: SearchHit[] = [];
  for (const { thread, records } of threads) for (const record of records) found.push(...hitsIn(thread, record, query.text));
  found.sort((a, b) => (hitKey(a) < hitKey(b) ? 1 : -1));
  return pageOf(found, { ...query, keyOf: hitKey });
}

function hitKey({ at, thread, seq }: SearchHit): string {
  return `${at} ${thread} ${String(seq).padStart(16, "0")}`;
}

function pageOf<T>(sorted: readonly T[], { limit = PAGE, cursor, keyOf: key }: { limit?: number; cursor?: string | null; keyOf: (item: T) => string }): Page<T> {
  const rest = cursor ? sorted.filter((item) => key(item) < cursor) : sorted;
  const items = rest.slice(0, Math.max(1, limit));
  const last = items.at(-1);
  return { items, next: last && rest.length > items.length ? key(last) : null, incomplete: false };
}

function hitsIn(thread: ThreadId, record: LogRecord, text: string): SearchHit[] {
  const hits: SearchHit[] = [];
  for (const [kind, content] of textsOf(record)) {
    const at = content.toLowerCase().indexOf(text.toLowerCase());
    if (text !== "" && at >= 0) hits.push({ thread, seq: record.seq, kind, at: record.at, snippet: content.slice(Math.max(0, at - CONTEXT), at + text.length + CONTEXT) });
  }
  return hits;
}

function textsOf(record: LogRecord): [SearchHit["kind"], string][] {
  if (record.type === "thread.described" && "title" in record && typeof record.title === "string") return [["title", record.title]];
  if (record.type === "input.queued" && "items" in record) return (record.items as Item[]).map((item) => ["user", textOf(item)]);
  if (record.type === "call.ended" && "output" in record) return [["output", textOf(record.output as Item)]];
  if (record.type !== "item.added" || !("item" in record)) return [];
  const item = record.item as Item;
  if (isCall(item)) return [["command", item.type === "function_call" ? item.arguments : JSON.stringify(item["input"] ?? item["action"])]];
  if (isMessage(item)) return [[item.role === "user" ? "user" : "assistant", textOf(item)]];
  return isOutput(item) ? [["output", textOf(item)]] : [];
}

function holds(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
