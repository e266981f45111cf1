/** Cap: a text cut to a length, head and tail kept, with a note of what was cut. Cuts fall between lines where that costs little. */

/** How much of what is kept is the beginning. */
const HEAD_SHARE = 0.6;

/** `note` says what was left out, given how many characters that are. The text as it is when it is short enough. */
export function capText(text: string, most: number, note: (left: number) => string): string {
  if (text.length <= most) return text;
  const head = cutBack(text, Math.floor(most * HEAD_SHARE));
  const tail = cutForward(text, text.length - Math.floor(most * (1 - HEAD_SHARE)));
  return `${text.slice(0, head)}\n[… ${note(tail - head)} …]\n${text.slice(tail)}`;
}

/** At most a tenth is given up to end with a whole line; never half a character. */
function cutBack(text: string, at: number): number {
  const line = text.lastIndexOf("\n", at);
  if (line > at * 0.9) return line;
  return isLow(text.charCodeAt(at)) ? at - 1 : at;
}
function cutForward(text: string, at: number): number {
  const line = text.indexOf("\n", at) + 1;
  if (line > 0 && line - at < (text.length - at) * 0.1) return line;
  return isLow(text.charCodeAt(at)) ? at + 1 : at;
}
/** The second half of a character that takes two: nothing is cut before it. */
export function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
