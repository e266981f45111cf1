/** Diff: what a patch does to one file, as a unified diff for people. Pure. Its hunks are those of the patch, with some lines around. */
import type { Placed } from "./match.ts";

const AROUND = 3;
const SIGNS = { context: " ", delete: "-", add: "+" } as const;

export function diffOfUpdate({ from, to, lines, placed }: { from: string; to: string; lines: readonly string[]; placed: readonly Placed[] }): string {
  const parts = [`--- ${from}`, `+++ ${to}`];
  let shift = 0;
  for (const [index, hunk] of placed.entries()) {
    const old = hunk.lines.filter(({ kind }) => kind !== "add").length;
    const start = Math.max(hunk.at - AROUND, index === 0 ? 0 : endOf(placed[index - 1]!));
    const end = Math.min(hunk.at + old + AROUND, placed[index + 1]?.at ?? lines.length, lines.length);
    const added = hunk.lines.length - old;
    const deleted = hunk.lines.filter(({ kind }) => kind === "delete").length;
    parts.push(`@@ -${range(start, end - start)} +${range(start + shift, end - start + added - deleted)} @@`);
    for (let at = start; at < hunk.at; at++) parts.push(` ${lines[at]}`);
    let at = hunk.at;
    for (const { kind, text } of hunk.lines) parts.push(`${SIGNS[kind]}${kind === "add" ? text : lines[at++]}`);
    for (; at < end; at++) parts.push(` ${lines[at]}`);
    shift += added - deleted;
  }
  return parts.join("\n");
}

export function diffOfAdd(path: string, lines: readonly string[]): string {
  return ["--- /dev/null", `+++ ${path}`, `@@ -0,0 +${range(0, lines.length)} @@`, ...lines.map((line) => `+${line}`)].join("\n");
}

/** `lines` is null where the file is no text. */
export function diffOfDelete(path: string, lines: readonly string[] | null): string {
  const content = lines === null ? ["(not a text)"] : [`@@ -${range(0, lines.length)} +0,0 @@`, ...lines.map((line) => `-${line}`)];
  return [`--- ${path}`, "+++ /dev/null", ...content].join("\n");
}

function endOf({ at, lines }: Placed): number {
  return at + lines.filter(({ kind }) => kind !== "add").length;
}

/** An empty range names the line before it. */
function range(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}
