/**
 * Golden traces: small logs in test/traces, each with the state and the request that follow from it. A change of what records mean shows as
 * a diff here. UPDATE=1 npx vitest run test/core/traces writes the expected files anew; the logs themselves are never rewritten.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { decode } from "../../src/protocol/codec.ts";
import { stateFile, summaryOf } from "../../src/core/derived.ts";
import { visible } from "../../src/core/history.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { stateOf, type Logs } from "./given.ts";

const FOLDER = join(import.meta.dirname, "../traces");
const files = readdirSync(FOLDER).filter((file) => file.endsWith(".jsonl"));
/** `name.jsonl`; `name.parent.jsonl` is the log that it was forked from. */
const names = files.map((file) => file.slice(0, -".jsonl".length)).filter((name) => !name.includes("."));

test("there is a trace of each kind of history", () => {
  expect(names.toSorted()).toEqual(["compaction", "crash", "fork", "plain-turn", "rewind", "tool-calls"]);
});

describe.each(names)("the trace %s", (name) => {
  const logs: Logs = new Map();
  const log = read(`${name}.jsonl`);
  logs.set(threadOf(log), log);
  if (files.includes(`${name}.parent.jsonl`)) {
    const parent = read(`${name}.parent.jsonl`);
    logs.set(threadOf(parent), parent);
  }
  const state = stateOf(logs, threadOf(log));

  test("means this state", () => {
    const { thread, talk, head, barrier } = state;
    same(`${name}.state.json`, { head, barrier, thread, talk, summary: summaryOf(state), file: stateFile(state) });
  });

  test("gives this request", () => {
    same(`${name}.visible.json`, visible(state.history));
  });
});

function same(file: string, actual: unknown): void {
  const path = join(FOLDER, file);
  if (process.env["UPDATE"]) writeFileSync(path, `${JSON.stringify(actual, null, 2)}\n`);
  expect(JSON.parse(JSON.stringify(actual))).toEqual(JSON.parse(readFileSync(path, "utf8")));
}

function read(file: string): LogRecord[] {
  const lines = readFileSync(join(FOLDER, file), "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const decoded = decode(line);
    if (!decoded.ok) throw new Error(`${file}: ${decoded.why}: ${line}`);
    return decoded.record;
  });
}
function threadOf(log: LogRecord[]): string {
  return (log[0] as LogRecord & { id: string }).id;
}
