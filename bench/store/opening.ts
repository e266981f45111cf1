/**
 * Opening a log to go on with it, at lengths from 1 to 1,000 MB, each time in a new process. What counts is what it adds to a turn: a
 * new session creates its thread where a resumed one opens it, with the same code loaded cold, so creating one is the floor.
 */
import type { Bench } from "./bench.ts";
import { inChildren, median, row, type Growth, type Row } from "./measure.ts";
import { deleteDerived, type Opening } from "./tasks.ts";

/** What resuming may take beyond a turn in a new session. */
const BARS = { with: 20, without: 50 };

export async function openRows({ data, times, sizes }: Bench): Promise<{ rows: Row[]; growth: Growth[] }> {
  const created = await inChildren<{ milliseconds: number; processor: number }>(times, { task: "create", given: { home: data.folder("create") } });
  const floor = { name: "creating a thread", value: median(created.map((each) => each.milliseconds)) };
  const processorFloor = median(created.map((each) => each.processor));
  const rows: Row[] = [row({ name: "floor: creating a thread, in a new process", unit: "ms", value: floor.value, details: { processorMilliseconds: processorFloor } })];
  const growth: Growth[] = [];
  for (const derived of ["with", "without"] as const) {
    const results: { megabytes: number; bytes: number; opening: Opening }[] = [];
    for (const megabytes of sizes) {
      const { home, made } = await data.session(megabytes);
      const given = { home, thread: made.thread };
      const before = derived === "without" ? () => deleteDerived(home, made.thread) : undefined;
      const openings = await inChildren<Opening>(times, { task: "open", given, ...(before ? { before } : {}) });
      const opening = middle(openings);
      results.push({ megabytes, bytes: made.bytes, opening });
      rows.push(
        row({
          name: `open of a ${megabytes} MB log, ${derived} derived files, beyond creating a thread`,
          unit: "ms",
          value: opening.milliseconds - floor.value,
          bar: { most: BARS[derived] },
          floor,
          samples: openings.map((each) => each.milliseconds - floor.value),
          details: { whole: opening.milliseconds, processorMilliseconds: opening.processor, peakMegabytes: opening.megabytes, bytesRead: opening.bytesRead, historyItems: opening.items, compactions: made.counts.compactions },
        }),
      );
    }
    const [from] = results;
    const to = results.at(-1);
    if (!from || !to || from === to) continue;
    const at = (value: (opening: Opening) => number, name: string, unit: Row["unit"]): Growth => ({
      name: `open ${derived} derived files: ${name}`,
      unit,
      from: { size: `${from.megabytes} MB`, value: value(from.opening) },
      to: { size: `${to.megabytes} MB`, value: value(to.opening) },
      ratio: value(to.opening) / value(from.opening),
      times: to.bytes / from.bytes,
    });
    growth.push(at((each) => each.milliseconds, "time", "ms"), at((each) => each.bytesRead, "bytes read", "bytes"), at((each) => each.megabytes, "peak memory", "MB"));
  }
  const { home, made } = await data.session(sizes.at(-1)!);
  const resumed = middle(await inChildren<Opening>(times, { task: "resume", given: { home, thread: made.thread } }));
  rows.push(row({ name: `resume of a ${sizes.at(-1)} MB log through the runtime, its records durable`, unit: "ms", value: resumed.milliseconds, details: { processorMilliseconds: resumed.processor, peakMegabytes: resumed.megabytes, bytesRead: resumed.bytesRead } }));
  return { rows, growth };
}

function middle(openings: readonly Opening[]): Opening {
  return {
    milliseconds: median(openings.map((each) => each.milliseconds)),
    processor: median(openings.map((each) => each.processor)),
    megabytes: median(openings.map((each) => each.megabytes)),
    bytesRead: median(openings.map((each) => each.bytesRead)),
    items: openings[0]!.items,
  };
}
