/** What must hold for the standard output of every `skein exec --json`: each line follows the published schema, and one ends the run. */
import { Validator, type Schema } from "@cfworker/json-schema";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export type Json = Record<string, unknown>;

const SCHEMA = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../schema/exec.schema.json"), "utf8")) as Schema;
const validator = new Validator(SCHEMA, "2020-12", false);

export function jsonLines(text: string): Json[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Json);
}

/** What is wrong with a line; empty when it follows the schema. */
export function faultsOf(line: unknown): string[] {
  const { valid, errors } = validator.validate(line);
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

function isTerminal(line: Json): boolean {
  return line["type"] === "turn.completed" || line["type"] === "turn.failed" || line["type"] === "error";
}

/** Faults of a whole run. One that was killed, or whose reader left, may lack its end; its last line may be torn. */
export function faultsOfRun(stdout: string, given: { cut: boolean }): string[] {
  const whole = given.cut ? stdout.slice(0, stdout.lastIndexOf("\n") + 1) : stdout;
  if (whole !== "" && !whole.endsWith("\n")) return ["the last line has no end"];
  return faultsOfLines(jsonLines(whole), given.cut);
}

function faultsOfLines(lines: readonly Json[], cut: boolean): string[] {
  const faults: string[] = [];
  lines.forEach((line, index) => faults.push(...faultsOf(line).map((fault) => `line ${index} ${fault}: ${JSON.stringify(line)}`)));
  const ends = lines.flatMap((line, index) => (isTerminal(line) ? [index] : []));
  if (ends.length > 1 || (!cut && ends.length === 0)) faults.push(`${ends.length} terminal lines`);
  if (ends.length === 1 && ends[0] !== lines.length - 1) faults.push("a line follows the terminal one");
  if (lines.length > 0 && lines[0]!["schema_version"] !== 1) faults.push("the first line has no schema_version");
  const open = new Set<unknown>();
  const closed = new Set<unknown>();
  for (const line of lines) {
    const item = line["item"] as { id: string; type: string } | undefined;
    if (!item) continue;
    if (closed.has(item.id)) faults.push(`${item.id} goes on after it was completed`);
    if (line["type"] === "item.started" && open.has(item.id)) faults.push(`${item.id} is started twice`);
    if (line["type"] === "item.started") open.add(item.id);
    if (line["type"] === "item.completed") closed.add(item.id);
  }
  return faults;
}
