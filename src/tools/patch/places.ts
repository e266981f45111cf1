/** Places: every index at which lines stand in a file, one after another. Pure, and bounded in time for any file and any lines. */
import { hasPlaceholder, matchTokens } from "./placeholder.ts";

/** Knuth, Morris and Pratt: no line of the file is gone back to, so that a file of equal lines takes no longer than another. */
export function placesOf(wanted: readonly string[], lines: readonly string[], from: number): number[] {
  const borders = bordersOf(wanted);
  const places: number[] = [];
  let matched = 0;
  for (let at = from; at < lines.length; at++) {
    while (matched > 0 && (matched === wanted.length || lines[at] !== wanted[matched])) matched = borders[matched - 1]!;
    if (lines[at] === wanted[matched]) matched += 1;
    if (matched === wanted.length) places.push(at - wanted.length + 1);
  }
  return places;
}

/** For each start of the lines the length of the longest shorter start that also ends it. */
function bordersOf(wanted: readonly string[]): number[] {
  const borders = [0];
  for (let at = 1, matched = 0; at < wanted.length; at++) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = borders[matched - 1]!;
    if (wanted[at] === wanted[matched]) matched += 1;
    borders.push(matched);
  }
  return borders;
}

/** Of comparisons with placeholders, which cannot be told from each other beforehand. */
const MOST_COMPARISONS = 5_000_000;

/** The same with placeholders in the lines. What would take too long has no place. */
export function placesWithTokens(wanted: readonly string[], lines: readonly string[], from: number): number[] {
  const tests = wanted.map((line): ((candidate: string) => boolean) => (hasPlaceholder(line) ? (candidate) => matchTokens(line, candidate) !== null : (candidate) => candidate === line));
  const places: number[] = [];
  let left = MOST_COMPARISONS;
  for (let at = from; at <= lines.length - wanted.length; at++) {
    let matched = 0;
    while (matched < tests.length && tests[matched]!(lines[at + matched]!)) matched += 1;
    if (matched === tests.length) places.push(at);
    left -= matched + 1;
    if (left < 0) return [];
  }
  return places;
}
