/** What a reader found out that the indexer should do about, from the least to the most. */
const NEEDS = [
  "nothing",
  /** Single threads changed. */
  "refresh",
  /** Threads came or went. */
  "reconcile",
  /** Threads may have changed without a mark. */
  "sweep",
  /** There is no index that counts. */
  "rebuild",
] as const;
export type Need = (typeof NEEDS)[number];

export function higher(a: Need, b: Need): Need {
  return NEEDS.indexOf(a) >= NEEDS.indexOf(b) ? a : b;
}
