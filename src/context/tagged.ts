/** Tagged: a text of somebody else's, with where it came from. It cannot end its own tag, so that it cannot pass for another's words. */

export function tagged(tag: string, { text, ...attributes }: { text: string; [name: string]: string }): string {
  const named = Object.entries(attributes).map(([name, value]) => ` ${name}="${attribute(value)}"`);
  return `<${tag}${named.join("")}>\n${text.replaceAll(`</${tag}`, `<\\/${tag}`).trimEnd()}\n</${tag}>`;
}

function attribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replace(/\p{Cc}/gu, (char) => `&#${char.codePointAt(0)};`);
}

/** Whole lines, as far as they fit; a single line that does not fit is cut. */
export function wholeLines(text: string, isCut: boolean): string {
  return isCut ? text.slice(0, text.lastIndexOf("\n") + 1) || text : text;
}
