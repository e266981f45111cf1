/** Content that can be checked: the text of a record follows from its seq and its length. */

/** A small generator of numbers that gives the same ones for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

export const LONGEST = 384 * 1024;
const PATTERN = "The quick brown fox jumps over the lazy dog 0123456789. ".repeat(LONGEST / 32);

/** Begins with the seq, so that no two are alike, and is not all ASCII. */
export function textOf(seq: number, size: number): string {
  return `${seq} größer ${PATTERN.slice(0, size)}`;
}
