/**
 * Resume: opens a log and records what the last writer left lost. Opening runs nothing: a turn that was open stays open, parked, until
 * it is continued, answered, steered or cancelled.
 */
import type { Owner } from "../protocol/rpc.ts";
import type { Refusal } from "../protocol/op.ts";
import type { ThreadId } from "../protocol/record.ts";
import { barrierMessage } from "../core/decide.ts";
import { projectionAt } from "../core/events.ts";
import { lost } from "../core/lost.ts";
import type { Damage, LiveItem, Log, Store } from "../core/store.ts";
import { commit, type Committer } from "./commit.ts";
import type { Host } from "./host.ts";
import { loadTail } from "./loading.ts";

export type Loaded = { ok: true; committer: Committer; repairs: string[] } | { ok: false; refusal: Refusal; owner: Owner | null };

export async function resume(store: Store, thread: ThreadId, host: Host): Promise<Loaded> {
  const opened = await store.open(thread);
  if (!opened.ok) {
    return { ok: false, refusal: { code: opened.why, message: opened.message }, owner: opened.why === "busy" ? opened.owner : null };
  }
  const { log, live, repairs } = opened;
  try {
    return await takeOver({ store, log, live, repairs, host });
  } catch (error) {
    await log.close();
    throw error;
  }
}

async function takeOver(given: { store: Store; log: Log; live: LiveItem[]; repairs: string[]; host: Host }): Promise<Loaded> {
  const { store, log, live, repairs, host } = given;
  const damage: Damage[] = [];
  const loaded = await loadTail(store, { thread: log.thread, before: log.head }, (found) => damage.push(found));
  if (!loaded) throw new Error(`Thread ${log.thread} has no record that can be read.`);
  const { state, tail } = loaded;
  if (state.barrier) {
    await log.close();
    return { ok: false, refusal: { code: "read_only", message: barrierMessage(state.barrier) }, owner: null };
  }
  const committer: Committer = {
    state,
    log,
    projection: { ...projectionAt(state), thread: log.thread },
    mustSync: log.head - 1,
    carriedAt: log.bytes - tail,
    redactor: host.redactor,
    publish: () => {},
  };
  commit(committer, [{ type: "writer.opened", epoch: state.thread.epoch + 1, pid: host.pid, host: host.hostname }, ...lost(state, live)]);
  await log.durable(log.head - 1);
  log.live.clear();
  return { ok: true, committer, repairs: [...repairs, ...damage.map(describeDamage)] };
}

function describeDamage({ offset, bytes, why }: Damage): string {
  return `A damaged line was skipped (${bytes} bytes at byte ${offset}: ${why}); everything else was read.`;
}
