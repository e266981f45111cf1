/** Numbers: medians, rows with their bars, and measurements in processes of their own. */
import { spawn } from "node:child_process";

export interface Measure {
  name: string;
  unit: "ms" | "µs" | "MB" | "MB/s" | "bytes" | "per second" | "ratio" | "count" | "s";
  value: number;
  /** What the number must reach, where something was promised. */
  bar?: { most: number } | { least: number };
  /** What the machine does at best, measured in the same run. */
  floor?: { name: string; value: number };
  /** `value` is their median, unless its name says otherwise. */
  samples?: number[];
  details?: Record<string, unknown>;
}
export interface Row extends Measure {
  met: boolean | null;
  /** The lowest sample: what is left when nobody else uses the machine. */
  best?: number;
}
export interface Growth {
  name: string;
  unit: Measure["unit"];
  from: { size: string; value: number };
  to: { size: string; value: number };
  /** How many times more, for `times` the size. */
  ratio: number;
  times: number;
}

export function row(measure: Measure): Row {
  const { value, bar, samples } = measure;
  const met = bar ? ("most" in bar ? value <= bar.most : value >= bar.least) : null;
  return tidy({ ...measure, met, ...(samples ? { best: Math.min(...samples) } : {}) }) as Row;
}

/** Numbers as people read them. */
export function tidy(value: unknown): unknown {
  if (typeof value === "number") return rounded(value);
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, tidy(inner)]));
}

export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

export async function milliseconds(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Time by the clock and time of processors, which says more on a machine that others use too. */
export async function spent(work: () => unknown): Promise<{ milliseconds: number; processor: number }> {
  const before = process.cpuUsage();
  const time = await milliseconds(work);
  const { user, system } = process.cpuUsage(before);
  return { milliseconds: time, processor: (user + system) / 1000 };
}

/** One warm-up that does not count, then `times` measurements. */
export async function repeated(times: number, work: () => unknown): Promise<number[]> {
  await work();
  const samples: number[] = [];
  for (let count = 0; count < times; count++) {
    collectGarbage();
    samples.push(await milliseconds(work));
  }
  return samples;
}

function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}

/** The most that this process ever held, in MB. */
export function peakMemory(): number {
  return process.resourceUsage().maxRSS / 1024;
}

export function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

/** Runs a task (tasks.ts) in a process of its own and gives what it answers. */
export function inChild<T>(task: string, given: unknown): Promise<T> {
  const child = spawn(process.execPath, ["--expose-gc", process.argv[1]!, "--child", task, JSON.stringify(given)], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(output) as T);
      else reject(new Error(`the measurement "${task}" ended with code ${code}`));
    });
  });
}

/** The same in `times` processes, one after another. */
export async function inChildren<T>(times: number, { task, given, before }: { task: string; given: unknown; before?: () => void }): Promise<T[]> {
  const answers: T[] = [];
  for (let count = 0; count < times; count++) {
    before?.();
    answers.push(await inChild<T>(task, given));
  }
  return answers;
}
