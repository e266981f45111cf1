/** The records of a log file as it lies there, whatever its checksums say: for replaying what somebody sent. */
import { readFileSync } from "node:fs";
import { decode } from "../protocol/codec.ts";
import type { LogRecord } from "../protocol/record.ts";

export function fileRecords(path: string): LogRecord[] | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return null;
  }
  const records = text.split("\n").flatMap((line) => {
    const decoded = line === "" ? null : decode(line);
    return decoded?.ok ? [decoded.record] : [];
  });
  return records.length > 0 ? records : null;
}
