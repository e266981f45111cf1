/** The records of a log file as it lies there, whatever its checksums say: for replaying what somebody sent. */
import { readFileSync } from "node:fs";
import { decode } from "../protocol/codec.ts";
import type { LogRecord } from "../protocol/record.ts";
import { openLine, sealOf } from "./file/line.ts";

export interface FileRecords {
  records: LogRecord[];
  /** Lines that cannot be read, or are not what was written. Without a checksum nobody can tell. */
  damaged: number;
}

export function fileRecords(path: string): FileRecords | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return null;
  }
  const lines = text.split("\n").filter((line) => line !== "");
  const decoded = lines.map((line) => decode(line));
  const records = decoded.flatMap((each) => (each.ok ? [each.record] : []));
  const header = records[0] as { id?: unknown } | undefined;
  if (!header) return null;
  const seal = sealOf(typeof header.id === "string" ? header.id : "", true);
  return { records, damaged: lines.filter((line) => !openLine(Buffer.from(line), seal).ok).length };
}
