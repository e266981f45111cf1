import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import type { LogRecord } from "../../src/protocol/record.ts";
import { bundled } from "../stores/bundle.ts";
import { added, mustOpen, newHome, range, ROOT, storeAt, threadWith } from "../stores/given.ts";

it("a reader follows what another process writes, from a cursor, without gaps, over its death and the next owner", async () => {
  const home = newHome("disk");
  const store = storeAt(home);
  await threadWith(store, range(0, 9).map((n) => added(`i${n}`)));
  const writer = spawn(process.execPath, [await bundled("test/crash/programs/holder.ts"), home, ROOT], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => writer.stdout.once("data", resolve));
  const stop = new AbortController();
  const seen: LogRecord[] = [];
  let last = Infinity;
  for await (const record of store.follow(ROOT, 5, stop.signal)) {
    seen.push(record);
    if (seen.length === 500) {
      const gone = new Promise((resolve) => writer.on("close", resolve));
      writer.kill("SIGKILL");
      await gone;
      const { log } = await mustOpen(store);
      last = log.append([added("from the next owner")])[0]!.seq;
    }
    if (record.seq === last) stop.abort();
  }
  expect(seen.map(({ seq }) => seq)).toEqual(range(5, 5 + seen.length));
  expect(seen.at(-1)).toMatchObject({ id: "from the next owner" });
  expect(seen.length).toBeGreaterThanOrEqual(500);
  await store.close();
}, 60_000);
