/**
 * Transcript: entries of history as plain text, to be summarised in pieces where they do not fit into one request. A text that is longer
 * than a piece is parted, so a piece is never too long and nothing is left out.
 */
import { isCall, isMessage, isOutput, isReasoning, textOf, toolName, type Item } from "../protocol/item.ts";
import { isLow } from "./cap.ts";
import { argumentsOf } from "./command.ts";
import type { Entry } from "./history.ts";
import { tokensOfText } from "./tokens.ts";

/** Pieces of at most `most` tokens, each of whole entries where those are short enough. */
export function pieces(entries: readonly Entry[], most: number): string[] {
  const found: string[] = [];
  let piece: string[] = [];
  let left = most;
  for (const text of entries.flatMap(({ item }) => parted(lineOf(item), most))) {
    const tokens = tokensOfText(text) + 1;
    if (piece.length > 0 && tokens > left) {
      found.push(piece.join("\n\n"));
      piece = [];
      left = most;
    }
    piece.push(text);
    left -= tokens;
  }
  return piece.length > 0 ? [...found, piece.join("\n\n")] : found;
}

function parted(text: string, most: number): string[] {
  if (text === "") return [];
  if (text.length < 2 || tokensOfText(text) <= most) return [text];
  const middle = text.length >> 1;
  const at = isLow(text.charCodeAt(middle)) ? middle + 1 : middle;
  return [...parted(text.slice(0, at), most), ...parted(text.slice(at), most)];
}

function lineOf(item: Item): string {
  if (isMessage(item)) return `[${item.role}]\n${textOf(item)}`;
  if (isCall(item)) return `[call of ${toolName(item)}]\n${argumentsOf(item)}`;
  if (isOutput(item)) return `[output]\n${textOf(item)}`;
  if (isReasoning(item)) return item.summary.length > 0 ? `[thought]\n${item.summary.map((part) => part.text).join("\n")}` : "";
  return "";
}
