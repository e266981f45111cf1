/**
 * Parse: the text of a patch → what it asks for. Pure.
 *
 *   *** Begin Patch
 *   *** Add File: PATH              every line of the new file follows, each after "+"
 *   *** Delete File: PATH
 *   *** Update File: PATH           hunks follow
 *   *** Move to: PATH               optional, right after Update File; then hunks may be missing
 *   @@ LINE                         starts a hunk: it lies at or after this line of the file; several narrow it down; LINE may be missing
 *    line                           context, after one space
 *   -line                           goes
 *   +line                           comes
 *   *** End of File                 ends a hunk that lies at the end of the file
 *   *** End Patch
 *
 * Tolerated, because models write it: a heredoc around the patch, blank lines around it and after its sections, white space after
 * headers, carriage returns, an empty line as empty context, and `@@ -1,2 +1,3 @@`, whose numbers are ignored. A patch without its last line
 * is refused: it may have been cut off.
 */

export interface HunkLine {
  readonly kind: "context" | "delete" | "add";
  readonly text: string;
}
export interface Hunk {
  /** The lines after `@@`, outermost first. */
  readonly headers: readonly string[];
  readonly lines: readonly HunkLine[];
  readonly atEnd: boolean;
}
export type Section =
  | { readonly kind: "add"; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "update"; readonly path: string; readonly moveTo: string | null; readonly hunks: readonly Hunk[] };

export type Parsed = { ok: true; sections: readonly Section[] } | { ok: false; message: string };

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const END_OF_FILE = "*** End of File";
const HEADER = /^\*\*\* (Add File|Delete File|Update File|Move to):(.*)$/u;
const HEREDOC = /^(?:apply_patch\s+)?<<-?\s*(["']?)(\w+)\1$/u;
const RANGES = /^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/u;
const LONE_SURROGATE = /\p{Surrogate}/u;

const KINDS: Readonly<Record<string, HunkLine["kind"]>> = { " ": "context", "-": "delete", "+": "add" };

export function parsePatch(text: string): Parsed {
  if (LONE_SURROGATE.test(text)) return refuse("it has half of a character (a lone surrogate), which no file can hold");
  const lines = unwrap(text.split("\n").map((line) => line.replace(/\r$/u, "")));
  if (lines[0]?.trim() !== BEGIN) return refuse(`its first line must be "${BEGIN}"`);
  if (lines.at(-1)?.trimEnd() !== END) return refuse(`its last line must be "${END}"; if the patch was cut off, send it in smaller parts`);
  const sections: Section[] = [];
  for (let at = 1; at < lines.length - 1; ) {
    const header = HEADER.exec(lines[at]!);
    const [, kind, rest] = header ?? [];
    if (kind === undefined || kind === "Move to") return refuse(`line ${at + 1} must name a file ("*** Add File: …", "*** Update File: …" or "*** Delete File: …"): ${quote(lines[at]!)}`);
    const path = rest!.trim();
    if (!isPath(path)) return refuse(`line ${at + 1} names no usable path: ${quote(lines[at]!)}`);
    const end = endOfSection(lines, at + 1);
    const section = readSection({ kind, path, body: trimEnd(lines.slice(at + 1, end)), from: at + 2 });
    if (typeof section === "string") return refuse(section);
    sections.push(section);
    at = end;
  }
  return sections.length === 0 ? refuse("it names no file") : { ok: true, sections };
}

interface Body {
  kind: string;
  path: string;
  body: readonly string[];
  /** The number of the body's first line in the patch. */
  from: number;
}

/** A text is why not. */
function readSection({ kind, path, body, from }: Body): Section | string {
  if (kind === "Delete File") return body.length === 0 ? { kind: "delete", path } : `line ${from}: nothing may follow "*** Delete File: ${path}"`;
  if (kind === "Add File") {
    const wrong = body.findIndex((line) => !line.startsWith("+"));
    if (wrong >= 0) return `line ${from + wrong}: every line of the new file ${path} must begin with "+": ${quote(body[wrong]!)}`;
    return { kind: "add", path, lines: body.map((line) => line.slice(1)) };
  }
  const move = HEADER.exec(body[0] ?? "");
  const moveTo = move ? move[2]!.trim() : null;
  if (moveTo !== null && !isPath(moveTo)) return `line ${from} names no usable path: ${quote(body[0]!)}`;
  const hunks = readHunks(move ? body.slice(1) : body, from + (move ? 1 : 0));
  if (typeof hunks === "string") return hunks;
  if (hunks.length === 0 && moveTo === null) return `line ${from - 1}: "*** Update File: ${path}" has no hunk`;
  return { kind: "update", path, moveTo, hunks };
}

/** A text is why not. */
function readHunks(body: readonly string[], from: number): Hunk[] | string {
  const hunks: Hunk[] = [];
  let open: { headers: string[]; lines: HunkLine[] } | null = null;
  function close(atEnd: boolean): void {
    if (open) hunks.push({ ...open, atEnd });
    open = null;
  }
  for (const [index, line] of body.entries()) {
    const number = from + index;
    if (line.trimEnd() === END_OF_FILE) {
      if (!open) return `line ${number}: "${END_OF_FILE}" must follow the lines of a hunk`;
      close(true);
    } else if (line.startsWith("@@")) {
      if (open && open.lines.length > 0) close(false);
      open ??= { headers: [], lines: [] };
      const header = headerText(line);
      if (header !== "") open.headers.push(header);
    } else {
      const kind = line === "" ? "context" : KINDS[line[0]!];
      if (kind === undefined) return `line ${number} must begin with " ", "-", "+" or "@@": ${quote(line)}`;
      open ??= { headers: [], lines: [] };
      open.lines.push({ kind, text: line.slice(1) });
    }
  }
  close(false);
  const empty = hunks.findIndex(({ lines }) => lines.length === 0);
  return empty >= 0 ? `hunk ${empty + 1} before line ${from + body.length} has no lines` : hunks;
}

/** Only the one space that belongs to the format is taken away: the rest is indentation. */
function headerText(line: string): string {
  const text = line.slice(2).replace(/^ /u, "");
  return RANGES.test(text) || text.trim() === "" || text.trim() === "@@" ? "" : text;
}

function endOfSection(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length - 1 && !isSectionHeader(lines[at]!, at === from)) at += 1;
  return at;
}

/** "Move to" belongs to the section when it is its first line. */
function isSectionHeader(line: string, first: boolean): boolean {
  const kind = HEADER.exec(line)?.[1];
  return kind !== undefined && !(kind === "Move to" && first);
}

function unwrap(lines: readonly string[]): readonly string[] {
  const inner = withoutBlankEnds(lines);
  const word = HEREDOC.exec(inner[0]?.trim() ?? "")?.[2];
  return word !== undefined && inner.at(-1)?.trim() === word ? withoutBlankEnds(inner.slice(1, -1)) : inner;
}

function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const isText = (line: string): boolean => line.trim() !== "";
  return lines.slice(Math.max(0, lines.findIndex(isText)), lines.findLastIndex(isText) + 1);
}

/** A line with a space is context; one without anything stands between sections. */
function trimEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

function isPath(path: string): boolean {
  return path !== "" && !path.includes("\0") && !path.endsWith("/");
}

function quote(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}…` : line);
}

function refuse(why: string): { ok: false; message: string } {
  return { ok: false, message: `The patch cannot be read: ${why}.` };
}
