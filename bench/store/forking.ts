/** Forking through the runtime: what the user waits for. */
import type { Bench } from "./bench.ts";
import { inChildren, median, row, type Growth, type Row } from "./measure.ts";
import type { Forking } from "./tasks.ts";

export async function forkRows({ data, quick, times, sizes }: Bench): Promise<{ rows: Row[]; growth: Growth[] }> {
  const megabytes = sizes.includes(200) ? 200 : sizes.at(-1)!;
  const large = await measure(await data.session(megabytes));
  const small = await measure(await data.session(sizes[0]!));
  const rows = [
    row({
      name: `fork of a ${megabytes} MB session`,
      unit: "ms",
      value: large.time,
      bar: { most: 15 },
      samples: large.samples,
      details: { firstInProcess: large.first, processorMilliseconds: large.processor, peakMegabytes: large.megabytes, cost: large.cost },
    }),
    row({ name: `fork of a ${megabytes} MB session: its folder, closed`, unit: "bytes", value: large.folderBytes, bar: { most: 2048 } }),
  ];
  const growth: Growth[] = [
    { name: "fork: time", unit: "ms", from: { size: `${sizes[0]} MB`, value: small.time }, to: { size: `${megabytes} MB`, value: large.time }, ratio: large.time / small.time, times: megabytes / sizes[0]! },
    { name: "fork: bytes read", unit: "bytes", from: { size: `${sizes[0]} MB`, value: small.cost.read }, to: { size: `${megabytes} MB`, value: large.cost.read }, ratio: large.cost.read / small.cost.read, times: megabytes / sizes[0]! },
  ];
  return { rows, growth };

  async function measure({ home, made }: { home: string; made: { thread: string } }) {
    const runs = await inChildren<Forking>(quick ? 1 : 3, { task: "fork", given: { home, thread: made.thread, times } });
    const samples = runs.flatMap((run) => run.warm);
    const [{ folderBytes, cost }] = runs as [Forking];
    return { time: median(samples), samples, first: median(runs.map((run) => run.first)), processor: median(runs.map((run) => run.processor)), megabytes: median(runs.map((run) => run.megabytes)), folderBytes, cost };
  }
}
