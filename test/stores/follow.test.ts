import { appendFileSync, copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { StoreFault } from "../../src/core/store.ts";
import type { FileStore } from "../../src/stores/file/store.ts";
import { added, created, folderOf, logFile, mustOpen, newHome, range, ROOT, storeAt, threadId, threadWith } from "./given.ts";

/** Follows from `from`; `until(n)` waits until n records were seen. */
function following(store: FileStore, from: number) {
  const stop = new AbortController();
  const seen: number[] = [];
  let wake = () => {};
  const ended: { fault: unknown } = { fault: null };
  const done = (async () => {
    try {
      for await (const { seq } of store.follow(ROOT, from, stop.signal)) {
        seen.push(seq);
        wake();
      }
    } catch (error) {
      ended.fault = error;
    }
    wake();
  })();
  const until = async (count: number) => {
    while (seen.length < count && ended.fault === null) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { seen, until, fault: () => ended.fault, done, stop: () => (stop.abort(), done) };
}

async function writing() {
  const home = newHome();
  const store = storeAt(home);
  const log = await store.create(ROOT, created());
  return { home, store, log, file: logFile(home) };
}

describe("following", () => {
  it("gives a line only when it is complete, and never what is damaged", async () => {
    const { store, log, file } = await writing();
    log.append([added("a"), added("b")]);
    await log.close();
    const lines = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, `${lines[0]}\n`);
    const { seen, until, stop } = following(store, 0);
    await until(1);
    appendFileSync(file, lines[1]!.slice(0, 20));
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(seen).toEqual([0]);
    appendFileSync(file, `${lines[1]!.slice(20)}\nrubbish\n${lines[2]}\n`);
    await until(3);
    expect(seen).toEqual([0, 1, 2]);
    await stop();
    expect(readFileSync(file, "utf8")).toContain("rubbish");
  });

  it("goes on in the file that replaces the log", async () => {
    const { store, log, file } = await writing();
    log.append(range(0, 5).map((n) => added(`i${n}`)));
    const { seen, until, stop } = following(store, 2);
    await until(4);
    await log.close();
    copyFileSync(file, `${file}.scrubbed`);
    renameSync(`${file}.scrubbed`, file);
    const { log: next } = await mustOpen(store);
    next.append([added("after the scrub")]);
    await until(5);
    expect(seen).toEqual([2, 3, 4, 5, 6]);
    await stop();
    await store.close();
  });

  it("goes on when the thread is moved to the archive, and ends when it is removed", async () => {
    const { store, log, home } = await writing();
    const { seen, until, done } = following(store, 0);
    await until(1);
    await log.close();
    await store.archive(ROOT);
    const { log: next } = await mustOpen(store);
    next.append([added("in the archive")]);
    await until(2);
    await next.close();
    await store.remove(ROOT);
    await done;
    expect(seen).toEqual([0, 1]);
    expect(folderOf(home)).toContain(ROOT);
    await store.close();
  });

  it("waits for a cursor that lies ahead", async () => {
    const { store, log } = await writing();
    const { seen, until, stop } = following(store, 3);
    for (const n of range(0, 5)) {
      log.append([added(`i${n}`)]);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await until(3);
    expect(seen).toEqual([3, 4, 5]);
    await stop();
    await store.close();
  });

  it("says so when records that it gave were taken back", async () => {
    const { store, log, file } = await writing();
    log.append([added("a"), added("b")]);
    const follower = following(store, 0);
    await follower.until(3);
    truncateSync(file, readFileSync(file, "utf8").split("\n").slice(0, 2).join("\n").length + 1);
    await follower.done;
    expect(follower.fault()).toBeInstanceOf(StoreFault);
    expect(follower.fault()).toMatchObject({ code: "taken_back", poisoned: false });
    await store.close();
  });

  it("begins with a header that had to be rebuilt", async () => {
    const { store, log, file } = await writing();
    log.append([added("a")]);
    await log.close();
    writeFileSync(file, readFileSync(file, "utf8").replace('"source":"exec"', '"source":"exce"'));
    const { seen, until, stop } = following(store, 0);
    await until(2);
    expect(seen).toEqual([0, 1]);
    await stop();
  });

  it("of two threads does not mix them", async () => {
    const { store, log } = await writing();
    await threadWith(store, range(0, 4).map((n) => added(`o${n}`)), threadId(1));
    log.append([added("a")]);
    const { seen, until, stop } = following(store, 0);
    await until(2);
    expect(seen).toEqual([0, 1]);
    await stop();
    await store.close();
  });
});
