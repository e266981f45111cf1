/** A workspace on disk and the built-in exec_command in it. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { SandboxMode } from "../../src/protocol/record.ts";
import type { Tool, ToolDelta, ToolOutcome } from "../../src/core/tool.ts";
import { builtinTools, type BuiltinOptions } from "../../src/tools/builtin.ts";

export interface Ran extends ToolOutcome {
  /** What the command wrote, without the lines about how it ended. */
  text: string;
  shown: string;
  deltas: ToolDelta[];
  kept: string[];
  ms: number;
}

export interface RunOptions {
  cwd: string;
  sandbox?: SandboxMode;
  signal?: AbortSignal;
  tool?: Partial<BuiltinOptions>;
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

export function execTool(options: Partial<BuiltinOptions> = {}): Tool {
  const [tool] = builtinTools({ home: "/nonexistent/skein", env: process.env, platform: process.platform, ...options });
  return tool!;
}

/** A text is `{ cmd }`. */
export async function run(input: unknown, { cwd, sandbox = "danger-full-access", signal = new AbortController().signal, tool, onShown }: RunOptions): Promise<Ran> {
  const deltas: ToolDelta[] = [];
  const kept: string[] = [];
  const from = performance.now();
  const outcome = await execTool(tool).run(typeof input === "string" ? { cmd: input } : input, {
    cwd,
    sandbox,
    signal,
    emit(delta) {
      deltas.push(delta);
      onShown?.(delta.text);
    },
    keep(text) {
      kept.push(text);
      return Promise.resolve({ sha256: "0".repeat(64), bytes: Buffer.byteLength(text) });
    },
  });
  const ms = performance.now() - from;
  const at = outcome.output.indexOf("\nOutput:\n");
  return { ...outcome, deltas, kept, ms, shown: deltas.map(({ text }) => text).join(""), text: at < 0 ? "" : outcome.output.slice(at + "\nOutput:\n".length) };
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

export async function eventually(holds: () => boolean, ms = 3000): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; ) {
    if (holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return holds();
}
