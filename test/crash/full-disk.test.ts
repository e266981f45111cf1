/** A disk that is really full: a small file system in memory, which only root can mount. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { StoreFault } from "../../src/core/store.ts";
import { added, created, mustOpen, newHome, range, records, ROOT, seqs, sized, storeAt, threadId } from "../stores/given.ts";

const disk = newHome("disk");
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "skein-test", disk], { encoding: "utf8" });
const why = mounted.status === 0 ? null : (mounted.stderr ?? "").trim() || "there is no mount command";
if (why) process.stderr.write(`SKIPPED: the tests of a full disk need a small file system, which could not be mounted (it needs root): ${why}\n`);
afterAll(() => {
  if (!why) execFileSync("umount", [disk]);
});

const home = (name: string) => join(disk, name);
function fill(): () => void {
  const filler = join(disk, "filler");
  try {
    for (const part of range(0, 4096)) writeFileSync(`${filler}-${part}`, Buffer.alloc(4096));
  } catch {
    // It is full now.
  }
  return () => {
    for (const part of range(0, 4096)) rmSync(`${filler}-${part}`, { force: true });
  };
}

describe.skipIf(why !== null)("a full disk (needs root, to mount a small file system)", () => {
  it("refuses an append, keeps the log as it was, and takes appends again once there is room", async () => {
    mkdirSync(home("a"));
    const store = storeAt(home("a"));
    const log = await store.create(ROOT, created());
    const acknowledged = [...log.append([added("first")])];
    const free = fill();
    let faults = 0;
    for (const n of range(0, 20)) {
      try {
        acknowledged.push(...log.append([sized(`i${n}`, 3000), sized(`j${n}`, 3000)]));
      } catch (error) {
        expect(error).toBeInstanceOf(StoreFault);
        expect(error).toMatchObject({ poisoned: false });
        faults += 1;
      }
    }
    expect(faults).toBeGreaterThan(10);
    expect((await records(store)).slice(1)).toEqual(acknowledged);
    await expect(store.create(threadId(1), created(threadId(1)))).rejects.toMatchObject({ code: "ENOSPC" });
    await expect(store.blobs.put(ROOT, Buffer.alloc(50_000))).rejects.toMatchObject({ code: "ENOSPC" });
    await expect(log.derive({ metadata: { id: ROOT } as never, state: { long: "x".repeat(20_000) }, diffs: [] })).rejects.toMatchObject({ code: "ENOSPC" });
    free();
    acknowledged.push(...log.append([sized("again", 5000)]));
    await log.durable(log.head - 1);
    await log.close();
    expect((await records(store)).slice(1)).toEqual(acknowledged);
    await (await store.create(threadId(1), created(threadId(1)))).close();
    expect(await store.find("")).toEqual([ROOT, threadId(1)]);
    await store.close();
  });

  it("does not keep a thread from being opened and read", async () => {
    mkdirSync(home("b"));
    const store = storeAt(home("b"));
    const log = await store.create(ROOT, created());
    log.append([added("a")]);
    await log.close();
    const free = fill();
    expect(await seqs(store)).toEqual([0, 1]);
    const opened = await mustOpen(store);
    expect(opened.log.head).toBe(2);
    free();
    expect(opened.log.append([added("b")])[0]!.seq).toBe(2);
    await store.close();
  });
});
