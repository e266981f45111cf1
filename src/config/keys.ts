/** Key paths of TOML, `projects."/srv/a.b".trust_level` ↔ ["projects", "/srv/a.b", "trust_level"], and names that look alike. */

export type Path = readonly string[];

const BARE = /^[A-Za-z0-9_-]+$/u;
const BARE_HERE = /[A-Za-z0-9_-]+/uy;

export function formatPath(path: Path): string {
  return path.map((part) => (BARE.test(part) ? part : quoted(part))).join(".");
}

/** A string in quotes, with everything escaped that a terminal would act upon. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => {
    const code = char.codePointAt(0)!;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** Reads a key that starts at `start`, blanks allowed around its parts; `end` is behind it and the blanks that follow. */
export function scanPath(text: string, start: number): { path: string[]; end: number } | null {
  const path: string[] = [];
  let at = start;
  for (;;) {
    at = skipBlanks(text, at);
    const part = scanPart(text, at);
    if (part === null) return null;
    path.push(part.text);
    at = skipBlanks(text, part.end);
    if (text[at] !== ".") return { path, end: at };
    at += 1;
  }
}

function scanPart(text: string, at: number): { text: string; end: number } | null {
  const mark = text[at];
  if (mark === '"' || mark === "'") {
    const end = endOfString(text, at);
    if (end < 0) return null;
    const inner = text.slice(at + 1, end - 1);
    return { text: mark === '"' ? unescape(inner) : inner, end };
  }
  BARE_HERE.lastIndex = at;
  const bare = BARE_HERE.exec(text);
  return bare ? { text: bare[0], end: at + bare[0].length } : null;
}

export function skipBlanks(text: string, at: number): number {
  while (text[at] === " " || text[at] === "\t") at += 1;
  return at;
}

/** The place behind the one-line string that starts at `at`, or -1. */
export function endOfString(text: string, at: number): number {
  const mark = text[at];
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === mark) return index + 1;
    if (text[index] === "\n") return -1;
    if (text[index] === "\\" && mark === '"') index += 1;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001b" };

function unescape(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))/gsu, (_whole, short: string, long: string, byte: string, char: string) => {
    const hex = short ?? long ?? byte;
    if (hex === undefined) return ESCAPES[char] ?? char;
    const code = Number.parseInt(hex, 16);
    return code > 0x10ffff ? "" : String.fromCodePoint(code);
  });
}

/** The candidate that `word` was probably meant to be, or null. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  const wanted = plain(word);
  let best: string | null = null;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = distanceOf(wanted, plain(candidate), least);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

/** People mix up cases, dashes and underscores. */
function plain(word: string): string {
  return word.slice(0, 100).toLowerCase().replaceAll("-", "_");
}

/** Changes (insert, delete, replace, swap neighbours) that make one of the other; at least `limit` is as good as infinite. */
function distanceOf(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}
