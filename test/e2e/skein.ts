/** Runs the real binary in a home and a git repository of its own. Every JSON line that it prints is held against the published schema. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { faultsOfRun, jsonLines, type Json } from "./lines.ts";

export { jsonLines };

export const BIN = resolve(import.meta.dirname, "../../bin/skein");

// Builds what is to be tested, before anything is timed.
execFileSync(process.execPath, [BIN, "--version"], { stdio: ["ignore", "ignore", "inherit"] });

export interface World {
  root: string;
  home: string;
  project: string;
  env: Record<string, string>;
  remove(): void;
}

export function createWorld(given: { modelServer?: string; env?: Record<string, string> } = {}): World {
  const root = mkdtempSync(join(tmpdir(), "skein-e2e-"));
  const home = join(root, "home");
  const project = join(root, "project");
  mkdirSync(project, { recursive: true });
  execFileSync("git", ["init", "-q", project]);
  const { PATH = "", LANG = "C.UTF-8" } = process.env;
  const env: Record<string, string> = { PATH, LANG, HOME: root, SKEIN_HOME: home, ...given.env };
  if (given.modelServer) Object.assign(env, { OPENAI_API_KEY: "test-key", SKEIN_TEST_SERVER: given.modelServer });
  return { root, home, project, env, remove: () => removeFolder(root) };
}

/** A process that nobody waits for may still be putting its last files there. */
function removeFolder(folder: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (attempt === 50) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}

export interface Run {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  done: Promise<Run>;
  /** Resolves when stdout has a line for which `test` holds. */
  line(test: (line: string) => boolean): Promise<string>;
}

export interface StartOptions {
  /** Written to standard input, which is then closed; null leaves it open. */
  stdin?: string | null;
  env?: Record<string, string>;
  cwd?: string;
  /** Nothing is added to the arguments. */
  bare?: boolean;
  /** The reader of standard output leaves, or the process is killed: the run may have no end. */
  cut?: boolean;
}

/** `-c openai_base_url` and a model are added for `exec`; resumed threads keep their model. */
export function start(world: World, args: readonly string[], given: StartOptions = {}): Running {
  const all = given.bare ? [...args] : withServer(world, args);
  const child = spawn(process.execPath, [BIN, ...all], { cwd: given.cwd ?? world.project, env: { ...world.env, ...given.env }, stdio: ["pipe", "pipe", "pipe"] });
  endWithTest(child);
  child.stdin.on("error", () => {});
  if (given.stdin !== null) child.stdin.end(given.stdin ?? "");
  let stdout = "";
  let stderr = "";
  const waiting: { test: (line: string) => boolean; resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  const look = () => {
    for (const line of stdout.split("\n").slice(0, -1)) {
      for (const wait of [...waiting]) {
        if (!wait.test(line)) continue;
        waiting.splice(waiting.indexOf(wait), 1);
        wait.resolve(line);
      }
    }
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const isJson = args[0] === "exec" && (args.includes("--json") || args.includes("--experimental-json"));
  const done = new Promise<Run>((settle, reject) => {
    child.on("close", (code, signal) => {
      for (const wait of waiting) wait.reject(new Error(`ended before that line; stderr: ${stderr}`));
      const faults = isJson ? faultsOfRun(stdout, { cut: signal !== null || given.cut === true }) : [];
      if (faults.length > 0) reject(new Error(`${faults.join("\n")}\nstderr: ${stderr}`));
      else settle({ code, signal, stdout, stderr: withoutBuild(stderr) });
    });
  });
  // Whoever waits for a line only is told by that.
  done.catch(() => {});
  const line = (test: (text: string) => boolean) =>
    new Promise<string>((settle, reject) => {
      waiting.push({ test, resolve: settle, reject });
      look();
    });
  return { child, done, line };
}

/** A test that fails leaves nothing running. Hooks wait for what they start. */
function endWithTest(child: ChildProcess): void {
  try {
    onTestFinished(() => void child.kill("SIGKILL"));
  } catch {
    // Not in a test, but in one of its hooks.
  }
}

/** A checkout whose sources have just changed builds itself first, and says so. */
function withoutBuild(stderr: string): string {
  return stderr.replace(/^skein: (?:building|waiting for process|installing) .*\n/gmu, "");
}

function withServer(world: World, args: readonly string[]): string[] {
  const server = world.env["SKEIN_TEST_SERVER"];
  if (args[0] !== "exec" || !server) return [...args];
  const model = ["resume", "-m", "--replay"].some((word) => args.includes(word)) ? [] : ["-m", "test-model"];
  return ["exec", "-c", `openai_base_url="${server}/v1"`, ...model, ...args.slice(1)];
}

export function run(world: World, args: readonly string[], given: StartOptions = {}): Promise<Run> {
  return start(world, args, given).done;
}

/** Through a shell: `$SKEIN` is the command with the server and the model, quoted as it must be. */
export function runShell(world: World, script: string, given: { env?: Record<string, string> } = {}): Promise<Run> {
  const skein = [process.execPath, BIN, ...withServer(world, ["exec"])].map((word) => `'${word}'`).join(" ");
  const child = spawn("bash", ["-c", script.replaceAll("$SKEIN", () => skein)], { cwd: world.project, env: { ...world.env, ...given.env }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((settle) => child.on("close", (code, signal) => settle({ code, signal, stdout, stderr: withoutBuild(stderr) })));
}

/** The whole lines of a log: its last one may be torn while somebody writes it. */
export function log(world: World, thread = "active"): Json[] {
  const text = readFileSync(join(world.home, "sessions", thread, "rollout.jsonl"), "utf8");
  return jsonLines(text.slice(0, text.lastIndexOf("\n") + 1));
}

/** For those who wait for a log that may not be there yet. */
export function logSoFar(world: World, thread = "active"): Json[] {
  return existsSync(join(world.home, "sessions", thread, "rollout.jsonl")) ? log(world, thread) : [];
}

export const types = (records: readonly Json[]): unknown[] => records.map((record) => record["type"]);

export const itemsOf = (lines: readonly Json[]): Json[] => lines.flatMap((line) => (line["item"] ? [line["item"] as Json] : []));

export const shell = (cmd: string, id = "call_1") => ({ name: "exec_command", arguments: { cmd }, id });

export const FULL_ACCESS = ["-s", "danger-full-access"];

/** Below the time that a test has, so that what never happened is named. */
export async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 25_000; !holds(); await delay(10)) if (performance.now() > end) throw new Error(`it never happened: ${String(holds)}`);
}

/** A file that somebody may be about to write: empty as long as it is not there. */
export function contentOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
