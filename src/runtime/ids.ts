/** Ids: threads are UUID v7, so that names sort by creation; turns and ops are short random words. */
import { randomBytes } from "node:crypto";

export function threadId(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function turnId(): string {
  return `t${randomBytes(8).toString("base64url").slice(0, 10)}`;
}

export function askId(): string {
  return `a${randomBytes(8).toString("base64url").slice(0, 10)}`;
}
