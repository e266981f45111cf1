/** HOME UMASK: makes one of everything that a store can make, and leaves it there. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { openFileStore } from "../../../src/stores/file/store.ts";
import type { Draft } from "../../../src/protocol/record.ts";

const [home = "", umask = "022"] = process.argv.slice(2);
process.umask(Number.parseInt(umask, 8));

const settings = { model: "m", model_provider: "p", cwd: "/", approval_policy: "never", sandbox_mode: "read-only" };
const ids = [1, 2, 3, 4].map((n) => `01900000-0000-7000-8000-00000000000${n}`);
const created = (id: string, base: object | null = null): Draft => ({ type: "thread.created", id, base, source: "exec", settings });

const store = openFileStore({ home, host: "host", pid: process.pid, now: () => new Date().toISOString() });
const [first = "", fork = "", archived = "", parent = ""] = ids;
for (const id of [first, archived, parent]) await (await store.create(id, created(id))).close();
appendFileSync(join(home, "sessions", first, "rollout.jsonl"), "torn");
const opened = await store.open(first);
if (!opened.ok) throw new Error(opened.message);
const { log } = opened;
const blob = await store.blobs.put(first, Buffer.from("diff"));
log.append([{ type: "turn.ended", status: "completed", diff: blob }]);
log.live.add({ id: "m", kind: "message", delta: "live" });
await log.derive({ metadata: { id: first } as never, state: {}, diffs: [{ number: 1, content: blob }] });
await store.create(fork, created(fork, { thread: parent, before: 1 }));
await store.remove(parent);
await store.archive(archived);
process.exit(0);
