/** Tagged: a text of somebody else's, with where it came from. It cannot end its own tag, so that it cannot pass for another's words. */

export function tagged(tag: string, { text, ...attributes }: { text: string; [name: string]: string }): string {
  const named = Object.entries(attributes).map(([name, value]) => ` ${name}="${attribute(value)}"`);
  return `<${tag}${named.join("")}>\n${text.replaceAll(`</${tag}`, `<\\/${tag}`).trimEnd()}\n</${tag}>`;
}

function attribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replace(/\p{Cc}/gu, (char) => `&#${char.codePointAt(0)};`);
}

/** The whole lines of a text that was cut; of a single line, what there is. */
export function wholeLines(text: string): string {
  return text.slice(0, text.lastIndexOf("\n") + 1) || text;
}

/** A note on a line of its own. */
export function noted(text: string, note: string): string {
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[${note}]`;
}
