/** Reading a whole log, every line verified. */
import type { Bench } from "./bench.ts";
import { readFloors } from "./floors.ts";
import { openStore } from "./host.ts";
import { inChildren, median, repeated, row, type Growth, type Row } from "./measure.ts";
import type { ReadingAll } from "./tasks.ts";

export async function readRows({ data, quick, times }: Bench): Promise<{ rows: Row[]; growth: Growth[] }> {
  const { home, made } = await data.session(50);
  const small = await data.session(5);
  const floors = await readFloors(made.log, times);
  const read = (from: { home: string; thread: string }) => async () => {
    const store = openStore(from.home);
    let records = 0;
    for await (const record of store.read(from.thread, {})) records += record.seq >= 0 ? 1 : 0;
    await store.close();
    return records;
  };
  const samples = await repeated(times, read({ home, thread: made.thread }));
  const tenth = median(await repeated(times, read({ home: small.home, thread: small.made.thread })));
  const cold = await inChildren<ReadingAll>(quick ? 1 : 3, { task: "read", given: { home, thread: made.thread } });
  const { readCrcMilliseconds, parseMilliseconds } = floors;
  const value = median(samples);
  const rows = [
    row({ name: "floor: read and CRC of 50 MB", unit: "ms", value: readCrcMilliseconds }),
    row({ name: "floor: JSON.parse of its lines", unit: "ms", value: parseMilliseconds }),
    row({
      name: "verified read of a 50 MB log",
      unit: "ms",
      value,
      bar: { most: 350 },
      samples,
      floor: { name: "read, CRC and parse", value: readCrcMilliseconds + parseMilliseconds },
      details: {
        timesFloor: value / (readCrcMilliseconds + parseMilliseconds),
        bytes: made.bytes,
        records: made.records,
        firstInProcess: median(cold.map((each) => each.milliseconds)),
        processorMilliseconds: median(cold.map((each) => each.processor)),
        peakMegabytes: median(cold.map((each) => each.megabytes)),
      },
    }),
  ];
  const growth: Growth[] = [{ name: "verified read", unit: "ms", from: { size: "5 MB", value: tenth }, to: { size: "50 MB", value }, ratio: value / tenth, times: made.bytes / small.made.bytes }];
  return { rows, growth };
}
