/**
 * One headless turn, beside Codex CLI's native binary in the same run, against the same scripted server: wall time and peak RSS of the
 * whole process, for an instant answer, 20,000 and 100,000 text deltas, and 20 sequential shell calls; and, to the model request and to the
 * end, resume at 1, 50 and 200 MB of log, with and without derived files, each in its own format. Prints JSON. `--no-peers` leaves Codex out; otherwise it is installed on demand into node_modules/.cache/bench-peers.
 *
 *   npm run -s bench -- exec [--runs 7] [--no-peers] [one|deltas|calls|resume …]
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../test/model-server/server.ts";
import type { Reply } from "../test/model-server/script.ts";
import { makeCodexSession, removeCodexDerived } from "./exec/codex-rollout.ts";
import { spawnAsync } from "./exec/spawn.ts";
import { makeSession } from "./generate/session.ts";

const ROOT = process.cwd();
/** Skein as it is installed: without sources, so that nothing is checked or built. */
const INSTALLED = mkdtempSync(join(tmpdir(), "skein-installed-"));
const BIN = join(INSTALLED, "bin/skein");
spawnSync(process.execPath, [join(ROOT, "bin/skein"), "--version"]);
for (const part of ["bin", "dist", "package.json"]) cpSync(join(ROOT, part), join(INSTALLED, part), { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(INSTALLED, "node_modules"));
process.on("exit", () => rmSync(INSTALLED, { recursive: true, force: true }));
const args = process.argv.slice(2);
const RUNS = args.includes("--runs") ? Number(args[args.indexOf("--runs") + 1]) : 7;
const wanted = args.filter((word) => !word.startsWith("-") && word !== String(RUNS));
const wants = (name: string) => wanted.length === 0 || wanted.includes(name);

interface Sample {
  /** On the clock of `performance`. */
  from: number;
  ms: number;
  rssMb: number;
}
interface Row {
  name: string;
  skein: Summary;
  codex: Summary | null;
  bar: string;
  met: boolean;
}
interface Summary {
  ms: number;
  msAll: number[];
  rssMb: number;
}

const say = (text: string) => void process.stderr.write(`${text}\n`);
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Wall time and peak RSS of one process, from `/usr/bin/time -v`'s own source: wait4. */
async function measure(command: string, words: readonly string[], given: { cwd: string; env: Record<string, string> }): Promise<Sample> {
  const report = join(given.cwd, `.rss-${Math.random()}`);
  const from = performance.now();
  const { code, stderr } = await spawnAsync("/usr/bin/time", ["-f", "%M", "-o", report, command, ...words], given);
  const ms = performance.now() - from;
  if (code !== 0) throw new Error(`${command} ${words.join(" ")} exited with ${code}: ${stderr.slice(-2000)}`);
  const rssMb = Number(readFileSync(report, "utf8").trim().split("\n").at(-1)) / 1024;
  rmSync(report);
  return { from, ms, rssMb };
}

function summary(samples: Sample[]): Summary {
  return { ms: round(median(samples.map(({ ms }) => ms))), msAll: samples.map(({ ms }) => round(ms)), rssMb: round(median(samples.map(({ rssMb }) => rssMb))) };
}
const round = (value: number) => Math.round(value * 10) / 10;

function codexBinary(): string | null {
  if (args.includes("--no-peers")) return null;
  const folder = join(ROOT, "node_modules/.cache/bench-peers/codex");
  const launcher = join(folder, "node_modules/.bin/codex");
  if (!existsSync(launcher)) {
    say("installing @openai/codex into node_modules/.cache/bench-peers …");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    const done = spawnSync("npm", ["install", "--no-save", "--ignore-scripts", "@openai/codex"], { cwd: folder, stdio: ["ignore", 2, 2] });
    if (done.status !== 0) return null;
  }
  const native = execFileSync("find", [folder, "-path", "*vendor*", "-type", "f", "-name", "codex", "-perm", "-u+x"], { encoding: "utf8" }).trim().split("\n")[0];
  return native === undefined || native === "" ? launcher : native;
}

interface World {
  project: string;
  env: Record<string, string>;
  remove(): void;
}
/** Not in the folder for temporary files: there Codex does not install what its sandbox needs. */
function createWorld(): World {
  const worlds = join(ROOT, "node_modules/.cache/bench-worlds");
  mkdirSync(worlds, { recursive: true });
  const root = mkdtempSync(join(worlds, "world-"));
  const project = join(root, "project");
  mkdirSync(join(root, "codex"), { recursive: true });
  mkdirSync(project);
  execFileSync("git", ["init", "-q", project]);
  const { PATH = "", LANG = "C.UTF-8" } = process.env;
  return { project, env: { PATH, LANG, HOME: root, SKEIN_HOME: join(root, "skein"), CODEX_HOME: join(root, "codex"), OPENAI_API_KEY: "x" }, remove: () => rmSync(root, { recursive: true, force: true }) };
}

const skeinWords = (url: string, more: readonly string[]) => [BIN, "exec", "-c", `openai_base_url="${url}/v1"`, "-m", "test-model", "--json", ...more];
const codexWords = (url: string, more: readonly string[]) => ["exec", "--json", "--skip-git-repo-check", "-c", `model_providers.mock={name="mock",base_url="${url}/v1",wire_api="responses"}`, "-c", 'model_provider="mock"', "-m", "test-model", ...more];

async function beside(name: string, given: { reply: (n: number) => Reply; skein?: string[]; codex?: string[]; bar: string; met: (skein: Summary, codex: Summary | null) => boolean }): Promise<Row> {
  const server = await startModelServer({ script: (_request, n) => given.reply(n), validate: false });
  const codex = codexBinary();
  const results: { skein: Sample[]; codex: Sample[] } = { skein: [], codex: [] };
  try {
    for (let index = 0; index < RUNS; index++) {
      for (const who of ["skein", "codex"] as const) {
        if (who === "codex" && !codex) continue;
        const world = createWorld();
        const words = who === "skein" ? skeinWords(server.url, given.skein ?? []) : codexWords(server.url, given.codex ?? []);
        results[who].push(await measure(who === "skein" ? process.execPath : codex!, [...words, "hello"], { cwd: world.project, env: world.env }));
        world.remove();
      }
      say(`${name}: ${index + 1}/${RUNS}`);
    }
  } finally {
    await server.close();
  }
  const skein = summary(results.skein);
  const peer = results.codex.length > 0 ? summary(results.codex) : null;
  return { name, skein, codex: peer, bar: given.bar, met: given.met(skein, peer) };
}

interface Resumed {
  /** From the start of the process to the arrival of its model request. */
  requestMs: number;
  ms: number;
  rssMb: number;
  msAll: number[];
}
interface ResumeRow {
  name: string;
  skein: Resumed;
  skeinWithoutDerived: Resumed;
  codex: Resumed | null;
  codexWithoutDerived: Resumed | null;
  bar: string;
  met: boolean;
}

async function resumeAt(megabytes: number, oneTurn: number): Promise<ResumeRow> {
  const server = await startModelServer({ script: () => ({ text: "ok" }), validate: false });
  const world = createWorld();
  const { project, env } = world;
  const bytes = megabytes * 1_000_000;
  const { thread } = makeSession({ home: env["SKEIN_HOME"]!, seed: 1, bytes });
  const codex = codexBinary();
  const session = codex === null ? null : await makeCodexSession({ codex, words: codexWords, project, env, bytes });
  const runs = {
    skein: () => measure(process.execPath, skeinWords(server.url, ["-C", project, "resume", thread, "hello"]), { cwd: project, env }),
    codex: () => measure(codex!, codexWords(server.url, ["resume", session!.id, "hello"]), { cwd: project, env }),
  };
  const forget = {
    skein: () => {
      for (const name of ["metadata.json", "state.json"]) rmSync(join(env["SKEIN_HOME"]!, "sessions", thread, name), { force: true });
      rmSync(join(env["SKEIN_HOME"]!, "index.sqlite"), { force: true });
    },
    codex: () => removeCodexDerived(env["CODEX_HOME"]!),
  };
  const timed = async (who: "skein" | "codex") => {
    const before = server.requests.length;
    const sample = await runs[who]();
    return { ...sample, requestMs: server.requests[before]!.atMonotonic - sample.from };
  };
  const results: Record<string, (Sample & { requestMs: number })[]> = { skein: [], skeinWithoutDerived: [], codex: [], codexWithoutDerived: [] };
  const both = session ? (["skein", "codex"] as const) : (["skein"] as const);
  // Both find their derived files as they left them themselves.
  for (const who of both) await timed(who);
  for (let index = 0; index < RUNS; index++) {
    for (const who of both) {
      results[who]!.push(await timed(who));
      forget[who]();
      results[`${who}WithoutDerived`]!.push(await timed(who));
    }
    say(`resume at ${megabytes} MB: ${index + 1}/${RUNS}`);
  }
  await server.close();
  world.remove();
  const told = (name: string): Resumed | null => {
    const samples = results[name]!;
    if (samples.length === 0) return null;
    const { ms, msAll, rssMb } = summary(samples);
    return { requestMs: round(median(samples.map(({ requestMs }) => requestMs))), ms, rssMb, msAll };
  };
  const skein = told("skein")!;
  return {
    name: `resume, ${megabytes} MB log`,
    skein,
    skeinWithoutDerived: told("skeinWithoutDerived")!,
    codex: told("codex"),
    codexWithoutDerived: told("codexWithoutDerived"),
    bar: "whole turn ≤ one turn + 20 ms (+ 30 ms more without derived files)",
    met: skein.ms <= oneTurn + 20,
  };
}

const rows: object[] = [];
let oneTurn = Number.NaN;
const bare: number[] = [];
for (let index = 0; index < RUNS; index++) {
  const from = performance.now();
  spawnSync(process.execPath, ["-e", "0"]);
  bare.push(performance.now() - from);
}
const version: number[] = [];
for (let index = 0; index < RUNS; index++) {
  const from = performance.now();
  spawnSync(process.execPath, [BIN, "--version"]);
  version.push(performance.now() - from);
}
rows.push({ name: "--version", ms: round(median(version)), floorMs: round(median(bare)), bar: "bare Node + 10 ms", met: median(version) <= median(bare) + 10 });
if (wants("one") || wants("resume")) {
  const row = await beside("one turn, instant model", { reply: () => ({ text: "ok" }), bar: "≤ Codex's time, ≤ 90 MB", met: (skein, codex) => (codex === null || skein.ms <= codex.ms) && skein.rssMb <= 90 });
  oneTurn = row.skein.ms;
  rows.push(row);
}
if (wants("deltas")) {
  for (const count of [20_000, 100_000]) {
    rows.push(await beside(`${count} text deltas in one turn`, { reply: () => ({ deltas: count }), bar: "≤ Codex's time", met: (skein, codex) => codex === null || skein.ms <= codex.ms }));
  }
}
if (wants("calls")) {
  const reply = (n: number): Reply => (n % 21 === 20 ? { text: "done" } : { calls: [{ name: "exec_command", arguments: { cmd: "true" }, id: `call_${n}` }] });
  for (const sandbox of ["danger-full-access", "read-only"]) {
    rows.push(await beside(`20 sequential shell calls, ${sandbox}`, { reply, skein: ["-s", sandbox], codex: ["-s", sandbox], bar: "≤ 30 ms a call sandboxed, ≤ 10 ms without, on top of one turn", met: (skein) => (skein.ms - oneTurn) / 20 <= (sandbox === "read-only" ? 30 : 10) }));
  }
}
if (wants("resume")) for (const size of [1, 50, 200]) rows.push(await resumeAt(size, oneTurn));
process.stdout.write(`${JSON.stringify({ bench: "exec", node: process.version, cpus: cpus().length, cpu: cpus()[0]?.model, runs: RUNS, at: new Date().toISOString(), rows }, null, 2)}\n`);
