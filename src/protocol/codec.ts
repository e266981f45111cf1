/**
 * Text ↔ LogRecord. Decoding checks the envelope and nothing else: a body is kept as it is, known or not, so that what a newer
 * build wrote survives this one. Old versions are upcast here, on read, one step a version.
 */
import { LOG_VERSION, type Draft, type LogRecord } from "./record.ts";

export type Decoded = { ok: true; record: LogRecord } | { ok: false; why: string };

/** The record as the text of its line, without checksum and newline. Key order: v, seq, at, then the draft's own. */
export function encode(draft: Draft, place: { seq: number; at: string }): string {
  return JSON.stringify({ v: LOG_VERSION, seq: place.seq, at: place.at, ...draft });
}

export function decode(text: string): Decoded {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, why: "not JSON" };
  }
  return decodeValue(value);
}

export function decodeValue(value: unknown): Decoded {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { ok: false, why: "not an object" };
  const raw = value as Record<string, unknown>;
  if (!Number.isSafeInteger(raw["v"]) || (raw["v"] as number) < 0) return { ok: false, why: "no version" };
  if (!Number.isSafeInteger(raw["seq"]) || (raw["seq"] as number) < 0) return { ok: false, why: "no seq" };
  if (typeof raw["at"] !== "string") return { ok: false, why: "no time" };
  if (typeof raw["type"] !== "string") return { ok: false, why: "no type" };
  delete raw["crc"];
  return { ok: true, record: upcast(raw) };
}

type Upcast = (raw: Record<string, unknown>) => Record<string, unknown>;

/** UPCASTS[n] turns a record of version n into one of version n + 1. */
const UPCASTS: readonly Upcast[] = [fromDraftFormat];

/** Version 0, the format before the first release: a transcript item was a `message.added` with the item in `message`. */
function fromDraftFormat(raw: Record<string, unknown>): Record<string, unknown> {
  if (raw["type"] === "message.added") {
    const { message, ...rest } = raw;
    return { ...rest, v: 1, type: "item.added", item: message };
  }
  return { ...raw, v: 1 };
}

function upcast(raw: Record<string, unknown>): LogRecord {
  let record = raw;
  for (let v = raw["v"] as number; v < LOG_VERSION; v++) record = UPCASTS[v]!(record);
  return record as unknown as LogRecord;
}
