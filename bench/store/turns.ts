/**
 * 1,000 turns of a message and an answer of 2 kB each, durable. Once as records: what the runtime commits for such a turn, the input and
 * the end of the turn waited for. Once through the runtime itself, as a client would make them.
 *
 * The floor is as many writes of as many bytes, each with a sync, and nothing around them. Both go on by turns, ten turns at a
 * time, so that whatever else the machine does slows both; the ratio is that of the medians of the tens.
 */
import { join } from "node:path";
import { userText } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { createProjection } from "../../src/core/events.ts";
import { createRedactor } from "../../src/core/redact.ts";
import { born } from "../../src/core/state.ts";
import { commit, type Committer } from "../../src/runtime/commit.ts";
import type { Files } from "../../src/stores/file/files.ts";
import type { Bench } from "./bench.ts";
import { counted, countingFiles, type FileCounts } from "./counting.ts";
import { rawWriter } from "./floors.ts";
import { converse, openStore, SETTINGS, threadsOn } from "./host.ts";
import { median, milliseconds, row, type Growth, type Row } from "./measure.ts";

const CONTENT = 2000;
const TEXT = "The quick brown fox jumps over the lazy dog again. ".repeat(40).slice(0, CONTENT);
const THREAD = "01900000-0000-7000-8000-000000000002";

const BLOCK = 10;

interface TurnsCost {
  milliseconds: number;
  floor: number;
  timesFloor: number;
  /** Of the log. */
  bytes: number;
  syncs: number;
  writes: number;
}

/** The records of such turns, committed as src/runtime does, a sync for the input and one for the end. */
async function recordTurns(home: string, turns: number): Promise<TurnsCost> {
  const { files, counts } = countingFiles();
  const store = openStore(home, files);
  const log = await store.create(THREAD, { type: "thread.created", id: THREAD, base: null, source: "exec", settings: SETTINGS });
  const state = born((await store.header(THREAD))!, null);
  const committer: Committer = { state, log, projection: createProjection(THREAD, 0), mustSync: 0, carriedAt: log.bytes, redactor: createRedactor(), publish: () => {} };
  const put = (draft: Draft) => commit(committer, [draft])[0]!.seq;
  const origin = { wire: "replay", provider: "bench", model: "instant" };
  const oneTurn = async (number: number) => {
    const turn = `t${String(number).padStart(10, "0")}`;
    const input = put({ type: "input.queued", op: `op-${number}`, items: [userText(TEXT)], deliver: "next" });
    await log.durable(input);
    put({ type: "turn.started", turn, inputs: [input] });
    const sample = put({ type: "sample.started", turn, origin });
    put({ type: "item.added", turn, id: `${sample}.0`, item: { type: "message", role: "assistant", content: [{ type: "output_text", text: TEXT }] } });
    put({ type: "sample.ended", turn, sample, status: "done", usage: { input_tokens: 500, output_tokens: 500, total_tokens: 1000 } });
    await log.durable(put({ type: "turn.ended", turn, status: "completed" }));
  };
  let number = 0;
  const cost = await costOf({ home, thread: THREAD, files, counts, turns }, async (count) => {
    for (let done = 0; done < count; done++) await oneTurn(number++);
  });
  await store.close();
  return cost;
}

/** Through a session of the runtime, each turn sent when the one before has ended. */
export async function runtimeTurns(home: string, turns: number): Promise<TurnsCost> {
  const { files, counts } = countingFiles();
  const store = openStore(home, files);
  const threads = threadsOn(store, TEXT);
  const session = await threads.start({ source: "exec", settings: SETTINGS });
  const cost = await costOf({ home, thread: session.thread, files, counts, turns }, (count) => converse(session, { turns: count, message: TEXT }));
  await threads.closeAll("measured");
  await store.close();
  return cost;
}

interface Measuring {
  home: string;
  thread: string;
  files: Files;
  counts: FileCounts;
  turns: number;
}

async function costOf({ home, thread, files, counts, turns }: Measuring, run: (turns: number) => Promise<void>): Promise<TurnsCost> {
  const log = join(home, "sessions", thread, "rollout.jsonl");
  const lengthOf = () => files.stat(log)!.size;
  await run(2 * BLOCK);
  const before = lengthOf();
  const { cost } = await counted(counts, () => run(BLOCK));
  const perBlock = { writes: cost.syncs + cost.folderSyncs, bytes: Math.round((lengthOf() - before) / (cost.syncs + cost.folderSyncs)) };
  const raw = rawWriter(join(home, "raw"));
  const ours: number[] = [];
  const floors: number[] = [];
  const start = { bytes: lengthOf(), ...counts };
  for (let done = 0; done < turns; done += BLOCK) {
    ours.push(await milliseconds(() => run(BLOCK)));
    floors.push(await milliseconds(() => raw.write(perBlock)));
  }
  raw.close();
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  return {
    milliseconds: total(ours),
    floor: total(floors),
    timesFloor: median(ours) / median(floors),
    bytes: lengthOf() - start.bytes,
    syncs: counts.syncs + counts.folderSyncs - start.syncs - start.folderSyncs,
    writes: counts.writes - start.writes,
  };
}

export async function turnsRows({ data, quick }: Bench): Promise<{ rows: Row[]; growth: Growth[] }> {
  const turns = quick ? 200 : 1000;
  const repeat = async (run: typeof recordTurns) => {
    const costs: TurnsCost[] = [];
    for (let round = 0; round < (quick ? 1 : 3); round++) costs.push(await run(data.folder("turns"), turns));
    const of = (value: (cost: TurnsCost) => number) => ({ samples: costs.map(value), value: median(costs.map(value)) });
    return { last: costs[0]!, time: of((cost) => cost.milliseconds), floor: of((cost) => cost.floor), timesFloor: of((cost) => cost.timesFloor) };
  };
  const records = await repeat(recordTurns);
  const runtime = await repeat(runtimeTurns);
  const tenth = await recordTurns(data.folder("turns"), turns / 10);
  const { last } = records;
  const raw = "the same writes and syncs, raw";
  const rows = [
    row({ name: `${turns} two-message turns, durable`, unit: "ms", ...records.time, floor: { name: raw, value: records.floor.value } }),
    row({ name: `${turns} two-message turns, durable, times the sync floor`, unit: "ratio", ...records.timesFloor, bar: { most: 1.2 } }),
    row({ name: "syncs a turn", unit: "count", value: last.syncs / turns, bar: { most: 2 }, details: { writes: last.writes / turns } }),
    row({ name: "log bytes a byte of content, 2 kB a message", unit: "ratio", value: last.bytes / (turns * 2 * CONTENT), bar: { most: 1.3 }, details: { logBytes: last.bytes } }),
    row({
      name: `${turns} two-message turns through the runtime`,
      unit: "ms",
      ...runtime.time,
      floor: { name: raw, value: runtime.floor.value },
      details: { writes: runtime.last.writes / turns, timesFloor: runtime.timesFloor.value, bytesPerByteOfContent: runtime.last.bytes / (turns * 2 * CONTENT) },
    }),
    row({ name: "syncs a turn, through the runtime", unit: "count", value: runtime.last.syncs / turns, bar: { most: 2 } }),
  ];
  const grown = (name: string, unit: Row["unit"], of: (cost: TurnsCost) => number): Growth => ({
    name,
    unit,
    from: { size: `${turns / 10} turns`, value: of(tenth) },
    to: { size: `${turns} turns`, value: of(last) },
    ratio: of(last) / of(tenth),
    times: 10,
  });
  return { rows, growth: [grown("turns: log bytes", "bytes", (cost) => cost.bytes), grown("turns: time", "ms", (cost) => cost.milliseconds)] };
}
