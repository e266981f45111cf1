/**
 * Which records this build understands: those of a type in the table, of a version that is not newer, and with the fields that give them
 * their meaning. Anything else is kept in the log and has no meaning here, so that a malformed record costs itself and nothing more.
 */
import { LOG_VERSION, type KnownRecord, type LogRecord } from "../protocol/record.ts";

type Kind = "string" | "number" | "list" | "object" | "carry";

const KNOWN: Readonly<Record<KnownRecord["type"], Readonly<Record<string, Kind>>>> = {
  "thread.created": { id: "string", settings: "object" },
  "thread.described": {},
  "settings.changed": { settings: "object" },
  "writer.opened": { epoch: "number" },
  "writer.closed": {},
  "grant.added": { grant: "string" },
  "grant.revoked": { grant: "string" },
  "file.changed": {},
  "state.saved": { carry: "carry" },
  "input.queued": { op: "string", items: "list" },
  "input.changed": { input: "string", items: "list" },
  "input.withdrawn": { input: "string" },
  "input.taken": { from: "number" },
  "context.changed": { instructions: "object", tools: "object", items: "list" },
  "turn.started": { inputs: "list" },
  "turn.interrupted": {},
  "turn.continued": {},
  "sample.started": {},
  "sample.ended": { status: "string" },
  "item.added": { id: "string", item: "object" },
  "item.dropped": { items: "list" },
  "ask.opened": { ask: "string" },
  "ask.answered": { ask: "string" },
  "ask.withdrawn": { ask: "string" },
  "call.requested": { call: "string" },
  "call.started": { call: "string" },
  "call.ended": { call: "string", output: "object" },
  "plan.changed": { plan: "list" },
  "compaction.requested": { op: "string" },
  "summary.prepared": { before: "number" },
  "history.compacted": { summary: "list", keepFrom: "number", tokens: "object", carry: "carry" },
  "history.restored": { base: "object" },
  "thread.rewound": { before: "number", carry: "carry" },
  "turn.ended": { status: "string" },
};

export function asKnown(record: LogRecord): KnownRecord | null {
  if (record.v > LOG_VERSION || !Object.hasOwn(KNOWN, record.type)) return null;
  const fields = KNOWN[record.type as KnownRecord["type"]];
  for (const name in fields) if (!isOf(fields[name]!, (record as Record<string, unknown>)[name])) return null;
  return record as KnownRecord;
}

/** A record that this build must understand before it may write to the thread, and does not. */
export function isBarrier(record: LogRecord): boolean {
  return record.critical === true && asKnown(record) === null;
}

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === "list") return Array.isArray(value);
  if (kind === "object") return isObject(value);
  if (kind === "carry") return isObject(value) && isPart(value["thread"], ["ops", "grants"]) && isPart(value["talk"], ["queue", "asks"]) && isObject((value["talk"] as Record<string, unknown>)["history"]);
  return typeof value === kind;
}
function isPart(value: unknown, lists: readonly string[]): boolean {
  return isObject(value) && lists.every((name) => Array.isArray(value[name]));
}
function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
