/** Commands that go on between calls, through the real binary: several model requests of one turn, with pipes and terminals. */
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { scene } from "./scene.ts";
import { itemsOf, jsonLines, run, start, until } from "./skein.ts";

const MODES = ["read-only", "workspace-write", "danger-full-access"];

/** What the model does, and what it looks for again and again before it goes on. */
interface Step {
  name: string;
  arguments: object;
  sees: RegExp;
}
const exec = (cmd: string, sees: RegExp, more: object = {}): Step => ({ name: "exec_command", arguments: { cmd, yield_time_ms: 100, ...more }, sees });
const write = (more: object, sees: RegExp): Step => ({ name: "write_stdin", arguments: { yield_time_ms: 100, ...more }, sees });

/** Plays the steps; `heard` has what the model was told after each, without the times. */
function playing(steps: readonly Step[], heard: string[], last: Reply = { text: "Done." }): (request: RecordedRequest, n: number) => Reply {
  let at = 0;
  let session = 0;
  let seen = "";
  const call = ({ name, arguments: given }: Omit<Step, "sees">): Reply => ({ text: "", calls: [{ name, arguments: name === "exec_command" ? given : { session_id: session, ...given } }] });
  return ({ body }, n) => {
    if (n === 0) return call(steps[0]!);
    const said = (body.input as { type: string; output?: string }[]).findLast(({ type }) => type === "function_call_output")!.output!;
    session = Number(/session ID (\d+)/u.exec(said)?.[1] ?? session);
    const [head = "", written = ""] = said.split("Output:\n");
    seen += written;
    const now = `${head.split("\n")[0]!.replace(/\d{3,}/u, "N")}|${seen}`;
    const { sees } = steps[at]!;
    if (!sees.test(now)) {
      if (head.startsWith("Process running")) return call({ name: "write_stdin", arguments: { chars: "", yield_time_ms: 200 } });
      throw new Error(`never seen ${String(sees)} in: ${now}`);
    }
    heard.push(now);
    seen = "";
    const next = steps[++at];
    return next ? call(next) : last;
  };
}

it.each(MODES)("in %s a command is left running, written to, looked at and ended, over one turn", async (mode) => {
  const heard: string[] = [];
  const steps = [
    exec('echo ready; while read line; do echo "got $line"; done; echo closed; exit 3', /ready/u, { stdin: true }),
    write({ chars: "hello\n" }, /got hello/u),
    write({ chars: "" }, /Process running/u),
    write({ chars: "bye\n\u0004" }, /Exit code/u),
    write({ chars: "x" }, /No such session/u),
    exec("echo on; sleep 100", /\|on/u),
    write({ chars: "x" }, /Not written/u),
    write({ end: true }, /Ended/u),
  ];
  const { world } = await scene(playing(steps, heard));
  const { code, stdout, stderr } = await run(world, ["exec", "-s", mode, "--json", "go"]);
  expect(code, stderr).toBe(0);
  expect(heard).toEqual([
    "Process running with session ID N|ready\n",
    "Process running with session ID N|got hello\n",
    "Process running with session ID N|",
    "Exit code: 3|got bye\nclosed\n",
    "No such session: N. It ended with the Skein process that ran it, or was ended.|",
    "Process running with session ID N|on\n",
    "Not written: its input is closed. Start a command with tty: true (or stdin: true) to write to it.|",
    `Ended: the command and ${mode === "danger-full-access" ? "all of its processes that could be found" : "everything that it started"}.|`,
  ]);
  const commands = itemsOf(jsonLines(stdout).filter(({ type }) => type === "item.completed")).filter(({ type }) => type === "command_execution");
  expect(commands.map(({ exit_code, status }) => [exit_code, status])).toEqual([[null, "completed"], [null, "completed"]]);
  await until(() => processesIn(world.project).length === 0);
});

it.each(MODES)("in %s a terminal is one: it echoes, and an interrupt reaches the command", async (mode) => {
  const heard: string[] = [];
  const steps = [
    exec('test -t 0 && test -t 1 && echo terminal; trap "echo caught; exit 5" INT; read -r name; echo "hi $name"; sleep 100', /terminal/u, { tty: true }),
    write({ chars: "bob\n" }, /hi bob/u),
    write({ chars: "\u0003" }, /Exit code/u),
  ];
  const { world } = await scene(playing(steps, heard));
  const { code, stderr } = await run(world, ["exec", "-s", mode, "--json", "go"]);
  expect(code, stderr).toBe(0);
  expect(heard).toEqual(["Process running with session ID N|terminal\n", "Process running with session ID N|bob\nhi bob\n", "Exit code: 5|^Ccaught\n"]);
});

it.each(MODES.slice(1))("in %s, what is left in the background ends with the run, and with one that is killed", async (mode) => {
  const left = [exec("setsid sh -c 'while :; do echo on > beat; sleep 0.05; done' & until [ -e beat ]; do sleep 0.02; done; echo beats; while :; do sleep 1; done", /beats/u)];
  const { world } = await scene(playing(left, [], { text: "Left on." }));
  expect((await run(world, ["exec", "-s", mode, "go"])).code).toBe(0);
  expect(existsSync(join(world.project, "beat"))).toBe(true);
  await until(() => processesIn(world.project).length === 0);

  const other = await scene(playing(left, [], { hang: true }));
  const { child, done } = start(other.world, ["exec", "-s", mode, "go"]);
  await until(() => existsSync(join(other.world.project, "beat")) && other.server.requests.length > 1);
  expect(processesIn(other.world.project).length).toBeGreaterThan(1);
  child.kill("SIGKILL");
  await done;
  await until(() => processesIn(other.world.project).length === 0);
});

function processesIn(folder: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/u.test(name) && readlinkSync(`/proc/${name}/cwd`) === folder;
    } catch {
      return false;
    }
  });
}
