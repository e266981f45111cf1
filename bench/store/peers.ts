/**
 * Other stores, on the same disk in the same run, doing what a user of them does: two-message turns of 2 kB a message.
 *
 * Installed on demand under node_modules/.cache/bench-peers, never into package.json, and given a time limit: one that needs a
 * compiler may not get there. What could not be run is named with the reason.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Bench } from "./bench.ts";
import { folderBytes } from "./disk.ts";
import { inChild, peakMemory, say } from "./measure.ts";
import { runtimeTurns } from "./turns.ts";

export interface Peer {
  name: string;
  version?: string;
  /** Why it was not run. */
  why?: string;
  runs?: PeerRun[];
}
export interface PeerRun {
  turns: number;
  milliseconds: number;
  bytes: number;
  peakMegabytes: number;
}

const INSTALL_LIMIT_MS = 300_000;
const PACKAGES = ["@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite", "@langchain/core"];
const NAME = "LangGraph, SQLite checkpointer";

export async function peers({ data, quick }: Bench): Promise<Peer[]> {
  const installed = await install();
  if (installed.why !== null) return [{ name: NAME, why: installed.why }];
  const ours: Peer = { name: "Skein, through the runtime, the input of every turn durable", runs: [] };
  const theirs: Peer = { name: NAME, version: versionOf(installed.folder), runs: [] };
  for (const turns of quick ? [20, 40] : [100, 200]) {
    say(`${NAME}, ${turns} turns`);
    try {
      theirs.runs!.push(await inChild<PeerRun>("langgraph", { folder: data.folder("langgraph"), turns, packages: installed.folder }));
    } catch (error) {
      theirs.why = `it failed: ${String(error)}`;
    }
    ours.runs!.push(await inChild<PeerRun>("turns", { folder: data.folder("skein"), turns }));
  }
  return [ours, theirs];
}

/** The same by us, in a process of its own. */
export async function runOurs({ folder, turns }: { folder: string; turns: number }): Promise<PeerRun> {
  const { milliseconds, bytes } = await runtimeTurns(folder, turns);
  return { turns, milliseconds, bytes, peakMegabytes: peakMemory() };
}

/** The bundle lies in node_modules/.cache/skein-bench/NAME-PID. */
function peersFolder(): string {
  return fileURLToPath(new URL("../../bench-peers/", import.meta.url));
}

async function install(): Promise<{ folder: string; why: string | null }> {
  const folder = peersFolder();
  const ready = join(folder, "ready");
  if (existsSync(ready)) return { folder, why: null };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  say(`installing ${PACKAGES.join(", ")}`);
  const child = spawn("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder, stdio: ["ignore", "ignore", "ignore"], timeout: INSTALL_LIMIT_MS });
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  if (code !== 0) return { folder, why: `npm install ${code === null ? `did not end within ${INSTALL_LIMIT_MS / 1000} s (better-sqlite3 is compiled)` : `ended with code ${code}`}` };
  writeFileSync(ready, "");
  return { folder, why: null };
}

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, "node_modules", "@langchain", "langgraph", "package.json"), "utf8")) as { version: string }).version;
}

/* What is used of LangGraph; it is not among our dependencies, so its types are not there. */
interface LangGraph {
  StateGraph: new (state: unknown) => { addNode(name: string, node: () => unknown): { addEdge(from: string, to: string): { addEdge(from: string, to: string): { compile(options: object): Graph } } } };
  MessagesAnnotation: unknown;
  START: string;
  END: string;
}
interface Graph {
  invoke(input: object, options: object): Promise<unknown>;
}
interface Saver {
  SqliteSaver: { fromConnString(path: string): unknown };
}

/** In a process of its own. */
export async function runLangGraph({ folder, turns, packages }: { folder: string; turns: number; packages: string }): Promise<PeerRun> {
  const load = async <T>(name: string): Promise<T> => (await import(pathToFileURL(entryOf(packages, name)).href)) as T;
  const { StateGraph, MessagesAnnotation, START, END } = await load<LangGraph>("@langchain/langgraph");
  const { SqliteSaver } = await load<Saver>("@langchain/langgraph-checkpoint-sqlite");
  const text = "The quick brown fox jumps over the lazy dog again. ".repeat(40).slice(0, 2000);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", () => ({ messages: [{ role: "assistant", content: text }] }))
    .addEdge(START, "model")
    .addEdge("model", END)
    .compile({ checkpointer: SqliteSaver.fromConnString(join(folder, "checkpoints.sqlite")) });
  const turn = () => graph.invoke({ messages: [{ role: "user", content: text }] }, { configurable: { thread_id: "bench" } });
  const started = performance.now();
  for (let done = 0; done < turns; done++) await turn();
  return { turns, milliseconds: performance.now() - started, bytes: folderBytes(folder), peakMegabytes: peakMemory() };
}

function entryOf(packages: string, name: string): string {
  const folder = join(packages, "node_modules", name);
  const { exports, main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { exports?: { "."?: { import?: unknown } }; main?: string };
  const found = exports?.["."]?.import;
  const path = typeof found === "string" ? found : (found as { default?: string } | undefined)?.default;
  return join(folder, path ?? main ?? "index.js");
}
