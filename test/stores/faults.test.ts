/**
 * Every call that the store makes to the operating system fails once, in every way that such a call can fail. Then: nothing was
 * acknowledged that is not there, the log is readable, the fault is a StoreFault, and the same step works once the cause is gone.
 */
import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { StoreFault, type Log } from "../../src/core/store.ts";
import type { Draft, LogRecord, ThreadId } from "../../src/protocol/record.ts";
import type { FileStore } from "../../src/stores/file/store.ts";
import { FaultyFiles, quickFiles, type Fault } from "./faulty.ts";
import { added, created, logFile, newHome, range, records, ROOT, seqs, sized, storeAt, threadId } from "./given.ts";

const FORK = threadId(1);
const OTHER = threadId(2);
const OTHER_FORK = threadId(3);
const FAULTS: readonly Fault[] = ["EIO", "ENOSPC", "EMFILE", "EROFS", "short_write"];

class World {
  readonly home = newHome();
  readonly faulty = new FaultyFiles(quickFiles);
  readonly store: FileStore = storeAt(this.home, { files: this.faulty.files });
  readonly acknowledged = new Map<ThreadId, LogRecord[]>();
  /** A batch failed so that it is not known how much of it is in the file. */
  readonly unsure = new Set<ThreadId>();
  readonly durable = new Map<ThreadId, number>();
  readonly faults: StoreFault[] = [];
  refusals = 0;
  #log: { thread: ThreadId; log: Log } | null = null;

  /** Does a step; when it fails, the cause goes away and it is done again. */
  async step(action: () => unknown): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (this.faulty.isDead) throw new Dead("", { cause: error });
      if (error instanceof Refused) this.refusals += 1;
      else if (error instanceof StoreFault) this.faults.push(error);
      else throw error;
      this.faulty.disarm();
      if (error instanceof StoreFault && error.poisoned) await this.drop();
      await action();
    }
  }

  async log(thread: ThreadId = ROOT): Promise<Log> {
    if (this.#log?.thread === thread) return this.#log.log;
    await this.close();
    const opened = await this.store.open(thread);
    if (!opened.ok) throw new Refused(opened.message);
    this.#log = { thread, log: opened.log };
    return opened.log;
  }
  async create(thread: ThreadId, draft: Draft): Promise<void> {
    await this.close();
    const left = this.faults.at(-1)?.message.includes("could not be taken back") && (await this.store.header(thread)) !== null;
    const log = left ? await this.log(thread) : await this.store.create(thread, draft);
    this.#log = { thread, log };
    this.acknowledged.set(thread, []);
    this.durable.set(thread, log.head);
  }
  async append(drafts: Draft[], thread: ThreadId = ROOT): Promise<void> {
    const log = await this.log(thread);
    try {
      this.acknowledged.get(thread)!.push(...log.append(drafts));
    } catch (error) {
      if (error instanceof StoreFault && error.poisoned) this.unsure.add(thread);
      throw error;
    }
  }
  async sync(thread: ThreadId = ROOT): Promise<void> {
    const log = await this.log(thread);
    const { head } = log;
    await log.durable(head - 1);
    this.durable.set(thread, head);
  }
  async close(): Promise<void> {
    const held = this.#log;
    this.#log = null;
    await held?.log.close();
  }
  async drop(): Promise<void> {
    try {
      await this.close();
    } catch (error) {
      if (!(error instanceof StoreFault)) throw error;
    }
  }
}
class Refused extends Error {}
class Dead extends Error {}

const big = () => [sized("a", 3000), added("b"), sized("c", 100)];

async function scenario(world: World): Promise<void> {
  const { store, home } = world;
  const metadata = { id: ROOT, title: "t" } as never;
  await world.step(async () => world.acknowledged.has(ROOT) || world.create(ROOT, created()));
  await world.step(() => world.append(big()));
  await world.step(() => world.sync());
  await world.step(() => world.append([added("d")]));
  await world.step(() => world.sync());
  let blob = { sha256: "", bytes: 0 };
  await world.step(async () => (blob = await store.blobs.put(ROOT, Buffer.from("a diff"))));
  await world.step(async () => expect(String(Buffer.from((await store.blobs.get(ROOT, blob))!))).toBe("a diff"));
  await world.step(async () => (await world.log()).live.add({ id: "m", kind: "message", delta: "hello" }));
  await world.step(async () => (await world.log()).live.clear());
  await world.step(async () => (await world.log()).derive({ metadata, state: { s: 1 }, diffs: [{ number: 1, content: blob }] }));
  await world.step(() => world.close());
  appendFileSync(logFile(home), '{"v":1,"torn');
  await world.step(() => world.append(big()));
  await world.step(() => world.sync());
  await world.step(async () => world.acknowledged.has(FORK) || world.create(FORK, created(FORK, { thread: ROOT, before: 4 })));
  await world.step(() => world.append([added("f")], FORK));
  await world.step(() => world.sync(FORK));
  await world.step(() => world.close());
  await world.step(() => store.archive(ROOT));
  await world.step(() => world.append([added("in the archive")]));
  await world.step(() => world.close());
  await world.step(() => store.unarchive(ROOT));
  await world.step(async () => expect(await seqs(store, ROOT, { order: "backward" })).toHaveLength(await store.head(ROOT).then(Number)));
  await world.step(async () => expect(await store.find("01")).toContain(FORK));
  await world.step(() => store.active());
  await world.step(() => store.list({}));
  await world.step(() => store.rebuildDerived(ROOT));
  await world.step(async () => world.acknowledged.has(OTHER) || world.create(OTHER, created(OTHER)));
  await world.step(async () => world.acknowledged.has(OTHER_FORK) || world.create(OTHER_FORK, created(OTHER_FORK, { thread: OTHER, before: 1 })));
  await world.step(() => world.close());
  await world.step(() => gone(store, OTHER));
  await world.step(() => gone(store, OTHER_FORK));
  await world.step(() => world.append([added("last")]));
  await world.step(() => world.sync());
}

/** Removing again what is gone already is not found; that is fine after a fault. */
async function gone(store: FileStore, thread: ThreadId): Promise<void> {
  const opened = await store.open(thread);
  if (!opened.ok && opened.why === "not_found") return;
  if (opened.ok) await opened.log.close();
  await store.remove(thread);
}

async function verify(world: World): Promise<void> {
  await world.drop();
  await world.store.close();
  expect([...world.faulty.open], "descriptors left open").toEqual([]);
  const store = storeAt(world.home);
  for (const thread of [ROOT, FORK]) {
    const acknowledged = world.acknowledged.get(thread)!;
    const all = await records(store, thread);
    expect(all[0]).toMatchObject({ type: "thread.created", id: thread });
    const read = all.slice(1);
    expect(read.filter(({ seq }) => acknowledged.some((record) => record.seq === seq))).toEqual(acknowledged);
    if (!world.unsure.has(thread)) expect(read).toEqual(acknowledged);
    expect(all.map(({ seq }) => seq)).toEqual(range(all[0]!.seq, all[0]!.seq + all.length));
    expect(all.at(-1)!.seq + 1).toBeGreaterThanOrEqual(world.durable.get(thread)!);
    const opened = await store.open(thread);
    expect(opened).toMatchObject({ ok: true });
  }
  // What a fault left over of a removal is swept when the next thread is made.
  await (await store.create(threadId(4), created(threadId(4)))).close();
  await store.close();
  expect(await store.header(OTHER)).toBeNull();
  expect(await store.header(OTHER_FORK)).toBeNull();
}

describe.each(FAULTS)("%s", (fault) => {
  it("at each call: surfaces as a fault, acknowledges nothing falsely, and passes", async () => {
    const counting = new World();
    counting.faulty.count(fault);
    await scenario(counting);
    const { calls } = counting.faulty;
    await verify(counting);
    expect(calls).toBeGreaterThan(fault === "short_write" ? 10 : 50);
    let surfaced = 0;
    for (const n of range(0, calls)) {
      const world = new World();
      world.faulty.arm(fault, n);
      await failing(world, `${fault} at call ${n}`);
      surfaced += world.faults.length + world.refusals;
    }
    expect(surfaced).toBeGreaterThan(calls / 4);
  }, 120_000);

  it("for as long as it lasts: the same", async () => {
    const counting = new World();
    counting.faulty.count(fault);
    await scenario(counting);
    await verify(counting);
    for (let n = 0; n < counting.faulty.calls; n += Number(process.env["FAULT_STEP"] ?? 7)) {
      const world = new World();
      world.faulty.arm(fault, n, Infinity);
      await failing(world, `${fault} from call ${n} on`);
    }
  }, 120_000);
});

describe("death of the process", () => {
  it("at each call: everything acknowledged is there, and every thread is whole or was never made", async () => {
    const counting = new World();
    counting.faulty.count("death");
    await scenario(counting);
    const { calls } = counting.faulty;
    expect(calls).toBeGreaterThan(500);
    for (const n of range(0, calls)) {
      const world = new World();
      world.faulty.arm("death", n, Infinity);
      try {
        await scenario(world);
        expect.fail("it lived");
      } catch (error) {
        if (!(error instanceof Dead)) throw error;
      }
      world.faulty.die();
      try {
        await survive(world);
      } catch (error) {
        throw new Error(`death at call ${n} (${world.faulty.hit}): ${(error as Error).message}`, { cause: error });
      }
    }
  }, 240_000);
});

/** The next process finds what was promised, can go on with it, and can make and remove threads. */
async function survive(world: World): Promise<void> {
  const store = storeAt(world.home, { files: quickFiles });
  const made = [...world.acknowledged.keys()];
  for (const thread of await store.find("")) {
    const opened = await store.open(thread);
    if (!opened.ok) throw new Error(opened.message);
    const all = await records(store, thread);
    expect(all[0]).toMatchObject({ type: "thread.created", id: thread });
    expect(all.map(({ seq }) => seq)).toEqual(range(all[0]!.seq, all[0]!.seq + all.length));
    const acknowledged = world.acknowledged.get(thread) ?? [];
    expect(all.slice(1, 1 + acknowledged.length)).toEqual(acknowledged);
    opened.log.append([added("goes on")]);
    await opened.log.close();
  }
  for (const thread of [ROOT, FORK]) if (made.includes(thread)) expect(await store.find(thread)).toEqual([thread]);
  if (await store.header(FORK)) expect((await records(store, ROOT)).length).toBeGreaterThanOrEqual(4);
  for (const thread of [OTHER_FORK, OTHER, FORK, ROOT]) if ((await store.find(thread)).length > 0) await store.remove(thread);
  await (await store.create(threadId(4), created(threadId(4)))).close();
  for (const thread of [OTHER_FORK, OTHER, FORK, ROOT]) expect(await store.header(thread), thread).toBeNull();
  await store.close();
}

async function failing(world: World, what: string): Promise<void> {
  try {
    await scenario(world);
    world.faulty.disarm();
    await verify(world);
  } catch (error) {
    throw new Error(`${what} (${world.faulty.hit}): ${(error as Error).message}`, { cause: error });
  }
}
