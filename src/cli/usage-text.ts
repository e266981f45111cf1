/** Usage for people: a table with bars. What is not known is said and never guessed. */
import type { UsageRow } from "../protocol/usage.ts";

export const WAYS = ["day", "model", "project"] as const;
export type By = (typeof WAYS)[number];

const SUMMED = ["requests", "unknown_requests", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"] as const;

export interface Group extends Record<(typeof SUMMED)[number], number> {
  day?: string;
  model?: string;
  provider?: string;
  project?: string;
  /** US dollars, as far as prices are known. */
  cost: number;
  /** Requests to models whose prices are not known: they are not in `cost`. */
  unpriced_requests: number;
}

export function groupsOf(rows: readonly UsageRow[], by: By): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const head = by === "day" ? { day: row.day } : by === "model" ? { model: row.model, provider: row.provider } : { project: row.cwd };
    const key = JSON.stringify(head);
    groups.set(key, sum(groups.get(key) ?? { ...head, ...NOTHING }, row));
  }
  const all = [...groups.values()];
  return by === "day" ? all.toSorted((a, b) => (a.day! < b.day! ? -1 : 1)) : all.toSorted((a, b) => b.cost - a.cost || tokens(b) - tokens(a));
}

const NOTHING: Group = { requests: 0, unknown_requests: 0, input_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cost: 0, unpriced_requests: 0 };

function sum(group: Group, row: UsageRow): Group {
  const next = { ...group, cost: group.cost + (row.cost ?? 0), unpriced_requests: group.unpriced_requests + (row.cost === null ? row.requests : 0) };
  for (const name of SUMMED) next[name] += row[name];
  return next;
}

export function usageText(rows: readonly UsageRow[], by: By): string {
  if (rows.length === 0) return "Nothing was used.\n";
  const groups = groupsOf(rows, by);
  const total = rows.reduce(sum, NOTHING);
  const isPriced = total.unpriced_requests === 0 && total.cost > 0;
  const size = (group: Group) => (isPriced ? group.cost : tokens(group));
  const largest = Math.max(...groups.map(size));
  const lines = [
    [by, "requests", "input", "cached", "output", "cost", isPriced ? "by cost" : "by tokens"],
    ...groups.map((group) => [nameOf(group), ...numbers(group), bar(largest === 0 ? 0 : size(group) / largest)]),
    ...(groups.length > 1 ? [["total", ...numbers(total), ""]] : []),
  ];
  return `${table(lines)}${notes(rows, total)}`;
}

function numbers(group: Group): string[] {
  return [String(group.requests), short(group.input_tokens), short(group.cached_tokens), short(group.output_tokens), costText(group)];
}

function costText({ cost, unpriced_requests: unpriced, requests }: Group): string {
  const known = cost > 0 && cost < 0.01 ? "<$0.01" : `$${cost.toFixed(2)}`;
  if (unpriced === 0) return known;
  return unpriced === requests ? "unknown" : `${known} + unknown`;
}

function notes(rows: readonly UsageRow[], total: Group): string {
  const { unknown_requests: lost } = total;
  const unpriced = [...new Set(rows.filter(({ cost }) => cost === null).map(({ model }) => visible(model)))];
  return [
    lost === 0 ? "" : `\n${lost} ${lost === 1 ? "request was lost or broke off and never told what it used: it is" : "requests were lost or broke off and never told what they used: they are"} in no sum.\n`,
    unpriced.length === 0 ? "" : `\nPrices are not known for ${unpriced.join(", ")}. Set them in config.toml: [models."${unpriced[0]}"] price_input, price_output.\n`,
  ].join("");
}

/** The first column to the left, numbers to the right, the bar as it is. */
function table(lines: readonly string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => Array.from(line[column]!).length)));
  return lines.map((line) => `${line.map((cell, column) => (column === 0 || column === line.length - 1 ? cell + " ".repeat(widths[column]! - Array.from(cell).length) : cell.padStart(widths[column]!))).join("  ").trimEnd()}\n`).join("");
}

const LONGEST_NAME = 48;

function nameOf({ day, model, provider, project }: Group): string {
  const name = Array.from(visible(day ?? project ?? `${model} (${provider})`));
  return name.length > LONGEST_NAME ? `…${name.slice(1 - LONGEST_NAME).join("")}` : name.join("");
}

/** A log may name anything; a terminal would act upon it. */
function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}

function tokens(group: Group): number {
  return group.input_tokens + group.output_tokens;
}

function short(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 999_950 ? [count / 1000, "k"] : count < 999_950_000 ? [count / 1_000_000, "M"] : [count / 1_000_000_000, "G"];
  return `${value.toFixed(1)}${unit}`;
}

const WIDTH = 20;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Whatever is more than nothing is seen. */
function bar(part: number): string {
  const eighths = part > 0 ? Math.max(1, Math.round(part * WIDTH * 8)) : 0;
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
}
