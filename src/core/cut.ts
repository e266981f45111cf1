/**
 * cut: where history may be parted into what goes and what stays. A cut parts no call from its output and no sample in two, and everything
 * before it is older than everything after.
 */
import { isCall, isMessage, isOutput } from "../protocol/item.ts";
import type { Entry } from "./history.ts";
import type { State } from "./state.ts";
import { tokensOf } from "./tokens.ts";

/** Whether what stays from there takes no more than `room`. */
export function fits(entries: readonly Entry[], from: number, room: number): boolean {
  let left = room;
  for (let index = entries.length - 1; index >= from; index--) {
    left -= tokensOf(entries[index]!.item);
    if (left < 0) return false;
  }
  return true;
}

/** Where history may be cut, longest rest first: at the starts of the last turns, then at every place within the last that was answered. */
export function candidates(entries: readonly Entry[], { turns, last }: { turns: number; last: number }): number[] {
  const places = cuts(entries);
  const starts = places.filter((index) => entries[index]!.turn !== entries[index - 1]?.turn);
  const kept = turns === 0 ? [] : starts.slice(-turns);
  const answered = kept.findLast((index) => index < last) ?? entries.length;
  return places.filter((index) => kept.includes(index) || index > answered);
}

/** Indexes at which no call is open, no sample is under way, and everything before is older than everything after. */
export function cuts(entries: readonly Entry[]): number[] {
  const oldestFrom: number[] = [];
  let oldest = Number.POSITIVE_INFINITY;
  for (let index = entries.length - 1; index >= 0; index--) oldestFrom[index] = oldest = Math.min(oldest, startOf(entries[index]!));
  const found: number[] = [];
  const open = new Set<string>();
  let newest = -1;
  entries.forEach(({ item, seq, sample }, index) => {
    const within = sample !== null && sample === entries[index - 1]?.sample;
    if (open.size === 0 && !within && newest < oldestFrom[index]!) found.push(index);
    if (isCall(item)) open.add(item.call_id);
    else if (isOutput(item)) open.delete(item.call_id);
    newest = Math.max(newest, seq);
  });
  return found;
}

/** Where that begins which the open turn was told and nobody has answered yet. */
export function unanswered({ history: { entries }, talk: { turn } }: State): number {
  let index = entries.length;
  const isNew = ({ turn: of, sample, item }: Entry): boolean => turn !== null && of === turn.id && sample === null && isMessage(item);
  while (index > 0 && isNew(entries[index - 1]!)) index -= 1;
  return index;
}

/** From which record on the entries from `index` are found. */
export function seqAt(entries: readonly Entry[], index: number, head: number): number {
  let oldest = head;
  for (let at = index; at < entries.length; at++) oldest = Math.min(oldest, startOf(entries[at]!));
  return oldest;
}

/** What a model made begins with its sample, which says where it was made. */
function startOf({ seq, sample }: Entry): number {
  return sample !== null && sample >= 0 ? Math.min(seq, sample) : seq;
}
