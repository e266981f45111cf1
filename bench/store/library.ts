/** Listing and searching many sessions: with the index, without it, and how long it takes to have it again. */
import { join } from "node:path";
import { wordOf, type MadeMany } from "../generate/many.ts";
import type { Bench } from "./bench.ts";
import type { Home } from "./data.ts";
import { listFolder } from "./floors.ts";
import { inChild, inChildren, median, row, say, type Growth, type Row } from "./measure.ts";
import type { Listing, Rebuilding, Searching } from "./tasks.ts";

export async function libraryRows({ data, quick, times, sessions }: Bench): Promise<{ rows: Row[]; growth: Growth[] }> {
  const large = await measure(await data.many(sessions), { times, quick });
  const fewer = await data.many(sessions / 10);
  const small = await measure(fewer, { times, quick });
  const fromLogs = await inChild<Rebuilding>("rebuild", { home: fewer.home, sessions: fewer.made.sessions, fromLogs: true });
  const { made, readdir, listed, byFolder, byText, searched, rebuilt } = large;
  const label = `${sessions.toLocaleString("en")} sessions`;
  const worst = slowest(searched);
  const rows = [
    row({ name: `floor: readdir of ${label}`, unit: "ms", value: readdir }),
    row({ name: `list, first page, ${label}, index present`, unit: "ms", value: listed.warm, bar: { most: 10 }, details: { firstInProcess: listed.first, peakMegabytes: listed.megabytes } }),
    row({ name: `list of one folder's sessions, ${label}`, unit: "ms", value: byFolder.warm, details: { firstInProcess: byFolder.first } }),
    row({ name: `list by text, ${label}`, unit: "ms", value: byText.warm, details: { firstInProcess: byText.first } }),
    row({ name: `list, first page, ${label}, index deleted`, unit: "ms", value: rebuilt.firstPage, bar: { most: 500 }, floor: { name: "readdir", value: readdir }, details: { incomplete: rebuilt.incomplete } }),
    row({ name: "rows rebuilt, MB of log a second", unit: "MB/s", value: made.bytes / 1e6 / rebuilt.rowsSeconds, bar: { least: 100 }, details: { seconds: rebuilt.rowsSeconds, rowsPerSecond: sessions / rebuilt.rowsSeconds, logMegabytes: made.bytes / 1e6 } }),
    row({
      name: `rows rebuilt from the logs alone (no metadata.json), ${fewer.made.sessions} sessions, MB of log a second`,
      unit: "MB/s",
      value: fewer.made.bytes / 1e6 / fromLogs.rowsSeconds,
      details: { seconds: fromLogs.rowsSeconds, rowsPerSecond: fewer.made.sessions / fromLogs.rowsSeconds, firstPage: fromLogs.firstPage },
    }),
    row({ name: "full text rebuilt", unit: "s", value: rebuilt.textSeconds, details: { megabytesOfLogPerSecond: made.bytes / 1e6 / rebuilt.textSeconds, complete: rebuilt.complete, peakMegabytes: rebuilt.megabytes, indexMegabytes: rebuilt.indexBytes / 1e6 } }),
    row({ name: "list, first page, slowest while the index is rebuilt", unit: "ms", value: rebuilt.slowestPage, bar: { most: 500 } }),
    row({ name: `full-text search, ${label}, slowest of the queries`, unit: "ms", value: worst.warm, bar: { most: 50 }, details: { query: worst.text, queries: searched.queries, peakMegabytes: searched.megabytes } }),
  ];
  const grown = (name: string, unit: Row["unit"], of: (each: Measured) => number): Growth => ({
    name,
    unit,
    from: { size: `${sessions / 10} sessions`, value: of(small) },
    to: { size: `${sessions} sessions`, value: of(large) },
    ratio: of(large) / of(small),
    times: 10,
  });
  const growth = [
    grown("list, first page, index present", "ms", (each) => each.listed.warm),
    grown("list, first page, index deleted", "ms", (each) => each.rebuilt.firstPage),
    grown("list: peak memory", "MB", (each) => each.listed.megabytes),
    grown("search, slowest of the queries", "ms", (each) => slowest(each.searched).warm),
    grown("rows rebuilt", "s", (each) => each.rebuilt.rowsSeconds),
    grown("full text rebuilt", "s", (each) => each.rebuilt.textSeconds),
  ];
  return { rows, growth };
}

interface Measured {
  made: MadeMany;
  readdir: number;
  listed: Listing;
  byFolder: Listing;
  byText: Listing;
  searched: Searching;
  rebuilt: Rebuilding;
}

async function measure({ home, made }: Home<MadeMany>, { times, quick }: { times: number; quick: boolean }): Promise<Measured> {
  const readdir = await listFolder(join(home, "sessions"), times);
  say(`rebuilding the index of ${made.sessions} sessions`);
  const rebuilt = await inChild<Rebuilding>("rebuild", { home, sessions: made.sessions, fromLogs: false });
  const list = async (query: object): Promise<Listing> => {
    const runs = await inChildren<Listing>(quick ? 1 : 3, { task: "list", given: { home, query: { limit: 50, ...query }, times } });
    if (runs.some((run) => run.incomplete)) throw new Error(`the list is not complete (${JSON.stringify(query)})`);
    return { ...runs[0]!, first: median(runs.map((run) => run.first)), warm: median(runs.map((run) => run.warm)), megabytes: median(runs.map((run) => run.megabytes)) };
  };
  return {
    made,
    readdir,
    rebuilt,
    listed: await list({}),
    byFolder: await list({ cwd: "/home/me/code/project-7" }),
    byText: await list({ text: "sandbox" }),
    searched: await inChild<Searching>("search", { home, texts: queries(made.sessions), times }),
  };
}

/** One session has it, every session has it, phrases, several words, the beginning of a word, none has it. */
function queries(sessions: number): string[] {
  return [wordOf(Math.floor(sessions / 3)), "the", "sandbox", "session state", "request response cache", "compa", "nothingholdsthis"];
}

function slowest({ queries: all }: Searching): { text: string; warm: number } {
  const [text, { warm }] = Object.entries(all).reduce((worst, each) => (each[1].warm > worst[1].warm ? each : worst));
  return { text, warm };
}
