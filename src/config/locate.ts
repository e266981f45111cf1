/**
 * Locate: in which line of a TOML text each key stands, for messages and origins. The parser gives values only.
 *
 * It reads text that the parser has accepted, so it checks nothing; on other text it finds less, but ends and does not throw.
 * Paths are as the parsed value has them: `[[rules]]` are ["rules", "0"], ["rules", "1"] …; the third element of a list is
 * [..., "2"]. Of a key that is named several times (dotted keys, tables and their sub-tables) the first place counts, and a
 * table's own header before its mention in another's.
 */
import { endOfString, scanPath, skipBlanks, type Path } from "./keys.ts";

/** Deeper values have no place of their own. */
const DEEPEST = 100;

/** The line (from 1) of the key, or of the nearest table or list around it. */
export function locate(text: string): (path: Path) => number {
  const offsets = scan(text);
  const lines = lineStarts(text);
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const offset = offsets.get(nameOf(path.slice(0, length)));
      if (offset !== undefined) return lineOf(lines, offset);
    }
    return 1;
  };
}

const nameOf = (path: Path) => JSON.stringify(path);

function scan(text: string): Map<string, number> {
  const mentioned = new Map<string, number>();
  const headed = new Map<string, number>();
  const counts = new Map<string, number>();
  let table: Path = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;

  /** `[[a]]` has been opened before: `[a.b]` is inside the last of them. */
  function absolute(path: Path): string[] {
    const full: string[] = [];
    for (const part of path) {
      full.push(part);
      const count = counts.get(nameOf(full));
      if (count !== undefined) full.push(String(count - 1));
    }
    return full;
  }

  function note(base: Path, path: Path, offset: number): string[] {
    const full = [...base];
    for (const part of path) {
      full.push(part);
      const name = nameOf(full);
      if (!mentioned.has(name)) mentioned.set(name, offset);
    }
    return full;
  }

  function header(): void {
    const start = at;
    const list = text[at + 1] === "[";
    const key = scanPath(text, at + (list ? 2 : 1));
    at = endOfLine(text, key?.end ?? at);
    if (!key) return;
    if (list) {
      const name = nameOf([...absolute(key.path.slice(0, -1)), key.path.at(-1)!]);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    table = note([], absolute(key.path), start);
    const own = nameOf(table);
    if (!headed.has(own)) headed.set(own, start);
  }

  function entry(base: Path, depth: number): boolean {
    const start = at;
    const key = scanPath(text, at);
    if (!key || text[key.end] !== "=") return false;
    const path = note(base, key.path, start);
    at = skipBlanks(text, key.end + 1);
    value(path, depth);
    return true;
  }

  function value(path: Path, depth: number): void {
    const mark = text[at];
    if (mark === '"' || mark === "'") at = endOfAnyString(text, at);
    else if (depth < DEEPEST && mark === "[") elements(path, depth + 1);
    else if (depth < DEEPEST && mark === "{") members(path, depth + 1);
    else while (at < text.length && !/[,\]}#\n]/u.test(text[at]!)) at += 1;
  }

  function elements(path: Path, depth: number): void {
    at = skipVoid(text, at + 1);
    for (let index = 0; at < text.length && text[at] !== "]"; index++) {
      const before = at;
      value(note(path, [String(index)], at), depth);
      at = skipVoid(text, at);
      if (text[at] === ",") at = skipVoid(text, at + 1);
      if (at === before) return;
    }
    at += 1;
  }

  function members(path: Path, depth: number): void {
    at = skipVoid(text, at + 1);
    while (at < text.length && text[at] !== "}") {
      if (!entry(path, depth)) return;
      at = skipVoid(text, at);
      if (text[at] === ",") at = skipVoid(text, at + 1);
    }
    at += 1;
  }

  for (at = skipVoid(text, at); at < text.length; at = skipVoid(text, at)) {
    const before = at;
    if (text[at] === "[") header();
    else if (!entry(table, 0)) at = endOfLine(text, at);
    if (at === before) at += 1;
  }
  for (const [name, offset] of headed) mentioned.set(name, offset);
  return mentioned;
}

/** White space, line ends and comments. */
function skipVoid(text: string, at: number): number {
  for (;;) {
    const char = text[at];
    if (char === " " || char === "\t" || char === "\n" || char === "\r") at += 1;
    else if (char === "#") at = endOfLine(text, at);
    else return at;
  }
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

function endOfAnyString(text: string, at: number): number {
  const mark = text[at]!;
  if (text.startsWith(mark.repeat(3), at)) {
    let end = at + 3;
    while (end < text.length && !text.startsWith(mark.repeat(3), end)) end += text[end] === "\\" && mark === '"' ? 2 : 1;
    end += 3;
    while (text[end] === mark) end += 1;
    return Math.min(end, text.length);
  }
  const end = endOfString(text, at);
  return end < 0 ? endOfLine(text, at) : end;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineOf(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}
