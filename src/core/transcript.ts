/**
 * Transcript: entries of history as plain text, to be summarised in pieces where they do not fit into one request. Any part of a text can be
 * cut, so a piece is never too long.
 */
import { isCall, isMessage, isOutput, isReasoning, textOf, toolName, type Item } from "../protocol/item.ts";
import { argumentsOf } from "./command.ts";
import type { Entry } from "./history.ts";
import { capText } from "./cap.ts";

/** Pieces of at most `most` characters, each of whole entries where those are short enough. */
export function pieces(entries: readonly Entry[], most: number): string[] {
  const found: string[] = [];
  let piece = "";
  for (const { item } of entries) {
    const line = capText(lineOf(item), most, (left) => `${left} characters left out`);
    if (line === "") continue;
    if (piece !== "" && piece.length + line.length > most) {
      found.push(piece);
      piece = "";
    }
    piece += `${line}\n\n`;
  }
  return piece === "" ? found : [...found, piece];
}

function lineOf(item: Item): string {
  if (isMessage(item)) return `[${item.role}]\n${textOf(item)}`;
  if (isCall(item)) return `[call of ${toolName(item)}]\n${argumentsOf(item)}`;
  if (isOutput(item)) return `[output]\n${textOf(item)}`;
  if (isReasoning(item)) return item.summary.length > 0 ? `[thought]\n${item.summary.map((part) => part.text).join("\n")}` : "";
  return "";
}
