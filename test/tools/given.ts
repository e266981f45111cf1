/** A workspace on disk and the built-in tools in it. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { SandboxMode } from "../../src/protocol/record.ts";
import type { Tool, ToolDelta, ToolHost, ToolOutcome } from "../../src/core/tool.ts";
import type { ContentPart } from "../../src/protocol/item.ts";
import type { Json } from "../../src/protocol/json.ts";
import { builtinTools, type BuiltinOptions } from "../../src/tools/builtin.ts";

export interface Ran extends Omit<ToolOutcome, "output"> {
  /** The text of it, when it came in parts. */
  output: string;
  parts: ContentPart[] | null;
  /** What the command wrote, without the lines about how it ended. */
  text: string;
  shown: string;
  deltas: ToolDelta[];
  kept: string[];
  bytes: Uint8Array[];
  ms: number;
}

export interface RunOptions {
  cwd: string;
  sandbox?: SandboxMode;
  signal?: AbortSignal;
  thread?: string;
  tool?: Partial<BuiltinOptions>;
  /** The tool that is called; default: exec_command with the options of `tool`. */
  of?: Tool;
  /** What the user answers. */
  answer?: (body: Json) => Json;
  onShown?: (text: string) => void;
}

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
});

export function folder(parent: string = tmpdir()): string {
  const path = realpathSync(mkdtempSync(join(parent, "skein-tools-test-")));
  made.push(path);
  return path;
}

export function workspace(parent?: string): string {
  const path = join(folder(parent), "workspace");
  mkdirSync(path);
  return path;
}

export function toolsOf(options: Partial<BuiltinOptions> = {}): readonly Tool[] {
  return builtinTools({ home: "/nonexistent/skein", env: process.env, platform: process.platform, ...options });
}

export function execTool(options: Partial<BuiltinOptions> = {}): Tool {
  return toolsOf(options).find(({ name }) => name === "exec_command")!;
}

/** A text is `{ cmd }`. */
export async function run(input: unknown, options: RunOptions): Promise<Ran> {
  const { host, seen } = hostFor(options);
  const tool = options.of ?? execTool(options.tool);
  const from = performance.now();
  const outcome = await tool.run(typeof input === "string" ? { cmd: input } : input, host);
  const ms = performance.now() - from;
  const parts = typeof outcome.output === "string" ? null : outcome.output;
  const output = typeof outcome.output === "string" ? outcome.output : outcome.output.map((part) => ("text" in part && typeof part.text === "string" ? part.text : "")).join("");
  const at = output.indexOf("\nOutput:\n");
  return { ...outcome, ...seen, output, parts, ms, shown: seen.deltas.map(({ text }) => text).join(""), text: at < 0 ? "" : output.slice(at + "\nOutput:\n".length) };
}

/** What a tool is given, and what it did with it. */
function hostFor({ cwd, sandbox = "danger-full-access", signal = new AbortController().signal, thread = "thread", answer, onShown }: RunOptions) {
  const seen = { deltas: [] as ToolDelta[], kept: [] as string[], bytes: [] as Uint8Array[] };
  const host: ToolHost = {
    thread,
    call: "call",
    cwd,
    sandbox,
    signal,
    emit(delta) {
      seen.deltas.push(delta);
      onShown?.(delta.text);
    },
    keep(text) {
      seen.kept.push(text);
      return Promise.resolve({ sha256: "0".repeat(64), bytes: Buffer.byteLength(text) });
    },
    keepBytes(bytes) {
      seen.bytes.push(bytes);
      return Promise.resolve({ sha256: "0".repeat(64), bytes: bytes.length });
    },
    readKept: () => Promise.resolve(null),
    ask: (body) => (answer ? Promise.resolve(answer(body)) : Promise.reject(new Error("nobody answers"))),
  };
  return { host, seen };
}

/** A zombie is not alive: only its parent has not heard of it yet. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^[ZX]/u.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** Processes whose command line has a word that only this test uses. */
export function processesWith(word: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter(Number.isInteger)
    .filter((pid) => {
      try {
        return pid !== process.pid && isAlive(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(word);
      } catch {
        return false;
      }
    });
}

let words = 0;
/** Seconds for `sleep`: no other process sleeps for exactly so long. */
export const uniqueSleep = (): string => `${90_000 + (process.pid % 1000)}.${++words}${Date.now() % 100_000}`;

/** A file that a command in `cwd` waits for, so that nothing depends on how fast it is. */
export function gate(cwd: string): { wait: string; open(): void; close(): void } {
  const name = `gate-${++words}`;
  return { wait: `until [ -e ${name} ]; do sleep 0.01; done`, open: () => writeFileSync(join(cwd, name), ""), close: () => rmSync(join(cwd, name)) };
}

export const idIn = (output: string): number => Number(/^Process running with session ID (\d+)\n/u.exec(output)?.[1]);

/** Everything that a command in the background wrote until it had written `word`, by as many looks as that takes. */
export async function untilWritten(word: string | RegExp, ran: Ran, look: (input: { session_id: number; yield_time_ms: number }) => Promise<Ran>): Promise<string> {
  let { text } = ran;
  const isThere = () => (typeof word === "string" ? text.includes(word) : word.test(text));
  for (const end = performance.now() + 15_000; !isThere() && performance.now() < end; ) text += (await look({ session_id: idIn(ran.output), yield_time_ms: 20 })).text;
  return text;
}

/** The bound is for what never happens: a busy machine is slow. */
export async function eventually(holds: () => boolean, ms = 15_000): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; ) {
    if (holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return holds();
}
