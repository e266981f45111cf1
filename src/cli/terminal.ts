/** What a terminal would act upon instead of showing it: text of models, commands and files is shown, never obeyed. */

const ACTED_UPON = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu;

/** As it is where nobody's terminal is meant: a file or a pipe gets every byte. */
export function shownOn(stream: { isTTY?: boolean }, text: string): string {
  return stream.isTTY === true ? text.replace(ACTED_UPON, (char) => (char === "\u001b" ? "\u241b" : char === "\r" ? "" : "\ufffd")) : text;
}
