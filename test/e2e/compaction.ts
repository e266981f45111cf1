/** A world whose config points every command at the scripted server, and what tests of compaction look for in requests and logs. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { ModelServer, ModelServerOptions } from "../model-server/server.ts";
import type { RecordedRequest, Reply, Script, Wire } from "../model-server/script.ts";
import { scene, type Scene } from "./scene.ts";
import { log, run as runBinary, type Run, type StartOptions, type World } from "./skein.ts";

export const WIRES = ["responses", "chat", "messages"] as const;

export interface Wish extends Omit<ModelServerOptions, "script"> {
  wire?: Wire;
  model?: string;
  /** Lines of config.toml, before the first table. */
  config?: readonly string[];
  compact?: readonly string[];
  /** How often a request is made again. */
  retries?: number;
  env?: Record<string, string>;
}

export async function compactionScene(script: Script, wish: Wish = {}): Promise<Scene> {
  const { model = "test-model", config = [], compact = ["prepare = false"], retries = 0, ...options } = wish;
  const made = await scene(script, options);
  const { server, world } = made;
  mkdirSync(world.home, { recursive: true });
  const table = [`base_url = "${server.url}/v1"`, 'name = "scripted"', `wire_api = "${wish.wire ?? "responses"}"`, 'env_key = "OPENAI_API_KEY"', `request_max_retries = ${retries}`, `stream_max_retries = ${retries}`];
  const lines = [`model = "${model}"`, 'model_provider = "scripted"', 'sandbox_mode = "danger-full-access"', ...config, "[compact]", ...compact, "[model_providers.scripted]", ...table];
  writeFileSync(join(world.home, "config.toml"), `${lines.join("\n")}\n`);
  return made;
}

/** The config says everything: no flag is added. */
export function run(world: World, args: readonly string[], given: StartOptions = {}): Promise<Run> {
  return runBinary(world, args, { bare: true, ...given });
}

/** One turn in a process of its own: of a new thread, or of the last. */
export async function turn(world: World, prompt: string, args: readonly string[] = []): Promise<Run> {
  const result = await run(world, ["exec", "--json", ...args, ...(isNew(world) ? [] : ["resume", "--last"]), prompt]);
  expect(result.code, `${prompt}: ${result.stderr}`).toBe(0);
  return result;
}

function isNew(world: World): boolean {
  try {
    return log(world).length === 0;
  } catch {
    return true;
  }
}

const ASKS = "Summarise the conversation so far";

export function isSummary({ said }: RecordedRequest): boolean {
  return said.includes(ASKS);
}

/** A reply that counts as a server would, four bytes a token. */
export function counted(request: RecordedRequest, reply: Reply): Reply {
  return { ...reply, usage: { input: Math.ceil(request.raw.length / 4), output: Math.ceil(JSON.stringify(reply).length / 4) } };
}

/** About so many tokens, beginning with a mark of its own. */
export function filler(mark: string, tokens: number): string {
  return `${mark}\n${"twenty words of nothing at all, again and again and again and again, until it is long enough to matter here\n".repeat(Math.ceil(tokens / 27))}`;
}

export const marksIn = (text: string): string[] => [...new Set(text.match(/mark-\d+-\d+/gu))];

/** The items of a request, whatever its wire, as they are sent; cache breakpoints move and are no part of them. */
export function itemsOf(request: RecordedRequest): string[] {
  const { input, messages } = request.body as { input?: object[]; messages?: object[] };
  return (input ?? messages ?? []).map((item) => JSON.stringify(item, (key, value: unknown) => (key === "cache_control" ? undefined : value)));
}

/** The texts that stand in it, each once where it stands. */
export function textIn(request: RecordedRequest): string {
  const texts: string[] = [];
  JSON.stringify(request.body, (_key, value: unknown) => {
    if (typeof value === "string") texts.push(value);
    return value;
  });
  return texts.join("\n");
}

/** What must hold for every request: its wire takes it, and it fits the window. */
export function checkRequests(server: ModelServer, window: number): void {
  expect(server.problems).toEqual([]);
  const long = server.requests.filter(({ raw, overflowed }) => raw.length / 4 > window && !overflowed);
  expect(long.map(({ n, raw }) => `request ${n} has ${raw.length / 4} tokens`)).toEqual([]);
}

export interface Compacted {
  seq: number;
  tokens: { before: number; after: number };
  strategy: string;
  trigger: string;
  keepFrom: number;
}

export function compactionsOf(world: World, thread?: string): Compacted[] {
  return log(world, thread).filter(({ type }) => type === "history.compacted") as never as Compacted[];
}
