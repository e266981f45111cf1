/**
 * Front matter: the `key: value` lines between two `---` at the top of a file. A small, tolerant part of YAML: plain and quoted values,
 * values that go on in indented lines, `>` and `|` blocks. Whatever else stands there is kept as the text that it is.
 */

export interface FrontMatter {
  fields: ReadonlyMap<string, string>;
  body: string;
}

/** Null: the text does not begin with front matter, or it does not end. */
export function parseFrontMatter(text: string): FrontMatter | null {
  const lines = text.split(/\r?\n/u);
  if (lines[0]?.trimEnd() !== "---") return null;
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/u.test(line));
  if (end < 0) return null;
  const fields = new Map<string, string>();
  for (let at = 1; at < end; ) {
    const match = /^([\w.-]+):(?:\s+(.*))?$/u.exec(lines[at]!);
    at += 1;
    const more: string[] = [];
    while (at < end && /^(?:\s|$)/u.test(lines[at]!)) more.push(lines[at++]!);
    if (match && !fields.has(match[1]!)) fields.set(match[1]!, valueOf((match[2] ?? "").trim(), more));
  }
  return { fields, body: lines.slice(end + 1).join("\n") };
}

function valueOf(first: string, more: readonly string[]): string {
  const block = /^([>|])[+-]?\d?[+-]?(?:\s+#.*)?$/u.exec(first);
  if (block) return block[1] === "|" ? unindented(more).join("\n").trim() : folded(more);
  const whole = folded([first, ...more]);
  const quoted = /^"((?:[^"\\]|\\.)*)"(?:\s+#.*)?$/u.exec(whole);
  if (quoted) return unescaped(quoted[1]!);
  const single = /^'((?:[^']|'')*)'(?:\s+#.*)?$/u.exec(whole);
  if (single) return single[1]!.replaceAll("''", "'");
  return whole.replace(/(?:^|\s+)#.*$/su, "");
}

/** Lines that follow each other are one; an empty line ends a paragraph. */
function folded(lines: readonly string[]): string {
  const paragraphs = lines.map((line) => line.trim()).join("\n").split(/\n{2,}/u);
  return paragraphs.map((paragraph) => paragraph.replaceAll("\n", " ").trim()).join("\n").trim();
}

function unindented(lines: readonly string[]): string[] {
  const indent = Math.min(...lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/u)));
  return lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0).trimEnd());
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "0": "\0" };

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gu, (_, code: string | undefined, char: string) => (code === undefined ? (ESCAPES[char] ?? char) : String.fromCodePoint(Number.parseInt(code, 16))));
}
