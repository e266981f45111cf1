/**
 * Tools in whole turns, beside Codex CLI in the same run: 20 shell calls one after another, without a sandbox and in one; 200 reads in one
 * response; a patch of one line in a file of 5 MB. Times are of whole processes; `aCall` is what one call adds to a turn without any, and
 * `onTop` what of that is not the command's own (bare Node runs the same commands in between). Prints JSON. Codex has no tool that reads files, so there it runs `cat`. Turns that ended without the work being done are counted in
 * `notDone` and not measured.
 *
 *   npm run -s bench -- tools [--runs 7] [--no-peers] [calls|reads|patch …]
 */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Reply } from "../test/model-server/script.ts";
import { commandAlone } from "./tools/alone.ts";
import { createPeers, type Who, type Work } from "./tools/beside.ts";

const args = process.argv.slice(2);
const RUNS = args.includes("--runs") ? Number(args[args.indexOf("--runs") + 1]) : 7;
const wanted = args.filter((word) => !word.startsWith("-") && word !== String(RUNS));
const wants = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const round = (value: number): number => Math.round(value * 10) / 10;

const SHELL_CALLS = 20;
const READS = 200;
const PATCHED_BYTES = 5_000_000;

const idle: Work = { name: "one turn without a call", files: {}, rounds: 0, sandbox: "read-only", reply: () => ({ text: "done" }), done: () => true };

const shellCalls = (sandbox: string): Work => ({
  name: `${SHELL_CALLS} shell calls one after another, ${sandbox}`,
  files: {},
  rounds: SHELL_CALLS,
  sandbox,
  reply: (_, n) => ({ calls: [{ name: "exec_command", arguments: { cmd: `echo answer-$((1000 + ${n}))` }, id: `call_${n}` }] }),
  done: ({ request }) => Array.from({ length: SHELL_CALLS }, (_, n) => `answer-${1000 + n}`).every((answer) => request.includes(answer)),
});

const fileName = (n: number): string => `file-${n}.txt`;
const reads: Work = {
  name: `${READS} reads in one response`,
  files: Object.fromEntries(Array.from({ length: READS }, (_, n) => [fileName(n), `this is number ${n} of them\n`.repeat(50)])),
  rounds: 1,
  sandbox: "read-only",
  reply: (who) => ({
    calls: Array.from({ length: READS }, (_, n) =>
      who === "skein" ? { name: "read_file", arguments: { path: fileName(n) }, id: `call_${n}` } : { name: "exec_command", arguments: { cmd: `cat ${fileName(n)}`, yield_time_ms: 30_000 }, id: `call_${n}` },
    ),
  }),
  done: ({ request }) => Array.from({ length: READS }, (_, n) => `this is number ${n} of them`).every((line) => request.includes(line)),
};

const LINES = Array.from({ length: PATCHED_BYTES / 50 }, (_, n) => `line ${String(n).padStart(8, "0")} ${"x".repeat(35)}`);
const MIDDLE = Math.floor(LINES.length / 2);
const PATCH = ["*** Begin Patch", "*** Update File: big.txt", "@@", ` ${LINES[MIDDLE - 1]}`, `-${LINES[MIDDLE]}`, "+patched", ` ${LINES[MIDDLE + 1]}`, "*** End Patch"].join("\n");
const patchReply = (who: Who): Reply => ({
  calls: [who === "skein" ? { name: "apply_patch", arguments: PATCH, custom: true, id: "call_0" } : { name: "exec_command", arguments: { cmd: `apply_patch <<'EOF'\n${PATCH}\nEOF` }, id: "call_0" }],
});
const patch: Work = {
  name: "a patch of one line in a file of 5 MB",
  files: { "big.txt": `${LINES.join("\n")}\n` },
  rounds: 1,
  sandbox: "workspace-write",
  reply: patchReply,
  done: ({ project }) => readFileSync(join(project, "big.txt"), "utf8") === `${LINES.with(MIDDLE, "patched").join("\n")}\n`,
};

const works = [
  { work: idle, calls: 0, bar: "" },
  ...(wants("calls") ? [{ work: shellCalls("danger-full-access"), calls: SHELL_CALLS, bar: "≤ 10 ms a call on top of the command" }, { work: shellCalls("read-only"), calls: SHELL_CALLS, bar: "≤ 30 ms a call on top of the command" }] : []),
  ...(wants("reads") ? [{ work: reads, calls: READS, bar: "≤ Codex's time" }] : []),
  ...(wants("patch") ? [{ work: patch, calls: 1, bar: "≤ Codex's time" }] : []),
];

const peers = createPeers({ withCodex: !args.includes("--no-peers") });
const idleMs: Partial<Record<Who, number>> = {};
const rows: object[] = [];
try {
  for (const { work, calls, bar } of works) {
    const times: Record<Who, (number | null)[]> = { skein: [], codex: [] };
    const alone: number[] = [];
    for (let index = 0; index < RUNS; index++) {
      for (const who of ["skein", "codex"] as const) if (peers.has(who)) times[who].push(await peers.run(work, who));
      if (calls === SHELL_CALLS) alone.push(commandAlone(SHELL_CALLS));
      process.stderr.write(`${work.name}: ${index + 1}/${RUNS}\n`);
    }
    const told = (who: Who) => {
      if (times[who].length === 0) return null;
      const measured = times[who].filter((each) => each !== null);
      const notDone = times[who].length - measured.length;
      const ms = median(measured);
      if (calls === 0) idleMs[who] = ms;
      const aCall = (ms - idleMs[who]!) / calls;
      return { ms: round(ms), msAll: measured.map(round), ...(calls === 0 ? {} : { aCall: round(aCall) }), ...(alone.length === 0 ? {} : { onTop: round(aCall - median(alone)) }), ...(notDone === 0 ? {} : { notDone }) };
    };
    rows.push({ name: work.name, skein: told("skein"), codex: told("codex"), ...(alone.length === 0 ? {} : { commandAlone: round(median(alone)) }), ...(bar === "" ? {} : { bar }) });
  }
} finally {
  peers.close();
}
process.stdout.write(`${JSON.stringify({ bench: "tools", node: process.version, cpus: cpus().length, cpu: cpus()[0]?.model, runs: RUNS, at: new Date().toISOString(), rows }, null, 2)}\n`);
