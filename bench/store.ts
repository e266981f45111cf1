/**
 * npm run -s bench -- store [ROWS...] [--quick] [--peers] [--disk] [--keep]
 *
 * Measures the store against the bars of the design and prints JSON; progress goes to stderr. Rows: append, turns, read, open, fork,
 * library; all of them without a name. Floors (raw writes, syncs, reads, parsing, Node itself) are measured in the same run.
 *
 *   --quick   a tenth of the size and fewer repetitions: to see that it works, not for numbers
 *   --peers   other stores beside ours, installed on demand under node_modules/.cache/bench-peers
 *   --disk    the many small sessions on the disk, too, instead of in /dev/shm
 *
 * "open", "fork" and "library" measure in new processes, for cold code and true memory. The data is described in generate/mix.ts
 * and removed at the end.
 */
import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { appendRows } from "./store/append.ts";
import type { Bench } from "./store/bench.ts";
import { createData } from "./store/data.ts";
import { bareNode } from "./store/floors.ts";
import { forkRows } from "./store/forking.ts";
import { libraryRows } from "./store/library.ts";
import { row, rounded, say, tidy, type Growth, type Row } from "./store/measure.ts";
import { openRows } from "./store/opening.ts";
import { peers, type Peer } from "./store/peers.ts";
import { readRows } from "./store/reading.ts";
import { TASKS } from "./store/tasks.ts";
import { turnsRows } from "./store/turns.ts";

type Measured = { rows: Row[]; growth: Growth[] };

const GROUPS: Record<string, (bench: Bench) => Promise<Measured>> = {
  append: async (bench) => ({ rows: await appendRows(bench), growth: [] }),
  turns: turnsRows,
  read: readRows,
  open: openRows,
  fork: forkRows,
  library: libraryRows,
};

if (process.argv[2] === "--child") {
  const [task, given] = process.argv.slice(3);
  const answer: unknown = await TASKS[task!]!(JSON.parse(given!) as never);
  process.stdout.write(JSON.stringify(answer));
} else await main();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: "boolean", default: false }, peers: { type: "boolean", default: false }, disk: { type: "boolean", default: false } },
  });
  const unknown = positionals.find((name) => !(name in GROUPS));
  if (unknown !== undefined) throw new Error(`There is no row "${unknown}"; there are: ${Object.keys(GROUPS).join(", ")}`);
  const names = positionals.length > 0 ? positionals : Object.keys(GROUPS);
  const { quick } = values;
  const data = createData({ onDisk: values.disk });
  const bench: Bench = { data, quick, times: quick ? 3 : 7, sizes: quick ? [1, 20] : [1, 50, 200, 1000], sessions: quick ? 2000 : 50_000 };
  const rows: Row[] = [];
  const growth: Growth[] = [];
  let beside: Peer[] = [];
  const started = performance.now();
  const load = loadavg()[0];
  try {
    await data.prepare(wanted(names, bench));
    const node = await bareNode(bench.times);
    rows.push(row({ name: "floor: bare Node", unit: "ms", value: node.milliseconds, details: { peakMegabytes: node.megabytes } }));
    for (const name of names) {
      say(name);
      const measured = await GROUPS[name]!(bench);
      rows.push(...measured.rows);
      growth.push(...measured.growth);
    }
    if (values.peers) beside = await peers(bench);
  } finally {
    data.remove();
  }
  const result = {
    machine: { ...machine(), load: { before: load, after: loadavg()[0] }, data: data.root, manySessions: data.memory },
    node: process.version,
    quick,
    seconds: rounded((performance.now() - started) / 1000),
    rows,
    growth: tidy(growth),
    ...(values.peers ? { peers: beside } : {}),
    missed: rows.filter(({ met }) => met === false).map(({ name, value, bar }) => ({ name, value, bar })),
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
}

function wanted(names: readonly string[], { sizes, sessions }: Bench): { megabytes: number[]; sessions: number[] } {
  const megabytes = new Set<number>();
  if (names.includes("read")) for (const size of [5, 50]) megabytes.add(size);
  if (names.includes("open")) for (const size of sizes) megabytes.add(size);
  if (names.includes("fork")) for (const size of [sizes[0]!, sizes.includes(200) ? 200 : sizes.at(-1)!]) megabytes.add(size);
  return { megabytes: [...megabytes], sessions: names.includes("library") ? [sessions, sessions / 10] : [] };
}

function machine(): object {
  return { cpu: cpus()[0]?.model, cores: cpus().length, memoryMegabytes: Math.round(totalmem() / 1e6), system: `${platform()} ${release()} ${arch()}`, governor: governor() };
}

function governor(): string | null {
  try {
    return readFileSync("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "utf8").trim();
  } catch {
    return null;
  }
}
