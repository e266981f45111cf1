/**
 * Match: where in a file a hunk belongs. Pure.
 *
 * Its context and deleted lines are looked for after the hunk before it, in four passes, each more forgiving: exact, without trailing
 * white space, without white space at both ends, and with typographic dashes, quotes and spaces as plain ones. The first pass with a
 * place decides. More than one place in it is refused, unless the mark "end of file" or a header (`@@ line`) decides: then
 * it is the first place at or after the header, and several headers that lead to different places are refused as well.
 *
 * Without such lines, the added ones go after the header, or to the end of the file.
 */
import { fillPlaceholders, hasPlaceholder, matchTokens, type Found } from "./placeholder.ts";
import type { Hunk, HunkLine } from "./parse.ts";
import { placesOf, placesWithTokens } from "./places.ts";

export interface Placed {
  /** The index of its first line in the file. */
  readonly at: number;
  /** As in the patch, with the bytes that placeholders stand for. Context and deleted lines are one line of the file each. */
  readonly lines: readonly HunkLine[];
}
export type Matched =
  | { ok: true; placed: Placed }
  | { ok: false; why: "header"; header: string }
  | { ok: false; why: "missing"; wanted: readonly string[]; /** Where they are before `from`. */ earlier: number | null }
  | { ok: false; why: "ambiguous"; places: readonly number[] }
  | { ok: false; why: "placeholder"; placeholder: string };

interface Pass {
  normal(line: string): string;
  /** How many characters of the line's start are not in its normal form. */
  lead(line: string): number;
}

const atStart = (line: string): number => line.length - line.trimStart().length;

const PASSES: readonly Pass[] = [
  { normal: (line) => line, lead: () => 0 },
  { normal: (line) => line.trimEnd(), lead: () => 0 },
  { normal: (line) => line.trim(), lead: atStart },
  { normal: (line) => fold(line.trim()), lead: atStart },
];

/** One character for one, so that places in a folded line are places in the line. */
export function fold(line: string): string {
  return line
    .replace(/[\u2010-\u2015\u2212]/gu, "-")
    .replace(/[\u2018-\u201B]/gu, "'")
    .replace(/[\u201C-\u201F]/gu, '"')
    .replace(/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/gu, " ");
}

/** The lines of one file, made ready for each pass when it is first needed. */
export interface Searched {
  readonly lines: readonly string[];
  in(pass: Pass): readonly string[];
}

export function searched(lines: readonly string[]): Searched {
  const ready = new Map<Pass, readonly string[]>([[PASSES[0]!, lines]]);
  return {
    lines,
    in(pass) {
      const known = ready.get(pass) ?? lines.map(pass.normal);
      ready.set(pass, known);
      return known;
    },
  };
}

/** `from` is where the hunk before it ended. */
export function matchHunk(hunk: Hunk, { file, from }: { file: Searched; from: number }): Matched {
  const starts = afterHeaders(hunk.headers, file);
  if (typeof starts === "string") return { ok: false, why: "header", header: starts };
  if (oldLines(hunk.lines).length === 0) return insertOnly(hunk, { file, from, starts });
  for (const lines of variants(hunk.lines)) {
    const found = findPlace({ ...hunk, lines }, { file, from, starts });
    if (found?.ok === true) return fill(lines, { file, ...found });
    if (found) return { ok: false, why: "ambiguous", places: found.places };
  }
  const wanted = oldLines(hunk.lines);
  const earlier = PASSES.map((pass) => allPlaces(wanted, { file, pass, from: 0 })[0]).find((place) => place !== undefined);
  return { ok: false, why: "missing", wanted, earlier: earlier ?? null };
}

function oldLines(lines: readonly HunkLine[]): string[] {
  return lines.filter(({ kind }) => kind !== "add").map(({ text }) => text);
}

/** An empty last line of context may stand for the end of the last line. */
function variants(lines: readonly HunkLine[]): (readonly HunkLine[])[] {
  const last = lines.at(-1)!;
  return last.kind === "context" && last.text === "" && oldLines(lines).length > 1 ? [lines, lines.slice(0, -1)] : [lines];
}

interface Where {
  file: Searched;
  from: number;
  starts: readonly number[];
}

type Place = { ok: true; at: number; pass: Pass } | { ok: false; places: readonly number[] };

function findPlace({ lines, headers, atEnd }: Hunk, { file, from, starts }: Where): Place | null {
  const wanted = oldLines(lines);
  const end = file.lines.length - wanted.length;
  if (atEnd && end >= from) {
    const pass = PASSES.find((each) => allPlaces(wanted, { file, pass: each, from: end }).length > 0);
    if (pass) return { ok: true, at: end, pass };
  }
  for (const pass of PASSES) {
    const all = allPlaces(wanted, { file, pass, from });
    const places = headers.length === 0 ? all : firstAfter(starts, all, 0);
    if (places.length === 1) return { ok: true, at: places[0]!, pass };
    if (places.length > 1) return { ok: false, places };
  }
  return null;
}

function insertOnly({ lines, headers, atEnd }: Hunk, { file, from, starts }: Where): Matched {
  const places = headers.length === 0 || atEnd ? [file.lines.length] : starts.map((start) => start + 1).filter((place) => place >= from);
  if (places.length > 1) return { ok: false, why: "ambiguous", places };
  if (places.length === 0) return { ok: false, why: "header", header: headers.at(-1)! };
  return fill(lines, { file, at: places[0]!, pass: PASSES[0]! });
}

/** The lines of the last header, each reached through the ones before it; a text is the header that is not there. */
function afterHeaders(headers: readonly string[], file: Searched): readonly number[] | string {
  let starts: readonly number[] | null = null;
  for (const header of headers) {
    const pass = PASSES.find((each) => allPlaces([header], { file, pass: each, from: 0 }).length > 0);
    const places: readonly number[] = pass ? allPlaces([header], { file, pass, from: 0 }) : [];
    starts = starts === null ? places : firstAfter(starts, places, 1);
    if (starts.length === 0) return header;
  }
  return starts ?? [];
}

/** For each start the first place at least `gap` after it, each once. Both are sorted. */
function firstAfter(starts: readonly number[], places: readonly number[], gap: number): number[] {
  const found: number[] = [];
  let next = 0;
  for (const start of starts) {
    while (next < places.length && places[next]! < start + gap) next += 1;
    if (next < places.length && found.at(-1) !== places[next]) found.push(places[next]!);
  }
  return found;
}

function allPlaces(wanted: readonly string[], { file, pass, from }: { file: Searched; pass: Pass; from: number }): number[] {
  const lines = file.in(pass);
  const normal = wanted.map(pass.normal);
  return normal.some(hasPlaceholder) ? placesWithTokens(normal, lines, from) : placesOf(normal, lines, from);
}

function fill(lines: readonly HunkLine[], { file, at, pass }: { file: Searched; at: number; pass: Pass }): Matched {
  const found = new Map<string, Found>();
  let line = at;
  for (const { kind, text } of lines) {
    if (kind === "add") continue;
    const raw = file.lines[line++]!;
    if (!hasPlaceholder(text)) continue;
    const lead = pass.lead(raw);
    for (const { placeholder, start, end } of matchTokens(pass.normal(text), pass.normal(raw)) ?? []) {
      const texts = found.get(placeholder) ?? { deleted: [], all: [] };
      found.set(placeholder, texts);
      const bytes = raw.slice(lead + start, lead + end);
      texts.all.push(bytes);
      if (kind === "delete") texts.deleted.push(bytes);
    }
  }
  const filled = fillPlaceholders(lines.filter(({ kind }) => kind === "add").map(({ text }) => text), found);
  if (!filled.ok) return { ok: false, why: "placeholder", placeholder: filled.placeholder };
  const added = filled.lines.values();
  return { ok: true, placed: { at, lines: lines.map((each) => (each.kind === "add" ? { kind: "add", text: added.next().value! } : each)) } };
}
