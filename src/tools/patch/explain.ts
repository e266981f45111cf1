/** Explain: why a hunk has no place, in words from which the model can mend its patch. Pure. */
import type { Matched } from "./match.ts";
import { nearestPlace } from "./nearest.ts";

const MOST_LINES = 30;
const MOST_CHARACTERS = 200;

interface Failed {
  /** `src/a.ts, hunk 2 of 3` */
  where: string;
  lines: readonly string[];
  /** Where the hunk before it ended. */
  from: number;
}

export function explainMiss(miss: Extract<Matched, { ok: false }>, { where, lines, from }: Failed): string {
  switch (miss.why) {
    case "header":
      return `${where}: the line after "@@" is not in the file${from > 0 ? " where it would apply" : ""}: ${cut(miss.header)}${nearest(lines, [miss.header])}`;
    case "ambiguous":
      return `${where}: its lines are in the file ${miss.places.length} times, at lines ${numbers(miss.places)}. Add more context, or "@@" with a line above the place that is meant.`;
    case "placeholder":
      return `${where}: ${miss.placeholder} is added, and it cannot be told which text of the file it stands for: it must stand in a context or deleted line of the same hunk, once or for one text only. Leave that line of the file as it is.`;
    case "missing": {
      const place = from > 0 ? ` after line ${from}` : "";
      const looked = `${where}: these lines are not in the file${place}:\n${block(miss.wanted, null)}`;
      if (miss.earlier !== null) return `${looked}\nThey are at line ${miss.earlier + 1}, before or inside of the hunk before: hunks must be in the order of the file and must not overlap.`;
      return looked + nearest(lines, miss.wanted);
    }
  }
}

function nearest(lines: readonly string[], wanted: readonly string[]): string {
  const place = nearestPlace(lines, wanted);
  if (place === null) return "\nNothing in the file is like them. Read the file again.";
  const found = lines.slice(place, place + wanted.length);
  const differing = wanted.flatMap((line, index) => {
    const there = found[index];
    if (there === line) return [];
    if (there === undefined) return [`the file ends before ${cut(line)}`];
    const only = there.trim() === line.trim() ? " (only white space differs)" : "";
    return [`line ${place + index + 1} is ${cut(there)}, not ${cut(line)}${only}`];
  });
  if (differing.length === 0) return `\nIt is at line ${place + 1}.`;
  const more = differing.length > 5 ? [`and ${differing.length - 5} more`] : [];
  return `\nThe nearest in the file:\n${block(found, place + 1)}\nWhat differs: ${[...differing.slice(0, 5), ...more].join("; ")}.`;
}

function block(lines: readonly string[], first: number | null): string {
  const shown = lines.slice(0, MOST_LINES).map((line, index) => `${first === null ? "" : first + index}\t${line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line}`);
  return [...shown, ...(lines.length > MOST_LINES ? [`\t(and ${lines.length - MOST_LINES} more lines)`] : [])].join("\n");
}

function numbers(places: readonly number[]): string {
  const shown = places.slice(0, 10).map((place) => place + 1);
  return places.length > 10 ? `${shown.join(", ")} and more` : shown.join(", ");
}

function cut(line: string): string {
  return JSON.stringify(line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line);
}
