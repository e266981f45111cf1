/**
 * Nearest: the place in a file that is most like lines which were not found in it. Pure. Each line of the file that equals a wanted one votes for where the
 * wanted lines would start; without any vote the line decides that shares most words with the longest wanted one.
 */
import { fold } from "./match.ts";

/** Of places that are counted: a file in which more are alike is not worth the time. */
const MOST_PLACES = 100_000;

/** The index of the first line; null when nothing is alike. */
export function nearestPlace(lines: readonly string[], wanted: readonly string[]): number | null {
  const last = Math.max(0, lines.length - wanted.length);
  const start = byVotes(lines, wanted) ?? byWords(lines, wanted);
  return start === null ? null : Math.min(Math.max(0, start), last);
}

function byVotes(lines: readonly string[], wanted: readonly string[]): number | null {
  const places = new Map<string, number[]>();
  for (const [index, line] of wanted.entries()) {
    const normal = fold(line.trim());
    // Lines such as "}" are everywhere.
    if (/\w/u.test(normal)) places.set(normal, [...(places.get(normal) ?? []), index].slice(0, 8));
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    if (votes.size > MOST_PLACES) break;
    for (const place of places.get(fold(line.trim())) ?? []) votes.set(index - place, (votes.get(index - place) ?? 0) + 1);
  }
  return best(votes);
}

function byWords(lines: readonly string[], wanted: readonly string[]): number | null {
  const longest = wanted.reduce((found, line, index) => (line.length > wanted[found]!.length ? index : found), 0);
  const words = new Set(wordsOf(wanted[longest] ?? ""));
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    const shared = new Set(wordsOf(line).filter((word) => words.has(word))).size;
    if (shared * 2 >= words.size && shared > 0) votes.set(index - longest, shared);
  }
  return best(votes);
}

function wordsOf(line: string): readonly string[] {
  return line.slice(0, 1000).match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function best(votes: ReadonlyMap<number, number>): number | null {
  let found: number | null = null;
  for (const [place, count] of votes) if (found === null || count > votes.get(found)!) found = place;
  return found;
}
