/** Interrupts, timeouts and deaths, in every mode: nothing that a command started is left. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, openSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import type { SandboxMode } from "../../src/protocol/record.ts";
import { eventually, folder, processesWith, run, uniqueSleep, workspace } from "./given.ts";

const MODES: SandboxMode[] = ["danger-full-access", "workspace-write", "read-only"];

async function interruptOnOutput(cmd: string, sandbox: SandboxMode) {
  const cwd = workspace();
  const abort = new AbortController();
  let abortedAt = 0;
  const ran = await run(cmd, {
    cwd,
    sandbox,
    signal: abort.signal,
    onShown(text) {
      if (!text.includes("ready") || abort.signal.aborted) return;
      abortedAt = performance.now();
      abort.abort();
    },
  });
  return { ran, took: performance.now() - abortedAt };
}

describe.each(MODES)("%s", (sandbox) => {
  const all = sandbox === "danger-full-access" ? "the command and all of its processes that could be found were ended" : "the command and everything that it started were ended";

  test("an interrupt ends a command that ignores SIGTERM within 200 ms", async () => {
    const times: number[] = [];
    // The machine may be busy with other tests: the promise is about ours, so the best one counts.
    for (const end = performance.now() + 20_000; performance.now() < end && !times.some((ms) => ms < 200); ) {
      const sleep = uniqueSleep();
      const { ran, took } = await interruptOnOutput(`trap '' TERM INT HUP; echo ready; while :; do sleep ${sleep}; done`, sandbox);
      expect(ran).toMatchObject({ status: "failed", text: "ready\n" });
      expect(ran.exit).toBeUndefined();
      expect(ran.output.startsWith(`Interrupted: ${all}.\nWall time: `)).toBe(true);
      expect(processesWith(sleep)).toEqual([]);
      times.push(took);
    }
    console.log(`${sandbox}: interrupted in ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`);
    expect(Math.min(...times)).toBeLessThan(200);
  });

  test("a command that heeds SIGTERM has the time to clean up", async () => {
    const { ran } = await interruptOnOutput("trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.01; done", sandbox);
    expect(ran.text).toContain("cleaned\n");
  });

  test("grandchildren go too: in the background, in other groups and sessions, orphaned, without any environment, and deaf to SIGTERM", async () => {
    const sleep = uniqueSleep();
    const { ran } = await interruptOnOutput(
      `sleep ${sleep} & env -i setsid sh -c "trap '' TERM; env -i setsid sleep ${sleep}; :" & (sleep ${sleep} &) ; setsid sleep ${sleep} & (setsid sh -c "trap '' TERM; sleep ${sleep}; :" >/dev/null 2>&1 &); set -m; sleep ${sleep} & sleep 0.1; echo ready; wait`,
      sandbox,
    );
    expect(ran.status).toBe("failed");
    expect(processesWith(sleep)).toEqual([]);
  });

  test("a timeout ends the command and says so", async () => {
    const sleep = uniqueSleep();
    let limit = 300;
    const timed = () => run({ cmd: `echo started; sleep ${sleep}`, timeout_ms: limit }, { cwd: workspace(), sandbox });
    let ran = await timed();
    // A busy machine may need longer to start it at all.
    for (; ran.text === "" && limit < 5000; ran = await timed()) limit *= 3;
    expect(ran).toMatchObject({ status: "failed", exit: 124, text: "started\n" });
    expect(ran.output).toContain(`Note: timed out after ${limit} ms; ${all}.`);
    expect(processesWith(sleep)).toEqual([]);
  });

  test("what is already aborted is not run", async () => {
    const cwd = workspace();
    const signal = AbortSignal.abort();
    expect(await run("touch made", { cwd, sandbox, signal })).toMatchObject({ status: "failed", output: "Not run: interrupted before it was started." });
    expect(existsSync(join(cwd, "made"))).toBe(false);
  });

  test("an interrupt at any moment of the start leaves nothing running", async () => {
    const sleep = uniqueSleep();
    const cwd = workspace();
    for (let ms = 0; ms < 40; ms += 4) {
      const abort = new AbortController();
      setTimeout(() => abort.abort(), ms);
      const ran = await run(`sleep ${sleep}`, { cwd, sandbox, signal: abort.signal });
      expect(ran.status).toBe("failed");
      expect(processesWith(sleep)).toEqual([]);
    }
  });
});

/** A process of its own that runs a command as Skein does: `node runner.mjs MODE CWD COMMAND [MORE ARGUMENTS]`. */
const RUNNER = `
import { builtinTools } from "../../src/tools/builtin.ts";
const [sandbox, cwd, cmd, more = "{}"] = process.argv.slice(2);
const exec = builtinTools({ home: "/nonexistent/skein", env: process.env, platform: process.platform }).find(({ name }) => name === "exec_command");
const emit = ({ text }) => process.stdout.write(text);
const outcome = await exec.run({ cmd, ...JSON.parse(more) }, { thread: "thread", call: "call", cwd, sandbox, signal: new AbortController().signal, emit, keep: () => Promise.reject(), keepBytes: () => Promise.reject(), readKept: () => Promise.resolve(null), ask: () => Promise.reject() });
process.stdout.write("\\noutcome: " + JSON.stringify(outcome));
`;

describe("when Skein itself is killed with -9", () => {
  let runner = "";
  beforeAll(async () => {
    runner = join(folder(), "runner.mjs");
    await build({ stdin: { contents: RUNNER, resolveDir: import.meta.dirname, loader: "ts" }, outfile: runner, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "warning" });
  });

  test.each(MODES)("%s: everything that it had started goes", async (sandbox) => {
    const sleep = uniqueSleep();
    const cmd = `trap '' TERM HUP; sleep ${sleep} & setsid sleep ${sleep} >/dev/null 2>&1 & env -i setsid sh -c "env -i setsid sleep ${sleep}; :" & (setsid sleep ${sleep} &) ; sleep 0.2; echo ready; sleep ${sleep}`;
    const child = spawn(process.execPath, [runner, sandbox, workspace(), cmd], { stdio: ["ignore", "pipe", "inherit"] });
    await waitFor(child, "ready");
    const started = await eventually(() => processesWith(`sleep\0${sleep}`).length === 5);
    child.kill("SIGKILL");
    expect(started).toBe(true);
    expect(await eventually(() => processesWith(sleep).length === 0)).toBe(true);
  });

  test.each(MODES)("%s: also in the very moment in which a command is started", async (sandbox) => {
    const sleep = uniqueSleep();
    const dies = join(folder(), "dies.cjs");
    const isCommand = 'args.some((word) => word.includes("sleep")) || file.endsWith("bwrap")';
    writeFileSync(dies, `const child = require("node:child_process"); const { spawn } = child; child.spawn = (file, args, options) => { const made = spawn(file, args, options); if (${isCommand}) process.kill(process.pid, "SIGKILL"); return made; }; require("node:module").syncBuiltinESMExports();`);
    const runs = spawn(process.execPath, ["--require", dies, runner, sandbox, workspace(), `sleep ${sleep}; :`], { stdio: ["ignore", "pipe", "inherit"] });
    await once(runs, "close");
    expect(runs.signalCode).toBe("SIGKILL");
    await delay(500);
    expect(await eventually(() => processesWith(sleep).length === 0, 5000)).toBe(true);
  });

  test.each(MODES.flatMap((sandbox) => [{ sandbox, how: "in the background", more: { yield_time_ms: 1000 } }, { sandbox, how: "in a terminal", more: { yield_time_ms: 1000, tty: true } }]))(
    "$sandbox: so does what it left running $how",
    async ({ sandbox, more }) => {
      const sleep = uniqueSleep();
      const cmd = `trap '' TERM HUP INT; nohup sleep ${sleep} >/dev/null 2>&1 & setsid sleep ${sleep} >/dev/null 2>&1 & sleep 0.2; sleep ${sleep}; :`;
      const child = spawn(process.execPath, [runner, sandbox, workspace(), cmd, JSON.stringify(more)], { stdio: ["ignore", "pipe", "inherit"] });
      const said = await waitFor(child, "outcome:");
      const started = await eventually(() => processesWith(`sleep\0${sleep}`).length === 3);
      child.kill("SIGKILL");
      expect(said).toContain("Process running with session ID");
      expect(started).toBe(true);
      expect(await eventually(() => processesWith(sleep).length === 0)).toBe(true);
    },
  );

  test.each(MODES)("%s: a descriptor that Skein was started with is not handed on", async (sandbox) => {
    const outside = folder();
    writeFileSync(join(outside, "secret"), "canary");
    const open = openSync(outside, "r");
    const stdio: ("ignore" | "pipe" | "inherit" | number)[] = ["ignore", "pipe", "inherit"];
    stdio[77] = open;
    const cmd = "cat /proc/self/fd/77/secret 2>&1";
    const plain = spawnSync("bash", ["-c", cmd], { stdio: Array.from(stdio, (each) => each ?? "ignore"), encoding: "utf8" });
    expect(plain.stdout).toBe("canary");
    const child = spawn(process.execPath, [runner, sandbox, workspace(), cmd], { stdio: Array.from(stdio, (each) => each ?? "ignore") });
    closeSync(open);
    expect(await waitFor(child, "outcome:")).not.toContain("canary");
  });
});

function waitFor(child: ChildProcess, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout!.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes(word)) resolve(said);
    });
    child.on("exit", () => reject(new Error(`It ended without saying "${word}": ${said}`)));
  });
}
