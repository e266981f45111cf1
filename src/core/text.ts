/** Cutting text where people would cut it. */

export const PREVIEW_LENGTH = 100;

/** As much of a text as a preview looks at. */
const LOOKED_AT = 4000;

/** Characters of these are what people count: they need no segmenter, which is many times slower. */
const ONE_EACH = /^[ -~]*$/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** One line of at most 100 characters as people count them, for lists; null when there is nothing to show. */
export function preview(text: string): string | null {
  const start = text.trimStart();
  const line = start.slice(0, LOOKED_AT).replace(/\s+/gu, " ");
  const first = line.slice(0, PREVIEW_LENGTH + 1);
  if (first.length > PREVIEW_LENGTH && ONE_EACH.test(first)) return first.slice(0, PREVIEW_LENGTH).trimEnd();
  const shown: string[] = [];
  for (const { segment } of graphemes.segment(line)) {
    if (shown.length === PREVIEW_LENGTH) return shown.join("").trimEnd();
    shown.push(segment);
  }
  // The last character may have been cut with the text.
  if (start.length > LOOKED_AT) shown.pop();
  return shown.join("").trimEnd() || null;
}
