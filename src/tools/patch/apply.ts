/**
 * Apply: a file's text and the hunks that were placed in it → its new text. Pure.
 *
 * Lines that are not deleted keep their bytes: context is the file's, however the patch wrote it. An added line ends like the line that it
 * replaces, else like the one before it. A file that ended without a newline still does, and one that ended with one too.
 */
import type { Placed } from "./match.ts";
import type { Text } from "./text.ts";

/** `placed` are in order and do not overlap. */
export function applyHunks(text: Text, placed: readonly Placed[]): Text {
  const lines: string[] = [];
  const ends: string[] = [];
  let at = 0;
  function take(count: number): void {
    for (const until = at + count; at < until; at++) {
      lines.push(text.lines[at]!);
      ends.push(text.ends[at]!);
    }
  }
  for (const hunk of placed) {
    take(hunk.at - at);
    let deleted: string[] = [];
    for (const { kind, text: line } of hunk.lines) {
      if (kind === "context") {
        take(1);
        deleted = [];
      } else if (kind === "delete") deleted.push(text.ends[at++]!);
      else {
        lines.push(line);
        ends.push(deleted.shift() ?? ends.at(-1) ?? "");
      }
    }
  }
  take(text.lines.length - at);
  return { bom: text.bom, lines, ends: mendEnds(ends, text) };
}

/** Only the last line may be without an end, and it is when the file's was. */
function mendEnds(ends: readonly string[], { ends: before }: Text): string[] {
  const usual = before.find((end) => end !== "") ?? "\n";
  const last = ends.length - 1;
  const open = before.at(-1) === "";
  return ends.map((end, index) => (index === last && open ? "" : end === "" ? usual : end));
}
