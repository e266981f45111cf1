/** Appending: acknowledged, durable one at a time, durable by many at once. */
import type { Draft } from "../../src/protocol/record.ts";
import { createProjection } from "../../src/core/events.ts";
import { createRedactor } from "../../src/core/redact.ts";
import { born } from "../../src/core/state.ts";
import type { Log } from "../../src/core/store.ts";
import { commit, type Committer } from "../../src/runtime/commit.ts";
import type { Bench } from "./bench.ts";
import { writeFloors } from "./floors.ts";
import { openStore, SETTINGS } from "./host.ts";
import { percentile, row, type Row } from "./measure.ts";

const THREAD = "01900000-0000-7000-8000-000000000001";
/** Whole line about 1 kB. */
const RECORD: Draft = { type: "item.added", turn: "t000000001", id: "17.0", item: { type: "message", role: "assistant", content: [{ type: "output_text", text: "word ".repeat(160) }] } };

export async function appendRows({ data, quick }: Bench): Promise<Row[]> {
  const folder = data.folder("append");
  const floors = await writeFloors(folder, quick ? 60 : 300);
  const store = openStore(folder);
  const log = await store.create(THREAD, { type: "thread.created", id: THREAD, base: null, source: "exec", settings: SETTINGS });
  const before = log.bytes;
  const appends = timed(20_000, () => log.append([RECORD]));
  const bytes = Math.round((log.bytes - before) / 20_000);
  const header = (await store.header(THREAD))!;
  const committer: Committer = { state: born(header, null), log, projection: createProjection(THREAD, 0), mustSync: 0, carriedAt: log.bytes, redactor: createRedactor(), publish: () => {} };
  const commits = timed(5000, () => commit(committer, [RECORD]));
  await log.durable(log.head - 1);
  const single = await durableSingle(log, quick ? 60 : 300);
  const grouped = await durableGrouped(log, { seconds: quick ? 0.5 : 2, writers: 256 });
  await store.close();
  const { writeMicroseconds, syncMilliseconds } = floors;
  const sync = { name: "raw fdatasync", value: syncMilliseconds.p50 };
  return [
    row({ name: "floor: raw write of 1 kB, p50", unit: "µs", value: writeMicroseconds.p50, details: { p99: writeMicroseconds.p99 } }),
    row({ name: "floor: raw fdatasync after 1 kB, p50", unit: "ms", value: syncMilliseconds.p50, details: { p99: syncMilliseconds.p99 } }),
    row({
      name: "acknowledged append of 1 kB, p99",
      unit: "µs",
      value: percentile(appends, 99),
      bar: { most: 200 },
      floor: { name: "raw write, p50", value: writeMicroseconds.p50 },
      details: { p50: percentile(appends, 50), lineBytes: bytes },
    }),
    row({ name: "acknowledged commit of 1 kB (redact, append, reduce, project), p99", unit: "µs", value: percentile(commits, 99), details: { p50: percentile(commits, 50) } }),
    row({
      name: "durable append, one at a time, p50",
      unit: "ms",
      value: percentile(single, 50),
      floor: sync,
      details: { p99: percentile(single, 99), timesFloor: percentile(single, 50) / sync.value },
    }),
    row({ name: "durable appends, 256 at a time", unit: "per second", value: grouped, bar: { least: 20_000 } }),
  ];
}

/** Microseconds each. */
function timed(times: number, work: () => unknown): number[] {
  const samples = Array.from<number>({ length: times });
  for (let count = 0; count < times; count++) {
    const started = performance.now();
    work();
    samples[count] = (performance.now() - started) * 1000;
  }
  return samples;
}

async function durableSingle(log: Log, times: number): Promise<number[]> {
  const samples: number[] = [];
  for (let count = 0; count < times; count++) {
    const started = performance.now();
    await log.durable(log.append([RECORD])[0]!.seq);
    samples.push(performance.now() - started);
  }
  return samples;
}

/** Many who each append one record and wait for it. */
async function durableGrouped(log: Log, { seconds, writers }: { seconds: number; writers: number }): Promise<number> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let done = 0;
  const writer = async () => {
    while (performance.now() < end) {
      await log.durable(log.append([RECORD])[0]!.seq);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return done / ((performance.now() - started) / 1000);
}
