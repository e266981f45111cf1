/** What lies in a home: permissions, derived files, blobs, the owner, and what is left over. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stateFile, summaryOf } from "../../src/core/derived.ts";
import { realFiles } from "../../src/stores/file/files.ts";
import { homeAt } from "../../src/stores/file/layout.ts";
import { loadState } from "../../src/stores/file/loading.ts";
import { startOf } from "../../src/stores/file/owner.ts";
import { summarize } from "../../src/stores/file/summary.ts";
import { bundled } from "./bundle.ts";
import { FaultyFiles } from "./faulty.ts";
import { added, appended, created, folderOf, logFile, mustOpen, newHome, queued, range, ROOT, seqs, storeAt, threadId, threadWith } from "./given.ts";

function everyPath(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...everyPath(path)] : [path];
  });
}

describe("permissions", () => {
  it.each(["000", "022", "027", "077", "277"])("with umask %s every file is 0600 and every folder 0700", async (umask) => {
    const program = await bundled("test/stores/programs/everything.ts");
    const home = join(newHome(), "home");
    const { status, stderr } = spawnSync(process.execPath, [program, home, umask], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const modes = [home, ...everyPath(home)].filter((path) => !lstatSync(path).isSymbolicLink()).map((path) => [path.slice(home.length), statSync(path).isDirectory(), (statSync(path).mode & 0o777).toString(8)]);
    expect(modes.filter(([, isFolder, mode]) => mode !== (isFolder ? "700" : "600"))).toEqual([]);
    const names = new Set(modes.map(([path]) => String(path).split("/").at(-1)));
    for (const name of ["rollout.jsonl", "live.jsonl", "lock", "owner.json", "metadata.json", "state.json", "blobs", "diffs", "001.diff", "children", "hidden", "archive"]) expect(names).toContain(name);
    expect([...names].some((name) => name?.startsWith("rollout.jsonl.torn-"))).toBe(true);
  });

  it("are tightened on a log that was restored with looser ones", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, []);
    const { chmodSync } = await import("node:fs");
    chmodSync(logFile(home), 0o644);
    await (await mustOpen(store)).log.close();
    expect(statSync(logFile(home)).mode & 0o777).toBe(0o600);
  });
});

it("a home that cannot hold threads is refused without a claim that one is left there", async () => {
  const home = newHome();
  writeFileSync(join(home, "sessions"), "a file where a folder is due");
  await expect(storeAt(home).create(ROOT, created())).rejects.toThrow(/^Could not create thread .*There is no such thread, and nothing else was changed\.$/u);
});

describe("derived files", () => {
  async function conversation() {
    const home = newHome();
    const store = storeAt(home);
    const log = await store.create(ROOT, created());
    const diff = await store.blobs.put(ROOT, Buffer.from("--- a\n+++ b\n"));
    const second = await store.blobs.put(ROOT, Buffer.from("--- c\n+++ d\n"));
    log.append([
      queued("op1", "Hello there"),
      { type: "turn.started", inputs: [1], turn: "t1" },
      added("m1", "Hi"),
      { type: "turn.ended", status: "completed", diff, turn: "t1" },
      { type: "turn.ended", status: "completed", diff: second, turn: "t2" },
      { type: "thread.described", title: "A greeting" },
    ]);
    await log.durable(log.head - 1);
    const state = loadState(homeAt(home), ROOT, realFiles)!;
    await log.derive({ metadata: summaryOf(state), state: stateFile(state), diffs: [{ number: 1, content: diff }, { number: 2, content: second }] });
    await log.close();
    return { home, store };
  }
  const FILES = ["metadata.json", "state.json", "diffs/001.diff", "diffs/002.diff"];
  const contents = (home: string) => FILES.map((name) => readFileSync(join(folderOf(home), name), "utf8"));

  it("come back byte for byte from the log alone", async () => {
    const { home, store } = await conversation();
    const before = contents(home);
    expect(before[2]).toBe("--- a\n+++ b\n");
    for (const name of [...FILES, null]) {
      for (const gone of name === null ? FILES : [name]) rmSync(join(folderOf(home), gone));
      await store.rebuildDerived(ROOT);
      expect(contents(home)).toEqual(before);
    }
    await store.close();
  });

  it.each(["missing", "unreadable", "of another thread"])("that are %s are made again on opening, equal to before", async (how) => {
    for (const name of ["metadata.json", "state.json"]) {
      const { home, store } = await conversation();
      const before = contents(home);
      const path = join(folderOf(home), name);
      if (how === "missing") rmSync(path);
      else writeFileSync(path, how === "unreadable" ? "{" : name === "state.json" ? "[]" : before[0]!.replace(ROOT, threadId(8)));
      await (await mustOpen(store)).log.close();
      expect(contents(home)).toEqual(before);
      await store.close();
    }
  });

  it("are not what a summary depends on", async () => {
    const { home } = await conversation();
    const written = summarize(home, ROOT);
    expect(written).toMatchObject({ id: ROOT, title: "A greeting", preview: "Hello there", turns: 1 });
    rmSync(join(folderOf(home), "metadata.json"));
    expect(summarize(home, ROOT)).toEqual(written);
    expect(summarize(home, threadId(5))).toBeNull();
  });

  it("are not rewritten when nothing changed", async () => {
    const { home, store } = await conversation();
    const path = join(folderOf(home), "metadata.json");
    utimesSync(path, 1, 1);
    await store.rebuildDerived(ROOT);
    expect(statSync(path).mtimeMs).toBe(1000);
    await store.close();
  });

  it("a link names the active thread, relative, and is replaced only when that changes", async () => {
    const home = newHome();
    const store = storeAt(home);
    const link = join(home, "sessions/active");
    await threadWith(store, []);
    expect(readlinkSync(link)).toBe(ROOT);
    const { ino } = lstatSync(link);
    await (await mustOpen(store)).log.close();
    expect(lstatSync(link).ino).toBe(ino);
    await threadWith(store, [], threadId(1));
    expect(readlinkSync(link)).toBe(threadId(1));
    await store.remove(threadId(1));
    expect(await store.active()).toBeNull();
    expect(readdirSync(join(home, "sessions")).filter((name) => name.includes("tmp"))).toEqual([]);
    await store.close();
  });

  it("that cannot be written fail their promise and nothing else", async () => {
    const faulty = new FaultyFiles();
    const home = newHome();
    const store = storeAt(home, { files: faulty.files });
    const log = await store.create(ROOT, created());
    faulty.arm("ENOSPC", 0, Infinity);
    await expect(log.derive({ metadata: { id: ROOT } as never, state: {}, diffs: [] })).rejects.toMatchObject({ code: "ENOSPC", poisoned: false });
    faulty.disarm();
    expect(log.append([added("a")])).toHaveLength(1);
    await log.derive({ metadata: { id: ROOT } as never, state: {}, diffs: [] });
    await store.close();
  });
});

describe("blobs", () => {
  it("are on the medium before put resolves, and are not written twice", async () => {
    const calls: string[] = [];
    const files = new Proxy(realFiles, {
      get: (target, name: keyof typeof realFiles) => {
        const call = target[name] as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          if (["write", "sync", "rename", "syncFolder"].includes(name)) calls.push(name);
          return call(...args);
        };
      },
    });
    const store = storeAt(newHome(), { files });
    await threadWith(store, []);
    calls.length = 0;
    const [first, same] = await Promise.all([store.blobs.put(ROOT, Buffer.from("x")), store.blobs.put(ROOT, Buffer.from("x"))]);
    expect(first).toEqual(same);
    expect(calls).toEqual(["syncFolder", "write", "sync", "rename", "syncFolder"]);
    calls.length = 0;
    await store.blobs.put(ROOT, Buffer.from("x"));
    expect(calls).toEqual(["syncFolder"]);
    await store.close();
  });

  it("put by an earlier process are synced once more and not rewritten", async () => {
    const home = newHome();
    await threadWith(storeAt(home), []);
    const ref = await storeAt(home).blobs.put(ROOT, Buffer.from("x"));
    const path = join(folderOf(home), "blobs", ref.sha256);
    const { ino } = statSync(path);
    expect(await storeAt(home).blobs.put(ROOT, Buffer.from("x"))).toEqual(ref);
    expect(statSync(path).ino).toBe(ino);
  });

  it("that are damaged count as missing, and putting them again mends them", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, []);
    const ref = await store.blobs.put(ROOT, Buffer.from("precious"));
    const path = join(folderOf(home), "blobs", ref.sha256);
    writeFileSync(path, "preciouz");
    expect(await store.blobs.get(ROOT, ref)).toBeNull();
    await storeAt(home).blobs.put(ROOT, Buffer.from("precious"));
    expect(String(Buffer.from((await store.blobs.get(ROOT, ref))!))).toBe("precious");
    await store.close();
  });

  it("of archived and of removed parents are found by forks; what only removed records named is gone", async () => {
    const home = newHome();
    const store = storeAt(home);
    const log = await store.create(ROOT, created());
    const [kept, dropped] = [await store.blobs.put(ROOT, Buffer.from("kept")), await store.blobs.put(ROOT, Buffer.from("dropped"))];
    log.append([{ type: "turn.ended", status: "completed", diff: kept }, { type: "turn.ended", status: "completed", diff: dropped }]);
    await log.close();
    const fork = threadId(1);
    await (await store.create(fork, created(fork, { thread: ROOT, before: 2 }))).close();
    await store.archive(ROOT);
    expect(await store.blobs.get(fork, kept)).not.toBeNull();
    await store.remove(ROOT);
    expect(await store.blobs.get(fork, kept)).not.toBeNull();
    expect(await store.blobs.get(fork, dropped)).toBeNull();
    expect(readdirSync(join(home, "archive", ROOT)).toSorted()).toEqual(["blobs", "children", "hidden", "lock", "rollout.jsonl"]);
    expect(await seqs(store)).toEqual([0, 1]);
    await store.close();
  });

  it("are named by their hash", async () => {
    const store = storeAt(newHome());
    await threadWith(store, []);
    const { sha256 } = await store.blobs.put(ROOT, Buffer.from("abc"));
    expect(sha256).toBe(createHash("sha256").update("abc").digest("hex"));
    await store.close();
  });
});

describe("the owner", () => {
  it("is named with process, host, time and what can be done", async () => {
    const home = newHome();
    const store = storeAt(home, { socket: "/run/skein.sock" });
    const log = await store.create(ROOT, created());
    const written = JSON.parse(readFileSync(join(folderOf(home), "owner.json"), "utf8")) as Record<string, unknown>;
    expect(written).toEqual({ pid: process.pid, host: "testhost", since: expect.any(String) as string, socket: "/run/skein.sock", start: startOf(process.pid) });
    const refused = await storeAt(home).open(ROOT);
    expect(refused).toMatchObject({ ok: false, why: "busy", owner: { pid: process.pid, host: "testhost", socket: "/run/skein.sock" } });
    expect(!refused.ok && refused.message).toMatch(new RegExp(`process ${process.pid} on testhost, since .*follow it live, ask that process to release it, or fork`, "u"));
    await log.close();
    expect(existsSync(join(folderOf(home), "owner.json"))).toBe(false);
    await store.close();
  });

  it("that died is not taken for one, whoever has its number now", async () => {
    const home = newHome();
    const store = storeAt(home);
    const log = await store.create(ROOT, created());
    const path = join(folderOf(home), "owner.json");
    const { start: _start, ...rest } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    writeFileSync(path, JSON.stringify({ ...rest, start: "12" }));
    expect(await storeAt(home).open(ROOT)).toMatchObject({ ok: false, why: "busy", owner: null });
    await log.close();
    await store.close();
  });

  it("refuses on a network file system, unless told otherwise", async () => {
    const home = newHome();
    await threadWith(storeAt(home), []);
    const files = { ...realFiles, fileSystemType: () => 0x6969 };
    const store = storeAt(home, { files });
    const refused = await store.open(ROOT);
    expect(refused).toMatchObject({ ok: false, why: "read_only" });
    expect(!refused.ok && refused.message).toMatch(/network file system \(NFS\)/u);
    await expect(store.create(threadId(1), created(threadId(1)))).rejects.toMatchObject({ code: "network_fs" });
    expect(await seqs(store)).toEqual([0]);
    expect((await storeAt(home, { files, allowNetworkFs: true }).open(ROOT)).ok).toBe(true);
  });

  it("cannot be one where nothing can be written; reading works", async () => {
    const home = newHome();
    await threadWith(storeAt(home), [added("a")]);
    const faulty = new FaultyFiles();
    const store = storeAt(home, { files: faulty.files });
    faulty.arm("EROFS", 0, Infinity);
    expect(await store.open(ROOT)).toMatchObject({ ok: false, why: "read_only" });
    expect(await seqs(store)).toEqual([0, 1]);
    faulty.disarm();
    expect((await store.open(ROOT)).ok).toBe(true);
    await store.close();
  });
});

describe("ids", () => {
  it.each(["../../etc", "a/b", "", ".", "..", "active", "x".repeat(65), "0190\u00000000", "c:\\windows"])("like %j name no thread and no path", async (id) => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, []);
    expect(await store.header(id)).toBeNull();
    expect(await store.open(id)).toMatchObject({ ok: false, why: "not_found" });
    await expect(store.create(id, created(id))).rejects.toMatchObject({ code: "bad_id" });
    await expect(store.remove(id)).rejects.toMatchObject({ code: "not_found" });
    const fork = threadId(1);
    await expect(store.create(fork, created(fork, { thread: id, before: 0 }))).rejects.toMatchObject({ code: "not_found" });
    expect(readdirSync(home).toSorted()).toEqual(["archive", "sessions"]);
    await store.close();
  });
});

describe("what a crash leaves over", () => {
  it("of a thread being created is no thread, and is swept when it is old", async () => {
    const home = newHome();
    const pending = join(home, "sessions/.pending", threadId(5));
    mkdirSync(pending, { recursive: true });
    writeFileSync(join(pending, "rollout.jsonl"), "{");
    await threadWith(storeAt(home), []);
    expect(existsSync(pending)).toBe(true);
    utimesSync(pending, 1, 1);
    const store = storeAt(home);
    await threadWith(store, [], threadId(1));
    expect(existsSync(pending)).toBe(false);
    expect(await store.find("")).toEqual([ROOT, threadId(1)]);
    await threadWith(store, [], threadId(5));
    await store.close();
  });

  it("of a fork that never came to be does not keep its parent", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, []);
    mkdirSync(join(folderOf(home), "children"));
    writeFileSync(join(folderOf(home), "children", threadId(9)), "");
    await store.remove(ROOT);
    expect(existsSync(folderOf(home))).toBe(false);
    await store.close();
  });

  it.each(["renamed", "unmarked"])("of a removal is finished by the next: %s", async (until) => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, range(0, 3).map((n) => added(`i${n}`)));
    const fork = threadId(1);
    await (await store.create(fork, created(fork, { thread: ROOT, before: 2 }))).close();
    await store.remove(ROOT);
    const trash = join(home, "sessions/.trash");
    mkdirSync(trash, { recursive: true });
    realFiles.rename(folderOf(home, fork), join(trash, fork));
    if (until === "unmarked") rmSync(join(folderOf(home), "children", fork));
    await threadWith(storeAt(home), [], threadId(2));
    expect(readdirSync(trash)).toEqual([]);
    expect(existsSync(folderOf(home))).toBe(false);
  });
});

describe("a thread with forks", () => {
  it("names each of them before it exists", async () => {
    const home = newHome();
    const store = storeAt(home);
    const log = await store.create(ROOT, created());
    await appended(log, [added("a")]);
    const fork = threadId(1);
    const forked = await store.create(fork, created(fork, { thread: ROOT, before: 1 }));
    expect(readdirSync(join(folderOf(home), "children"))).toEqual([".lock", fork]);
    expect(forked.bytes).toBeLessThan(2048);
    await store.close();
  });

  it("cannot be removed by one while another forks it", async () => {
    const home = newHome();
    const store = storeAt(home);
    await threadWith(store, [added("a"), added("b")]);
    const forks = range(1, 9).map(threadId);
    const results = await Promise.allSettled([...forks.map((fork) => store.create(fork, created(fork, { thread: ROOT, before: 2 }))), store.remove(ROOT)]);
    const made = forks.filter((_fork, index) => results[index]!.status === "fulfilled");
    for (const fork of made) expect(await seqs(store, fork)).toEqual([2]);
    if (made.length > 0) expect(await seqs(store)).toEqual([0, 1].concat(results.at(-1)!.status === "fulfilled" ? [] : [2]));
    await store.close();
  });
});
