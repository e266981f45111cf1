/** What tests of stores start from: homes in memory-backed folders, drafts, ids, a clock. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { LogRecord, Draft, Position, Settings, ThreadId } from "../../src/protocol/record.ts";
import { userText, type Item } from "../../src/protocol/item.ts";
import type { Log, Opened, Range, Store } from "../../src/core/store.ts";
import { openFileStore, type FileStore, type FileStoreOptions } from "../../src/stores/file/store.ts";

export const SETTINGS: Settings = { model: "gpt-test", model_provider: "openai", cwd: "/repo", approval_policy: "on-request", sandbox_mode: "workspace-write" };

/** A UUID v7 with a number that people can read. */
export function threadId(n: number): ThreadId {
  return `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
}
export const ROOT = threadId(0);

export function created(id: ThreadId = ROOT, base: Position | null = null): Draft {
  return { type: "thread.created", id, base, source: "exec", settings: SETTINGS };
}
export function queued(op: string, text = op): Draft {
  return { type: "input.queued", op, items: [userText(text)], deliver: "next" };
}
export function said(text: string): Item {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}
export function added(id: string, text = id): Draft {
  return { type: "item.added", id, item: said(text), turn: "t1" };
}
/** A draft about so many bytes long. */
export function sized(id: string, bytes: number): Draft {
  return added(id, "x".repeat(bytes));
}

/** A clock that moves a second each time it is asked. */
export function ticking(start = Date.UTC(2026, 0, 31, 9)): () => string {
  let at = start;
  return () => new Date((at += 1000)).toISOString();
}

const folders: string[] = [];
const isFast = existsSync("/dev/shm");

/** A new folder, in memory where the machine has such; removed after the tests of the file. */
export function newHome(on: "memory" | "disk" = "memory"): string {
  const home = mkdtempSync(join(on === "memory" && isFast ? "/dev/shm" : tmpdir(), "skein-store-"));
  folders.push(home);
  return home;
}
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function storeAt(home: string, options: Partial<FileStoreOptions> = {}): FileStore {
  return openFileStore({ home, host: "testhost", pid: process.pid, now: ticking(), ...options });
}

export async function records(store: Store, thread: ThreadId = ROOT, which: Range = {}): Promise<LogRecord[]> {
  const found: LogRecord[] = [];
  for await (const record of store.read(thread, which)) found.push(record);
  return found;
}
export async function seqs(store: Store, thread: ThreadId = ROOT, which: Range = {}): Promise<number[]> {
  return (await records(store, thread, which)).map(({ seq }) => seq);
}

export async function mustOpen(store: Store, thread: ThreadId = ROOT): Promise<Extract<Opened, { ok: true }>> {
  const opened = await store.open(thread);
  if (!opened.ok) throw new Error(opened.message);
  return opened;
}

/** A closed thread with a header and these records. */
export async function threadWith(store: Store, drafts: readonly Draft[], thread: ThreadId = ROOT): Promise<void> {
  const log = await store.create(thread, created(thread));
  if (drafts.length > 0) await appended(log, drafts);
  await log.close();
}
export async function appended(log: Log, drafts: readonly Draft[]): Promise<LogRecord[]> {
  const written = log.append(drafts);
  await log.durable(written.at(-1)!.seq);
  return written;
}

export function folderOf(home: string, thread: ThreadId = ROOT): string {
  return join(home, "sessions", thread);
}
export function logFile(home: string, thread: ThreadId = ROOT): string {
  return join(folderOf(home, thread), "rollout.jsonl");
}
export function tornFiles(home: string, thread: ThreadId = ROOT): Buffer[] {
  return readdirSync(folderOf(home, thread))
    .filter((name) => name.startsWith("rollout.jsonl.torn-"))
    .map((name) => readFileSync(join(folderOf(home, thread), name)));
}
export function range(from: number, before: number): number[] {
  return Array.from({ length: Math.max(0, before - from) }, (_, index) => from + index);
}
