/**
 * The loop breaker: compacting again and again without getting on means that the work does not fit into the window. Getting on is new
 * input, a file that changed, or a call that succeeded and had not succeeded before.
 */
import type { TalkPart } from "../protocol/record.ts";

const REMEMBERED = 200;

type Loop = NonNullable<TalkPart["loop"]>;

export function progressed(talk: TalkPart): void {
  if (talk.loop) talk.loop.progress = true;
}

export function succeeded(talk: TalkPart, digest: number): void {
  const loop: Loop = (talk.loop ??= { compactions: 0, progress: true, seen: [] });
  if (loop.seen.includes(digest)) return;
  loop.seen.push(digest);
  if (loop.seen.length > REMEMBERED) loop.seen.shift();
  loop.progress = true;
}

export function compactedAgain(talk: TalkPart): void {
  const { seen = [], progress = true, compactions = 0 } = talk.loop ?? {};
  talk.loop = { compactions: progress ? 1 : compactions + 1, progress: false, seen };
}

/** FNV-1a, 32 bits. */
export function digestOf(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
