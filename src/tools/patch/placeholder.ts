/**
 * Placeholder: `[REDACTED:kind]` in a patch. The model was shown it in place of a secret, so in a context or deleted line it stands for
 * one token (a run without white space) of the file's line, and in an added line for the bytes that it stood for there. Pure.
 */

const PLACEHOLDER = /\[REDACTED:[\w-]+\]/gu;

export interface Token {
  /** The placeholder as it is written. */
  readonly placeholder: string;
  readonly start: number;
  readonly end: number;
}

export function hasPlaceholder(text: string): boolean {
  return text.includes("[REDACTED:") && text.search(PLACEHOLDER) >= 0;
}

/**
 * Where the placeholders of `pattern` lie in `line`; null when it does not match. Each takes the shortest token that lets its next part
 * follow, so the time is linear: a part that follows later would need a token with more in it, and white space may not be in one.
 */
export function matchTokens(pattern: string, line: string): Token[] | null {
  const placeholders = pattern.match(PLACEHOLDER) ?? [];
  const parts = pattern.split(PLACEHOLDER);
  if (!line.startsWith(parts[0]!)) return null;
  const tokens: Token[] = [];
  let at = parts[0]!.length;
  for (const [index, placeholder] of placeholders.entries()) {
    const part = parts[index + 1]!;
    const isLast = index === placeholders.length - 1;
    const end = isLast ? line.length - part.length : line.indexOf(part, at + 1);
    if (end <= at || (isLast && !line.endsWith(part)) || /\s/u.test(line.slice(at, end))) return null;
    tokens.push({ placeholder, start: at, end });
    at = end + part.length;
  }
  return at === line.length ? tokens : null;
}

/** What one placeholder stood for: in deleted lines, and anywhere in the hunk, in the order of the lines. */
export interface Found {
  readonly deleted: string[];
  readonly all: string[];
}

/**
 * Added lines with the bytes in place of their placeholders. One that stood for several different texts is told by order, if as many
 * are added as deleted. A placeholder without a text, or with too many, is the result instead.
 */
export function fillPlaceholders(added: readonly string[], found: ReadonlyMap<string, Found>): { ok: true; lines: string[] } | { ok: false; placeholder: string } {
  const wanted = new Map<string, number>();
  for (const line of added) for (const placeholder of line.match(PLACEHOLDER) ?? []) wanted.set(placeholder, (wanted.get(placeholder) ?? 0) + 1);
  const texts = new Map<string, string[]>();
  for (const [placeholder, count] of wanted) {
    const { all = [], deleted = [] } = found.get(placeholder) ?? {};
    if (all.length > 0 && new Set(all).size === 1) texts.set(placeholder, Array.from({ length: count }, () => all[0]!));
    else if (all.length > 0 && deleted.length === count) texts.set(placeholder, [...deleted]);
    else return { ok: false, placeholder };
  }
  return { ok: true, lines: added.map((line) => line.replace(PLACEHOLDER, (placeholder) => texts.get(placeholder)!.shift()!)) };
}
