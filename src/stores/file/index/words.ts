/**
 * Words: the one definition of what a text consists of for searching, used to index, to query, to match and to mark.
 *
 * A word is a run of letters, digits and their marks, without case and without Latin accents. Scripts that are written without
 * spaces have one word a character. A query is a list of phrases, one for each piece between spaces: every phrase must
 * occur, its words side by side. The last word of a query may be the beginning of a longer one.
 *
 * SQLite sees only text in which anything else than words is a space or ASCII punctuation, so its `ascii` tokenizer finds these
 * words and no others.
 */
const SPACELESS = String.raw`(?=[\p{L}\p{N}])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*`;
const WORD = new RegExp(String.raw`${SPACELESS}|(?:(?!${SPACELESS})[\p{L}\p{N}\p{M}\p{Co}])+`, "gu");
const ONE_WORD_EACH = new RegExp(SPACELESS, "gu");
const BETWEEN_WORDS = /[^\p{L}\p{N}\p{M}\p{Co}]+/gu;
const NOT_ASCII = /[\u{80}-\u{10ffff}]+/gu;

/** Shorter ones stand for themselves only: too much begins with them. */
const SHORTEST_BEGINNING = 3;
/** Each costs some 20 µs. */
const MOST_COMPLETIONS = 2000;
/** Each costs as much as a phrase. */
const MOST_COMPLETED_PHRASES = 50;
const LONGEST_QUERY = 1000;
const MOST_PHRASES = 16;

export interface Word {
  word: string;
  start: number;
  end: number;
}
export interface Phrase {
  words: string[];
  /** The last word may go on. */
  open: boolean;
}

/** The known words that begin so; null when there are more than `most`. */
export type Completions = (beginning: string, most: number) => readonly string[] | null;

export function* wordsOf(text: string): Generator<Word, void, void> {
  for (const { 0: found, index } of text.matchAll(WORD)) {
    const word = fold(found);
    if (word !== "") yield { word, start: index, end: index + found.length };
  }
}

function fold(word: string): string {
  const lower = word.toLowerCase();
  if (isAscii(lower)) return lower;
  return lower.normalize("NFD").replace(/[\u0300-\u036f]/gu, "").normalize("NFC").replaceAll("ς", "σ");
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** The text as SQLite's tokenizer must see it: ASCII as it is, which it can split and fold itself. */
export function indexable(text: string): string {
  const clean = text.replaceAll("\0", " ");
  return isAscii(clean) ? clean : clean.replace(NOT_ASCII, (run) => fold(run.replace(BETWEEN_WORDS, " ").replace(ONE_WORD_EACH, " $& ")));
}

export function parseQuery(text: string): Phrase[] {
  const phrases: Phrase[] = [];
  for (const piece of text.slice(0, LONGEST_QUERY).split(/\s+/u)) {
    const words = Array.from(wordsOf(piece), ({ word }) => word);
    if (words.length > 0 && phrases.length < MOST_PHRASES) phrases.push({ words, open: false });
  }
  const last = phrases.at(-1);
  if (last && last.words.at(-1)!.length >= SHORTEST_BEGINNING && !/\s$/u.test(text)) last.open = true;
  return phrases;
}

/**
 * An FTS5 query. Words hold nothing that means anything there, so any query is well formed. FTS5 visits every match of an open word before
 * it gives the first; so such a word is replaced by the words that it begins, if they are few.
 */
export function toMatch(phrases: readonly Phrase[], completions: Completions): string {
  return phrases.map(({ words, open }) => (open ? openPhrase(words, completions) : quoted(words))).join(" AND ");
}

function openPhrase(words: readonly string[], completions: Completions): string {
  const lasts = completions(words.at(-1)!, words.length === 1 ? MOST_COMPLETIONS : MOST_COMPLETED_PHRASES);
  if (!lasts || lasts.length === 0) return `${quoted(words)}*`;
  return `(${lasts.map((last) => quoted([...words.slice(0, -1), last])).join(" OR ")})`;
}

function quoted(words: readonly string[]): string {
  return `"${words.join(" ")}"`;
}

export function matches(text: string, phrases: readonly Phrase[]): boolean {
  const words = [...wordsOf(text)];
  return phrases.every((phrase) => words.some((_, at) => startsAt(words, at, phrase)));
}

function startsAt(words: readonly Word[], at: number, phrase: Phrase): boolean {
  const last = phrase.words.length - 1;
  return phrase.words.every((wanted, index) => {
    const found = words[at + index]?.word;
    return found === wanted || (phrase.open && index === last && found?.startsWith(wanted) === true);
  });
}

const BEFORE = 60;
const LENGTH = 200;
const SLACK = 20;

/** The surroundings of the first match on one line, every match in them between « and ». */
export function snippet(text: string, phrases: readonly Phrase[]): string {
  const words = [...wordsOf(text)];
  const hits: { start: number; end: number }[] = [];
  for (let at = 0; at < words.length; at++) {
    const phrase = phrases.find((each) => startsAt(words, at, each));
    if (phrase) hits.push({ start: words[at]!.start, end: words[at + phrase.words.length - 1]!.end });
  }
  const start = cutBefore(text, Math.max(0, (hits[0]?.start ?? 0) - BEFORE));
  const end = cutBefore(text, Math.min(text.length, start + LENGTH));
  let shown = start > 0 ? "…" : "";
  let at = start;
  for (const hit of hits) {
    if (hit.start < at || hit.end > end) continue;
    shown += `${text.slice(at, hit.start)}«${text.slice(hit.start, hit.end)}»`;
    at = hit.end;
  }
  shown += text.slice(at, end) + (end < text.length ? "…" : "");
  return shown.replace(/\s+/gu, " ").trim();
}

/** The nearest place at or before `at` where a text is cut well: after a space, else between characters. */
function cutBefore(text: string, at: number): number {
  if (at === 0 || at === text.length) return at;
  const space = text.slice(Math.max(0, at - SLACK), at).search(/\s\S*$/u);
  if (space >= 0) return Math.max(0, at - SLACK) + space + 1;
  return /[\udc00-\udfff]/u.test(text[at]!) ? at - 1 : at;
}
