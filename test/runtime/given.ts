/** A runtime with real stores, a recorded model and a tool that the test holds the strings of. */
import type { Event } from "../../src/protocol/event.ts";
import { userText, type Item } from "../../src/protocol/item.ts";
import type { Op, OpBody } from "../../src/protocol/op.ts";
import type { CompactPolicy, Settings } from "../../src/protocol/record.ts";
import type { ContextPart } from "../../src/core/context.ts";
import type { Provider } from "../../src/core/provider.ts";
import { createRedactor } from "../../src/core/redact.ts";
import type { Store } from "../../src/core/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createReplay } from "../../src/providers/replay.ts";
import type { Host } from "../../src/runtime/host.ts";
import { createThreads } from "../../src/runtime/threads.ts";
import type { Session } from "../../src/runtime/session.ts";
import { openMemoryStore } from "../../src/stores/memory.ts";

export const SETTINGS: Settings = { model: "recorded", model_provider: "replay", cwd: "/", approval_policy: "never", sandbox_mode: "read-only" };

export const say = (text: string): Item => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
export const ask = (call_id: string, name: string, input: object = {}): Item => ({ type: "function_call", call_id, name, arguments: JSON.stringify(input) });

/** A tool whose calls end when the test says so. */
export function heldTool(name: string, effect: Tool["effect"]) {
  const running = new Map<string, { end: (output: string) => void; aborted: boolean }>();
  const tool: Tool = {
    name,
    description: name,
    parameters: { type: "object" },
    effect,
    run: (input, host) =>
      new Promise((resolve) => {
        const key = (input as { key?: string }).key ?? name;
        const entry = { aborted: false, end: (output: string) => resolve({ status: "done", output }) };
        running.set(key, entry);
        host.signal.addEventListener("abort", () => {
          entry.aborted = true;
          resolve({ status: "failed", output: "aborted" });
        });
      }),
  };
  return { tool, running, until: (key: string) => eventually(() => running.has(key)) };
}

export function createHost(given: { samples?: Item[][]; provider?: Provider; tools?: Tool[]; parts?: ContextPart[]; window?: number; compact?: CompactPolicy; store?: Store }): Host {
  const now = () => new Date().toISOString();
  const store = given.store ?? openMemoryStore({ host: "here", pid: 1, now });
  const provider = given.provider ?? createReplay((given.samples ?? []).map((items) => ({ items, usage: null })));
  return {
    store,
    ephemeral: openMemoryStore({ host: "here", pid: 1, now }),
    redactor: createRedactor(),
    pid: 1,
    hostname: "here",
    lasts: true,
    now: Date.now,
    random: () => 0,
    provider: async () => ({ ok: true, provider }),
    recording: async () => null,
    context: async () => ({ instructions: "Be good.", tools: given.tools ?? [], parts: given.parts ?? [], warnings: [] }),
    model: async () => ({ ...(given.window === undefined ? {} : { window: given.window }), ...(given.compact ? { compact: given.compact } : {}) }),
    closed: async () => {},
    skills: async () => ({ skills: [], warnings: [] }),
    usedSkills: async () => [],
    usage: () => Promise.resolve({ rows: [], incomplete: false }),
  };
}

export async function startSession(host: Host) {
  const threads = createThreads(host);
  return { threads, session: await threads.start({ source: "exec", settings: SETTINGS }) };
}

let ops = 0;
export function op(body: OpBody, id = `op${++ops}`): Op {
  return { id, ...body };
}
export const input = (text: string, deliver?: "steer" | "next") => op({ type: "user_input", items: [userText(text)], ...(deliver ? { deliver } : {}) });

export async function turnEnds(session: Session, count = 1): Promise<void> {
  const stop = new AbortController();
  let seen = 0;
  for await (const event of session.watch(null, stop.signal)) if (event.type === "turn/completed" && ++seen === count) return;
}

export async function collect(session: Session, after: string | null, until: (event: Event) => boolean): Promise<Event[]> {
  const stop = new AbortController();
  const events: Event[] = [];
  for await (const event of session.watch(after, stop.signal)) {
    events.push(event);
    if (until(event)) break;
  }
  return events;
}

export async function eventually(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error("it never happened");
}

export async function records(store: Store, thread: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  for await (const record of store.read(thread, {})) all.push(record as unknown as Record<string, unknown>);
  return all;
}
