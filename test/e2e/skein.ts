/** Runs the real binary in a home and a git repository of its own. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const BIN = resolve(import.meta.dirname, "../../bin/skein");

export interface World {
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
  return { home, project, env, remove: () => rmSync(root, { recursive: true, force: true }) };
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

/** `-c openai_base_url` and a full-access sandbox are added for `exec` unless the arguments say otherwise. */
export function start(world: World, args: readonly string[], given: { stdin?: string; env?: Record<string, string> } = {}): Running {
  const all = [...args];
  const server = world.env["SKEIN_TEST_SERVER"];
  if (args[0] === "exec" && server) all.splice(1, 0, "-c", `openai_base_url="${server}/v1"`, "-m", "test-model");
  const child = spawn(process.execPath, [BIN, ...all], { cwd: world.project, env: { ...world.env, ...given.env }, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  child.stdin.end(given.stdin ?? "");
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
  const done = new Promise<Run>((settle) => {
    child.on("close", (code, signal) => {
      for (const wait of waiting) wait.reject(new Error(`ended before that line; stderr: ${stderr}`));
      settle({ code, signal, stdout, stderr });
    });
  });
  const line = (test: (text: string) => boolean) =>
    new Promise<string>((settle, reject) => {
      waiting.push({ test, resolve: settle, reject });
      look();
    });
  return { child, done, line };
}

export function run(world: World, args: readonly string[], given: { stdin?: string; env?: Record<string, string> } = {}): Promise<Run> {
  return start(world, args, given).done;
}

export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function log(world: World, thread = "active"): Record<string, unknown>[] {
  return jsonLines(readFileSync(join(world.home, "sessions", thread, "rollout.jsonl"), "utf8"));
}
