/**
 * Nearest: the place in a file that is most like lines which were not found in it. Pure. Each line of the file that equals a wanted one votes for where the
 * wanted lines would start; without any vote the line decides that shares most words with the longest wanted one, or else most pairs of characters.
 */
import { fold } from "./match.ts";

/** Of places that are counted: a file in which more are alike is not worth the time. */
const MOST_PLACES = 100_000;
/** Of lines that are compared by their characters, and of characters in each. */
const MOST_LINES = 20_000;
const MOST_CHARACTERS = 200;
const ALIKE = 0.5;

/** The index of the first line; null when nothing is alike. */
export function nearestPlace(lines: readonly string[], wanted: readonly string[]): number | null {
  const last = Math.max(0, lines.length - wanted.length);
  const start = byVotes(lines, wanted) ?? byWords(lines, wanted) ?? byCharacters(lines, wanted);
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
  const longest = longestOf(wanted);
  const words = new Set(wordsOf(wanted[longest] ?? ""));
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    const shared = new Set(wordsOf(line).filter((word) => words.has(word))).size;
    if (shared * 2 >= words.size && shared > 0) votes.set(index - longest, shared);
  }
  return best(votes);
}

/** How alike two lines are: their common pairs of characters among all. */
function byCharacters(lines: readonly string[], wanted: readonly string[]): number | null {
  const longest = longestOf(wanted);
  const pairs = pairsOf(wanted[longest] ?? "");
  const votes = new Map<number, number>();
  for (const [index, line] of lines.slice(0, MOST_LINES).entries()) {
    const others = pairsOf(line);
    const shared = [...others].filter((pair) => pairs.has(pair)).length;
    const alike = (2 * shared) / (pairs.size + others.size);
    if (alike >= ALIKE) votes.set(index - longest, alike);
  }
  return best(votes);
}

function pairsOf(line: string): Set<string> {
  const text = line.trim().toLowerCase().slice(0, MOST_CHARACTERS);
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, index) => text.slice(index, index + 2)));
}

function longestOf(wanted: readonly string[]): number {
  return wanted.reduce((found, line, index) => (line.length > wanted[found]!.length ? index : found), 0);
}

function wordsOf(line: string): readonly string[] {
  return line.slice(0, 1000).match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function best(votes: ReadonlyMap<number, number>): number | null {
  let found: number | null = null;
  for (const [place, count] of votes) if (found === null || count > votes.get(found)!) found = place;
  return found;
}
