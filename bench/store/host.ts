/** A runtime on a file store, with a model that answers at once. */
import type { Item, MessageItem } from "../../src/protocol/item.ts";
import { userText } from "../../src/protocol/item.ts";
import type { Settings } from "../../src/protocol/record.ts";
import type { Provider } from "../../src/core/provider.ts";
import { createRedactor } from "../../src/core/redact.ts";
import type { Store } from "../../src/core/store.ts";
import type { Host } from "../../src/runtime/host.ts";
import type { Session } from "../../src/runtime/session.ts";
import { createThreads, type Threads } from "../../src/runtime/threads.ts";
import type { Files } from "../../src/stores/file/files.ts";
import { openIndex } from "../../src/stores/file/index/open.ts";
import { openFileStore, type FileStore } from "../../src/stores/file/store.ts";

export const SETTINGS: Settings = { model: "instant", model_provider: "bench", cwd: "/tmp", approval_policy: "never", sandbox_mode: "read-only" };

/** As the product has it: the file store with its index. */
export function openStore(home: string, files?: Files): FileStore {
  return openFileStore({ home, host: "bench", pid: process.pid, now: () => new Date().toISOString(), catalog: openIndex({ home }), ...(files ? { files } : {}) });
}

/** `answer`: what the model says each time, streamed in four pieces. */
export function threadsOn(store: Store, answer: string): Threads {
  const host: Host = {
    store,
    ephemeral: store,
    redactor: createRedactor(),
    pid: process.pid,
    lasts: true,
    hostname: "bench",
    now: Date.now,
    random: Math.random,
    provider: () => Promise.resolve({ ok: true, provider: instantModel(answer) }),
    recording: () => Promise.resolve(null),
    context: () => Promise.resolve({ instructions: "Answer at once.", tools: [], parts: [], warnings: [] }),
    model: () => Promise.resolve({}),
    closed: () => Promise.resolve(),
    skills: () => Promise.resolve({ skills: [], warnings: [] }),
    usedSkills: () => Promise.resolve([]),
    usage: () => Promise.resolve({ rows: [], incomplete: false }),
  };
  return createThreads(host);
}

function instantModel(answer: string): Provider {
  const message = (text: string): MessageItem => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
  const quarter = Math.ceil(answer.length / 4);
  return {
    name: "instant",
    retries: 0,
    requestRetries: 0,
    remoteCompact: null,
    origin: (model) => ({ wire: "replay", provider: "bench", model }),
    async *stream() {
      yield { type: "item.started", index: 0, item: message("") as Item };
      for (let at = 0; at < answer.length; at += quarter) yield { type: "text.delta", index: 0, delta: answer.slice(at, at + quarter) };
      yield { type: "item.done", index: 0, item: message(answer) };
      yield { type: "done", usage: { input_tokens: 500, output_tokens: 500, total_tokens: 1000 } };
    },
  };
}

/** So many turns, each sent when the one before has ended, as a client would. */
export async function converse(session: Session, { turns, message }: { turns: number; message: string }): Promise<void> {
  const watching = new AbortController();
  const events = session.watch(session.cursor, watching.signal);
  try {
    for (let turn = 0; turn < turns; turn++) {
      const accepted = await session.submit({ id: `op-${session.state.head}-${turn}`, type: "user_input", items: [userText(message)] });
      if (!accepted.ok) throw new Error(accepted.refusal.message);
      for (;;) {
        const { value, done } = await events.next();
        if (done || value.type === "error") throw new Error(`The session ended or failed: ${JSON.stringify(value)}`);
        if (value.type === "turn/completed") break;
      }
    }
  } finally {
    watching.abort();
    await events.return(undefined);
  }
}
