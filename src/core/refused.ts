/**
 * refused: what to leave out when a provider refuses something that only it can judge: reasoning that another account encrypted, or an
 * image that it cannot take. It is dropped once, in the log, and the request is made again; if there is nothing to drop, the failure stands.
 */
import { isMessage, isOutput, isReasoning, type ContentPart, type Item } from "../protocol/item.ts";
import type { Draft, Failure, KnownRecord } from "../protocol/record.ts";
import type { State } from "./state.ts";

export function dropRefused(state: State, failure: Failure): Draft | null {
  const encrypted = failure.code === "bad_encrypted_content";
  if (!encrypted && failure.code !== "bad_image") return null;
  const found = state.history.entries.filter(({ item }) => (encrypted ? isReasoning(item) && typeof item.encrypted_content === "string" : hasImage(item)));
  if (found.length === 0) return null;
  return {
    type: "item.dropped",
    items: found.map((entry) => entry.id),
    ...(encrypted ? {} : { part: "images" as const }),
    why: failure.message,
    ...(state.talk.turn ? { turn: state.talk.turn.id } : {}),
  };
}

/** A request that failed because of what was dropped: the next one is another, made at once, and no budget is used. */
export function wasMended({ retries, retryAt }: Extract<KnownRecord, { type: "sample.ended" }>): boolean {
  return retries !== undefined && retryAt === undefined;
}

function hasImage(item: Item): boolean {
  const parts: readonly ContentPart[] = isMessage(item) ? item.content : isOutput(item) && typeof item.output !== "string" ? item.output : [];
  return parts.some((part) => part.type === "input_image");
}
