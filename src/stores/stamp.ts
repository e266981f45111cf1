/** A draft becomes a record. */
import { LOG_VERSION, type Draft, type LogRecord, type UnknownBody } from "../protocol/record.ts";

/** A stamp from elsewhere (a copied record has one) does not decide the place. */
export function stamped(draft: Draft, place: { seq: number; at: string }): LogRecord {
  if (typeof draft.type !== "string") throw new TypeError("A record has a type");
  if ("seq" in draft || "crc" in draft) {
    const { seq: _place, crc: _seal, ...own } = draft as UnknownBody;
    return stamped(own, place);
  }
  return { v: LOG_VERSION, seq: place.seq, at: place.at, ...draft };
}
