/** Randomness that comes back: the same seed gives the same numbers, on any machine. */
export interface Random {
  /** At least 0, below 1. */
  unit(): number;
  /** A whole number from `low` on, below `high`. */
  whole(low: number, high: number): number;
  chance(probability: number): boolean;
  /** Log-normal: half are below `median`; `spread` is the standard deviation of the logarithm. */
  size(sizes: Sizes): number;
  hex(digits: number): string;
}

/** A log-normal size, cut at both ends. */
export interface Sizes {
  median: number;
  spread: number;
  least: number;
  most: number;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  /** mulberry32 */
  function unit(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const normal = () => Math.sqrt(-2 * Math.log(1 - unit())) * Math.cos(2 * Math.PI * unit());
  return {
    unit,
    whole: (low, high) => low + Math.floor(unit() * (high - low)),
    chance: (probability) => unit() < probability,
    size: ({ median, spread, least, most }) => Math.round(Math.min(most, Math.max(least, median * Math.exp(spread * normal())))),
    hex(digits) {
      let text = "";
      while (text.length < digits) text += Math.floor(unit() * 2 ** 32).toString(16).padStart(8, "0");
      return text.slice(0, digits);
    },
  };
}
