/** What a terminal would act upon instead of showing it: text of models, commands and files is shown, never obeyed. */

/** Control characters, but for tab and newline. */
const ACTED_UPON = /[^\P{Cc}\t\n]/gu;

/** As it is where nobody's terminal is meant: a file or a pipe gets every byte. */
export function shownOn(stream: { isTTY?: boolean }, text: string): string {
  return stream.isTTY === true ? text.replace(ACTED_UPON, (char) => (char === "\u001b" ? "\u241b" : char === "\r" ? "" : "\ufffd")) : text;
}
