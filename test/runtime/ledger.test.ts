/** What the ledger promises: facts planted early are there after many compactions, and compacting costs little on disk. */
import { expect, it } from "vitest";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textOf, userText, type Item } from "../../src/protocol/item.ts";
import { visible } from "../../src/core/history.ts";
import type { Provider } from "../../src/core/provider.ts";
import { tokensOf } from "../../src/core/tokens.ts";
import type { Tool } from "../../src/core/tool.ts";
import { openFileStore } from "../../src/stores/file/store.ts";
import { createThreads } from "../../src/runtime/threads.ts";
import type { Session } from "../../src/runtime/session.ts";
import { ask, createHost, eventually, op, records, say, SETTINGS } from "./given.ts";

/** A model that forgets everything when it is asked for a summary. */
function forgetful(answer: (text: string, n: number) => Item[]): Provider {
  let n = 0;
  return {
    name: "scripted",
    retries: 0,
    requestRetries: 0,
    remoteCompact: null,
    origin: (name) => ({ wire: "responses", provider: "scripted", model: name }),
    async *stream(request) {
      const size = request.input.reduce((sum, { item }) => sum + tokensOf(item), 0);
      const last = request.input.findLast(({ item }) => item.type === "message" && item["role"] === "user");
      const items = request.toolChoice === "none" ? [say("I forgot everything.")] : answer(last ? textOf(last.item) : "", ++n);
      for (const [index, item] of items.entries()) yield { type: "item.done", index, item };
      yield { type: "done", usage: { input_tokens: size, output_tokens: 10, total_tokens: size + 10 } };
    },
  };
}

async function turn(session: Session, items: Item[]): Promise<void> {
  const before = session.state.talk.turns;
  await session.submit(op({ type: "user_input", items, deliver: "next" }));
  await eventually(() => session.state.talk.turns > before && session.state.talk.turn === null);
}

function note(compactions: Set<number>, session: Session): void {
  const { compaction } = session.state.talk.history;
  if (compaction !== null) compactions.add(compaction);
}

it("all of 200 facts planted early are given by the ledger after 5 compactions by a model that forgets", async () => {
  const run: Tool = {
    name: "exec_command",
    description: "",
    parameters: {},
    effect: "exec",
    assess: async (given) => ({ safe: false, rule: null, outside: null, shown: { kind: "command", command: (given as { cmd: string }).cmd, cwd: "/" }, grant: null }),
    run: async (given) => ({ status: "done", exit: Number(/\d+/u.exec((given as { cmd: string }).cmd)?.[0] ?? 0) % 7, output: "ran" }),
  };
  const patch: Tool = {
    name: "apply_patch",
    description: "",
    parameters: {},
    effect: "write",
    run: async (given) => ({ status: "done", output: "ok", changes: [{ path: (given as { path: string }).path, before: { kind: "absent" }, after: { kind: "file", hash: "ab".repeat(32), mode: 0o644 } }] }),
  };
  let facts = 0;
  const provider = forgetful((text, n) => {
    if (!text.startsWith("plant")) return [say(`noise ${n} ${"word ".repeat(2500)}`)];
    if (facts >= 40) return [say("planted")];
    facts += 1;
    return [ask(`run${facts}`, "exec_command", { cmd: `check --part ${facts}` }), ask(`patch${facts}`, "apply_patch", { path: `src/part-${facts}.ts` })];
  });
  const host = createHost({ provider, tools: [run, patch], window: 120_000, compact: { prepare: false } });
  const session = await createThreads(host).start({ source: "interactive", settings: { ...SETTINGS, approval_policy: "untrusted" } });
  const answering = setInterval(() => {
    const open = session.state.talk.asks.find((each) => each.answer === undefined);
    if (open) void session.submit(op({ type: "answer", ask: open.ask, answer: { decision: "yes", reason: `because of ${open.call}` } }));
  }, 1);
  // 80 wishes, 40 decisions, 40 exit codes, 40 files.
  for (let n = 0; n < 80; n++) await turn(session, [userText(`${n < 79 ? "note" : "plant"} that rule ${n} is colour-${n * 13}`)]);
  const compactions = new Set<number>();
  while (compactions.size < 5) {
    await turn(session, [userText("more noise please")]);
    note(compactions, session);
  }
  clearInterval(answering);
  const shown = visible(session.state.history).map(({ item }) => textOf(item)).find((text) => text.startsWith("Ledger"))!;
  const expected = [
    ...Array.from({ length: 80 }, (_, n) => `rule ${n} is colour-${n * 13}`),
    ...Array.from({ length: 40 }, (_, n) => `check --part ${n + 1} → yes (because of run${n + 1})`),
    ...Array.from({ length: 40 }, (_, n) => `check --part ${n + 1} → ${(n + 1) % 7}`),
    ...Array.from({ length: 40 }, (_, n) => `src/part-${n + 1}.ts (abababababab)`),
  ];
  expect(expected.length).toBe(200);
  expect(expected.filter((fact) => !shown.includes(fact))).toEqual([]);
  expect(shown.length / 4).toBeLessThanOrEqual(12_000);
}, 60_000);

it("100 compactions with 20 images take at most 1.2 times what is on disk without them", async () => {
  const home = mkdtempSync(join(tmpdir(), "skein-compactions-"));
  const store = openFileStore({ home, host: "here", pid: process.pid, now: () => new Date().toISOString() });
  try {
    const noise = (seed: number) => Array.from({ length: 1500 }, (_, n) => ((seed * 1_000_003 + n * 7919) % 1_000_000).toString(36)).join(" ");
    const provider = forgetful((_text, n) => {
      return [say(`${n} ${noise(n)}`)];
    });
    const host = createHost({ provider, store, window: 20_000, compact: { prepare: false } });
    const session = await createThreads(host).start({ source: "interactive", settings: { ...SETTINGS, compact: { keep_turns: 2 } } });
    const compactions = new Set<number>();
    for (let n = 0; compactions.size < 100; n++) {
      const text = `look at picture ${n} and say what is wrong with it`;
      const content: object[] = [{ type: "input_text", text }];
      if (n < 20) {
        const bytes = new Uint8Array(20_000).map((_, index) => (index * (n + 3)) % 251);
        const { sha256 } = await session.keepBytes(bytes);
        content.push({ type: "input_image", image_url: `blob:${sha256}` });
      }
      await turn(session, [{ type: "message", role: "user", content } as Item]);
      note(compactions, session);
    }
    const folder = join(home, "sessions", session.thread);
    const size = (path: string): number => (statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + size(join(path, name)), 0) : statSync(path).size);
    const total = size(join(folder, "rollout.jsonl")) + size(join(folder, "blobs"));
    const again = (await records(store, session.thread)).filter(({ type }) => type === "history.compacted").reduce((sum, record) => sum + JSON.stringify(record).length, 0);
    expect(total / (total - again)).toBeLessThanOrEqual(1.2);
  } finally {
    await store.close();
    rmSync(home, { recursive: true, force: true });
  }
}, 120_000);
