/**
 * npm run -s bench -- context [--items 10000] [--times 15]
 *
 * What it costs to know what the model is asked: building a request (core's prompt, then each wire's conversion and JSON) from so many
 * items, the first time and after an item was added; the estimate of tokens and `next` with a server that counts and with one that does
 * not; planning a compaction and freezing its ledger. Prints JSON; the conversation is described in context/history.ts.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { plan } from "../src/core/compact.ts";
import { tokensUsed } from "../src/core/room.ts";
import { freeze } from "../src/core/ledger.ts";
import { next } from "../src/core/next.ts";
import { prompt } from "../src/core/prompt.ts";
import type { State } from "../src/core/state.ts";
import { toRequest as toChat } from "../src/providers/chat-request.ts";
import { toJson } from "../src/providers/json.ts";
import { toRequest as toMessages } from "../src/providers/messages-request.ts";
import { toRequest as toResponses } from "../src/providers/responses-request.ts";
import { added, INSTRUCTIONS, ORIGIN, stateOf, TOOLS } from "./context/history.ts";
import { median, row, tidy, type Row } from "./store/measure.ts";

const { values } = parseArgs({ options: { items: { type: "string", default: "10000" }, times: { type: "string", default: "15" } } });
const items = Number(values.items);
const times = Number(values.times);

const WIRES = { responses: toResponses, chat: toChat, messages: toMessages };
const LIMITS = { retries: 4, effectOf: () => "read" as const, awake: true, lasts: true };
const BAR = { most: 20 };
const rows: Row[] = [];

function timed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

/** The first time, and then the median of `times`, each after one more item. */
function measure(name: string, given: { state: State; work: (state: State) => unknown; bar?: { most: number } }): void {
  const { state, work, bar } = given;
  const first = timed(() => work(state));
  const samples = Array.from({ length: times }, () => {
    added(state);
    return timed(() => work(state));
  });
  rows.push(row({ name: `${name}, first`, unit: "ms", value: first }), row({ name: `${name}, later`, unit: "ms", value: median(samples), samples, ...(bar ? { bar } : {}) }));
}

/** What is alive at once while `work` runs, beyond what was there before. */
function megabytes(work: () => unknown): number {
  const { gc = () => {} } = globalThis as { gc?: () => void };
  gc();
  const before = process.memoryUsage();
  const made = work();
  const after = process.memoryUsage();
  if (made === null) throw new Error("nothing was made");
  return (after.heapUsed + after.external - before.heapUsed - before.external) / 1e6;
}

const build = (state: State) => prompt(state, { instructions: INSTRUCTIONS, tools: TOOLS });
const images = { urls: new Map<string, string>(), left: new Set<string>() };
const body = (state: State, wire: keyof typeof WIRES) => WIRES[wire](build(state), { images, origin: ORIGIN[wire] });

measure("prompt", { state: stateOf(items), work: build });
for (const wire of Object.keys(WIRES) as (keyof typeof WIRES)[]) {
  const state = stateOf(items, { origin: ORIGIN[wire] });
  measure(`${wire}: request`, { state, work: () => body(state, wire), bar: BAR });
  measure(`${wire}: request as JSON`, { state, work: () => toJson(body(state, wire)) });
  rows.push(row({ name: `${wire}: memory of a request as JSON`, unit: "MB", value: megabytes(() => toJson(body(state, wire))), details: { bytes: Buffer.byteLength(toJson(body(state, wire))) } }));
}
for (const counts of [true, false]) {
  const server = counts ? "a server that counts" : "no server that counts";
  measure(`tokens of the next request, ${server}`, { state: stateOf(items, { counts }), work: tokensUsed });
  measure(`next, ${server}`, { state: stateOf(items, { counts }), work: (state) => next(state, LIMITS) });
}
measure("plan of a compaction", { state: stateOf(items), work: (state) => plan(state) });
measure("ledger frozen", { state: stateOf(items), work: ({ history, talk }) => freeze(history.ledger, talk.plan, 12_000) });

const missed = rows.filter(({ met }) => met === false).map(({ name, value, bar }) => ({ name, value, bar }));
process.stdout.write(`${JSON.stringify(tidy({ machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg()[0] }, node: process.version, items, rows, missed }), null, 2)}\n`);
