import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { bundled } from "../stores/bundle.ts";
import { newHome, records, ROOT, storeAt, threadWith } from "../stores/given.ts";
import { random } from "./content.ts";

const PROCESSES = 16;
const MILLISECONDS = 5000;

function run(program: string, args: string[]): { child: ChildProcess; done: Promise<{ held: number; refused: number }> } {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const done = new Promise<{ held: number; refused: number }>((resolve, reject) => {
    child.on("close", (code) => (code === 0 ? resolve(JSON.parse(out) as { held: number; refused: number }) : reject(new Error(err))));
  });
  return { child, done };
}

it("sixteen processes that want one thread, some of them stopped and continued, never write it together", async () => {
  const home = newHome("disk");
  const store = storeAt(home);
  await threadWith(store, []);
  const program = await bundled("test/crash/programs/contender.ts");
  const contenders = Array.from({ length: PROCESSES }, () => run(program, [home, ROOT, String(MILLISECONDS)]));
  const next = random(42);
  const stopping = (async () => {
    for (const end = Date.now() + MILLISECONDS; Date.now() < end; ) {
      const { child } = contenders[next() % PROCESSES]!;
      child.kill("SIGSTOP");
      await wait(next() % 60);
      child.kill("SIGCONT");
    }
  })();
  const results = await Promise.all(contenders.map(({ done }) => done));
  await stopping;
  const damage: string[] = [];
  const log = await records(store, ROOT, { onDamage: ({ why }) => damage.push(why) });
  expect(damage).toEqual([]);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_record, index) => index));
  let holder: { epoch: unknown; pid: unknown } | null = null;
  let held = 0;
  for (const record of log.slice(1) as unknown as { seq: number; type: string; epoch: number; pid: number }[]) {
    const { epoch, pid } = record;
    if (record.type === "writer.opened") {
      expect(holder).toBeNull();
      expect(epoch).toBe(record.seq);
      holder = { epoch, pid };
      held += 1;
    } else expect({ epoch, pid }).toEqual(holder);
    if (record.type === "writer.closed") holder = null;
  }
  expect(holder).toBeNull();
  expect(held).toBe(results.reduce((sum, result) => sum + result.held, 0));
  expect(held).toBeGreaterThan(PROCESSES);
  expect(results.reduce((sum, result) => sum + result.refused, 0)).toBeGreaterThan(0);
}, 120_000);

it("a stopped owner keeps the thread; a killed one loses it at once", async () => {
  const home = newHome("disk");
  const store = storeAt(home);
  await threadWith(store, []);
  const program = await bundled("test/crash/programs/holder.ts");
  const owner = spawn(process.execPath, [program, home, ROOT], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => owner.stdout.once("data", resolve));
  owner.kill("SIGSTOP");
  const refused = await store.open(ROOT);
  expect(refused).toMatchObject({ ok: false, why: "busy", owner: { pid: owner.pid, host: "elsewhere", socket: "/run/owner.sock" } });
  await wait(50);
  expect((await store.open(ROOT)).ok).toBe(false);
  await expect(store.remove(ROOT)).rejects.toMatchObject({ code: "busy" });
  const gone = new Promise((resolve) => owner.on("close", resolve));
  owner.kill("SIGKILL");
  await gone;
  const opened = await store.open(ROOT);
  expect(opened).toMatchObject({ ok: true });
  await store.close();
}, 60_000);
