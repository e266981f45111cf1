/**
 * A Codex session of so many bytes, in the format of the Codex that is installed: it is recorded by running it against the scripted server (a
 * turn with five rounds of calls, then one that begins with a compaction), and its own lines are repeated, with ids, ordinals and times of their
 * own. Like a generated Skein session it compacts about every 600 kB of history and ends just before the next would be due.
 */
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../test/model-server/server.ts";
import type { Reply } from "../../test/model-server/script.ts";
import { spawnAsync } from "./spawn.ts";

export interface CodexSession {
  id: string;
  file: string;
  bytes: number;
}

const BETWEEN_COMPACTIONS = 600_000;
const FLUSH = 4 * 1024 * 1024;

interface Line {
  type: string;
  payload: { type?: string; id?: string };
  text: string;
}

export async function makeCodexSession(given: { codex: string; words: (url: string, more: readonly string[]) => string[]; project: string; env: Record<string, string>; bytes: number }): Promise<CodexSession> {
  await recordSession(given);
  const file = rolloutIn(join(given.env["CODEX_HOME"]!, "sessions"));
  const lines = readFileSync(file, "utf8").trimEnd().split("\n").map(parsed);
  const id = lines[0]!.payload.id!;
  const { opening, turn, compaction } = parts(lines);
  return { id, file, bytes: write({ file, id, opening, turn, compaction, bytes: given.bytes }) };
}

/** One turn as work makes them, and one that the limit makes begin with a compaction. */
async function recordSession({ codex, words, project, env }: Parameters<typeof makeCodexSession>[0]): Promise<void> {
  const round = (n: number): Reply => ({
    reasoning: { summary: "I look at the next file.", encrypted: "g".repeat(1200) },
    calls: [{ name: "exec_command", arguments: { cmd: `head -c 2000 /dev/urandom | base64 -w 76 # ${n}` } }],
    usage: { input: 1000, output: 10 },
  });
  const rounds = Array.from({ length: 5 }, (_, n) => round(n));
  const script: Reply[] = [...rounds, { text: "a".repeat(1200), usage: { input: 90_000, output: 10 } }, { text: "s".repeat(6000), usage: { input: 1000, output: 10 } }, { text: "ok", usage: { input: 1000, output: 10 } }];
  const server = await startModelServer({ script, validate: false });
  try {
    const access = ["-s", "danger-full-access"];
    for (const more of [[...access, "work"], [...access, "-c", "model_auto_compact_token_limit=50000", "resume", "--last", "go on"]]) {
      const { code, stderr } = await spawnAsync(codex, words(server.url, more), { cwd: project, env });
      if (code !== 0) throw new Error(`codex ${more.join(" ")} exited with ${code}: ${stderr.slice(-2000)}`);
    }
  } finally {
    await server.close();
  }
}

function rolloutIn(folder: string): string {
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((name) => /rollout-.*\.jsonl$/u.test(name));
  if (found === undefined) throw new Error(`Codex left no rollout in ${folder}.`);
  return join(folder, found);
}

function parsed(text: string): Line {
  return { ...(JSON.parse(text) as Omit<Line, "text">), text };
}

/** What comes once, what is a turn, and what is a compaction. */
function parts(lines: readonly Line[]): { opening: Line[]; turn: Line[]; compaction: Line[] } {
  const ends = lines.findIndex(({ payload }) => payload.type === "task_complete");
  const compacted = lines.findIndex(({ type }) => type === "compacted");
  const asked = (line: Line) => line.type === "response_item" && line.payload.type === "message";
  const said = lines.findIndex((line, index) => index > 0 && asked(line) && line.text.includes('"text":"work"'));
  if (ends < 0 || compacted < 0 || said < 0) throw new Error("Codex's rollout is not as it was: no end of a turn, no compaction, or no prompt.");
  const started = lines.findIndex(({ payload }) => payload.type === "task_started");
  const contextOf = lines.slice(started, said).filter(({ type, payload }) => payload.type === "task_started" || type === "turn_context");
  const after = lines.findIndex((line, index) => index > compacted && !["world_state", "turn_context"].includes(line.type) && line.payload.type !== "thread_settings_applied");
  return { opening: lines.slice(0, ends + 1), turn: [...contextOf, ...lines.slice(said, ends + 1)], compaction: lines.slice(compacted, after) };
}

function write({ file, id, opening, turn, compaction, bytes }: { file: string; id: string; opening: Line[]; turn: Line[]; compaction: Line[]; bytes: number }): number {
  const fd = openSync(file, "w");
  let ordinal = 0;
  let copy = 0;
  let written = 0;
  let pending = "";
  let sinceCompaction = 0;
  const started = Date.parse(/"timestamp":"([^"]+)"/u.exec(opening[0]!.text)![1]!);
  const put = (lines: readonly Line[], rename: (text: string) => string) => {
    for (const { text } of lines) {
      const at = new Date(started + ordinal).toISOString();
      const line = `${rename(text).replace(/^\{"timestamp":"[^"]*","ordinal":\d+/u, `{"timestamp":"${at}","ordinal":${ordinal++}`)}\n`;
      pending += line;
      sinceCompaction += line.length;
      written += line.length;
    }
    if (pending.length > FLUSH) flush();
  };
  const flush = () => {
    writeSync(fd, pending);
    pending = "";
  };
  put(opening, (text) => text);
  for (;;) {
    if (sinceCompaction >= BETWEEN_COMPACTIONS) {
      if (written >= bytes) break;
      put(compaction, renamed(id, ++copy));
      sinceCompaction = 0;
    }
    put(turn, renamed(id, ++copy));
  }
  flush();
  closeSync(fd);
  return written;
}

/** Every id but the session's gets a number: the end of a UUID, or a suffix. */
function renamed(session: string, copy: number): (text: string) => string {
  const end = copy.toString(16).padStart(6, "0");
  return (text) =>
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu, (uuid) => (uuid === session ? uuid : uuid.slice(0, -6) + end))
      .replaceAll(/"((?:call|rs|fc|msg|resp)_\d[0-9_]*)"/gu, (_, name: string) => `"${name}_${end}"`);
}

/** What Codex can make again from its rollouts. */
export function removeCodexDerived(home: string): void {
  for (const name of readdirSync(home)) if (/\.sqlite(?:-wal|-shm)?$/u.test(name)) spawnSync("rm", ["-f", join(home, name)]);
}
