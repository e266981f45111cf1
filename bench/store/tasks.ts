/** What is measured in a process of its own: cold code, and memory that nothing else used. Each gives JSON. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ListQuery } from "../../src/protocol/library.ts";
import { threadId } from "../../src/runtime/ids.ts";
import { loadState } from "../../src/runtime/loading.ts";
import { filesIn, homeAt, isThreadId, threadFolder } from "../../src/stores/file/layout.ts";
import { openIndex } from "../../src/stores/file/index/open.ts";
import { makeMany } from "../generate/many.ts";
import { makeSession, type Wish } from "../generate/session.ts";
import { counted, countingFiles } from "./counting.ts";
import { folderBytes } from "./disk.ts";
import { openStore, SETTINGS, threadsOn } from "./host.ts";
import { median, milliseconds, peakMemory, repeated, spent } from "./measure.ts";
import { runLangGraph, runOurs } from "./peers.ts";

export interface Opening {
  milliseconds: number;
  processor: number;
  megabytes: number;
  bytesRead: number;
  items: number;
}
export interface ReadingAll {
  milliseconds: number;
  processor: number;
  megabytes: number;
  records: number;
}
export interface Forking {
  /** The first in the process, and those after it. */
  first: number;
  warm: number[];
  /** Of a processor, one of those after the first. */
  processor: number;
  megabytes: number;
  folderBytes: number;
  cost: { written: number; read: number; syncs: number; folderSyncs: number };
}
export interface Listing {
  first: number;
  warm: number;
  items: number;
  incomplete: boolean;
  megabytes: number;
}
export interface Searching {
  /** By query: the first time, and the median of those after it. */
  queries: Record<string, { first: number; warm: number; hits: number }>;
  megabytes: number;
}
export interface Rebuilding {
  firstPage: number;
  incomplete: boolean;
  /** Until every session has its row, and until everything can be searched. */
  rowsSeconds: number;
  textSeconds: number;
  complete: boolean;
  /** The slowest first page while the indexer was at work. */
  slowestPage: number;
  megabytes: number;
  indexBytes: number;
}

type Task = (given: never) => unknown;

export const TASKS: Record<string, Task> = {
  generate: (wish: Wish) => makeSession(wish),
  generateMany: (wish: Parameters<typeof makeMany>[0]) => makeMany(wish),

  langgraph: (given: Parameters<typeof runLangGraph>[0]) => runLangGraph(given),
  turns: (given: Parameters<typeof runOurs>[0]) => runOurs(given),

  /** What a new session pays in the place of opening one. */
  async create({ home }: { home: string }): Promise<{ milliseconds: number; processor: number }> {
    const store = openStore(home);
    const id = threadId(Date.now());
    const time = await spent(() => store.create(id, { type: "thread.created", id, base: null, source: "exec", settings: SETTINGS }));
    await store.close();
    return time;
  },

  /** store.open and the state from the log: everything between "resume" and the next request that the store is in. */
  async open({ home, thread }: { home: string; thread: string }): Promise<Opening> {
    const { files, counts } = countingFiles();
    const store = openStore(home, files);
    let items = 0;
    const time = await spent(async () => {
      const opened = await store.open(thread);
      if (!opened.ok) throw new Error(opened.message);
      const state = await loadState(store, { thread, before: opened.log.head });
      items = state!.history.entries.length;
    });
    const opening = { ...time, megabytes: peakMemory(), bytesRead: counts.read, items };
    await store.close();
    return opening;
  },

  /** The whole way: the runtime's resume, with the records of the new writer, durable. */
  async resume({ home, thread }: { home: string; thread: string }): Promise<Opening> {
    const { files, counts } = countingFiles();
    const threads = threadsOn(openStore(home, files), "");
    let items = 0;
    const time = await spent(async () => {
      const resumed = await threads.resume(thread);
      if (!resumed.ok) throw new Error(resumed.refusal.message);
      items = resumed.session.state.history.entries.length;
    });
    const opening = { ...time, megabytes: peakMemory(), bytesRead: counts.read, items };
    await threads.closeAll("measured");
    await threads.store.close();
    return opening;
  },

  async read({ home, thread }: { home: string; thread: string }): Promise<ReadingAll> {
    const store = openStore(home);
    let records = 0;
    const time = await spent(async () => {
      for await (const record of store.read(thread, {})) records += record.seq >= 0 ? 1 : 0;
    });
    const reading = { ...time, megabytes: peakMemory(), records };
    await store.close();
    return reading;
  },

  async fork({ home, thread, times }: { home: string; thread: string; times: number }): Promise<Forking> {
    const { files, counts } = countingFiles();
    const threads = threadsOn(openStore(home, files), "");
    const once = async () => {
      const started = performance.now();
      const forked = await threads.fork({ thread, source: "exec" });
      if (!forked.ok) throw new Error(forked.refusal.message);
      return { time: performance.now() - started, id: forked.session.thread };
    };
    const first = await once();
    const { cost } = await counted(counts, once);
    const warm: number[] = [];
    const { processor } = await spent(async () => {
      while (warm.length < times) warm.push((await once()).time);
    });
    const megabytes = peakMemory();
    await threads.closeAll("measured");
    await threads.store.close();
    return { first: first.time, warm, processor: processor / times, megabytes, folderBytes: folderBytes(threadFolder(homeAt(home).sessions, first.id)), cost };
  },

  async list({ home, query, times }: { home: string; query: ListQuery; times: number }): Promise<Listing> {
    const store = openStore(home);
    const started = performance.now();
    const page = await store.list(query);
    const first = performance.now() - started;
    const warm = median(await repeated(times, () => store.list(query)));
    const listing = { first, warm, items: page.items.length, incomplete: page.incomplete, megabytes: peakMemory() };
    await store.close();
    return listing;
  },

  async search({ home, texts, times }: { home: string; texts: string[]; times: number }): Promise<Searching> {
    const store = openStore(home);
    const queries: Searching["queries"] = {};
    for (const text of texts) {
      const started = performance.now();
      const page = await store.search({ text, limit: 20 });
      const first = performance.now() - started;
      if (page.incomplete) throw new Error(`the index is not complete (searching "${text}")`);
      queries[text] = { first, warm: median(await repeated(times, () => store.search({ text, limit: 20 }))), hits: page.items.length };
    }
    const searching = { queries, megabytes: peakMemory() };
    await store.close();
    return searching;
  },

  /** Deletes the index, asks for the first page and waits until everything is indexed again. `fromLogs`: the logs are all there is. */
  async rebuild({ home, sessions, fromLogs }: { home: string; sessions: number; fromLogs: boolean }): Promise<Rebuilding> {
    deleteIndex(home);
    if (fromLogs) for (const thread of readdirSync(homeAt(home).sessions).filter(isThreadId)) deleteSmall(home, thread);
    const index = openIndex({ home });
    const started = performance.now();
    const page = await index.list({ limit: 50 });
    const firstPage = performance.now() - started;
    let rowsSeconds = Number.NaN;
    const pages: number[] = [];
    const asking = setInterval(() => void milliseconds(() => index.list({ limit: 50 })).then((time) => pages.push(time)), 250);
    const complete = await index.catchUp({
      onProgress({ total }) {
        if (total >= sessions && Number.isNaN(rowsSeconds)) rowsSeconds = (performance.now() - started) / 1000;
      },
    });
    const textSeconds = (performance.now() - started) / 1000;
    clearInterval(asking);
    await index.close();
    return { firstPage, incomplete: page.incomplete, rowsSeconds, textSeconds, complete, slowestPage: Math.max(0, ...pages), megabytes: peakMemory(), indexBytes: folderBytes(home, { deep: false }) };
  },
};

function deleteIndex(home: string): void {
  for (const name of ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.lock", "dirty"]) rmSync(join(home, name), { recursive: true, force: true });
}

function deleteSmall(home: string, thread: string): void {
  const { metadata, state, diffs } = filesIn(threadFolder(homeAt(home).sessions, thread));
  for (const path of [metadata, state, diffs]) rmSync(path, { recursive: true, force: true });
}

/** Everything that is made from a log. */
export function deleteDerived(home: string, thread: string): void {
  deleteSmall(home, thread);
  deleteIndex(home);
}
