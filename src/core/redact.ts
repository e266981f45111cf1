/**
 * redact: secrets → `[REDACTED:kind]`, before anything else sees them. What the log holds is what the model, the screen and the
 * disk get.
 *
 * Every string of a draft passes here, except those that must stay byte-exact and hold no text of anybody: encrypted content,
 * signatures, image data, checksums. All patterns are linear in the input: none can backtrack.
 */
import type { Draft } from "../protocol/record.ts";
import type { Json } from "../protocol/json.ts";

export interface Redactor {
  text(text: string): string;
  draft(draft: Draft): Draft;
  /** For text that arrives in pieces: holds back what may be the start of a secret until it is decided. */
  stream(): { push(delta: string): string; end(): string };
}

interface Kind {
  kind: string;
  pattern: RegExp;
}

/** Formats that nothing else looks like. Each is bounded or single-class repetition, so matching is linear. */
const KINDS: readonly Kind[] = [
  { kind: "private-key", pattern: /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/gu },
  { kind: "anthropic-key", pattern: /\bsk-ant-[A-Za-z0-9_-]{20}[A-Za-z0-9_-]*/gu },
  { kind: "openai-key", pattern: /\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20}[A-Za-z0-9_-]*/gu },
  { kind: "github-token", pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9]*|github_pat_[A-Za-z0-9_]{22}[A-Za-z0-9_]*)/gu },
  { kind: "gitlab-token", pattern: /\bglpat-[A-Za-z0-9_-]{20}[A-Za-z0-9_-]*/gu },
  { kind: "aws-key", pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/gu },
  { kind: "google-key", pattern: /\bAIza[A-Za-z0-9_-]{35}/gu },
  { kind: "slack-token", pattern: /\bxox[abeprs]-[A-Za-z0-9-]{10}[A-Za-z0-9-]*/gu },
  { kind: "stripe-key", pattern: /\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16}[A-Za-z0-9]*/gu },
  { kind: "npm-token", pattern: /\bnpm_[A-Za-z0-9]{36}\b/gu },
  { kind: "jwt", pattern: /\beyJ[A-Za-z0-9_-]{10,16000}\.eyJ[A-Za-z0-9_-]{10,16000}\.[A-Za-z0-9_-]{10}[A-Za-z0-9_-]*/gu },
];

/** Cheap test that most strings fail: no known format is without one of these. */
const HINT = /sk-|sk_|rk_|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|xox|npm_|eyJ|PRIVATE KEY/u;

/** The longest run without white space that a stream holds back while it may still become a secret. */
const HOLD_BACK = 4096;

const NEVER_SCANNED: ReadonlySet<string> = new Set(["encrypted_content", "signature", "sha256", "hash", "crc", "op", "turn", "call_id"]);

/** `patterns` are the user's: plain words, matched without regard to case, with the value that follows `=` or `:` if there is one. */
export function createRedactor(patterns: readonly string[] = []): Redactor {
  const words = patterns.filter((word) => word.trim() !== "").map((word) => word.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&"));
  const user = words.length > 0 ? new RegExp(`(${words.join("|")})(["']?\\s{0,3}[=:]\\s{0,3}["']?)([^\\s"',;]{1,2000})`, "giu") : null;

  function text(input: string): string {
    let output = input;
    if (HINT.test(output)) for (const { kind, pattern } of KINDS) output = output.replace(pattern, `[REDACTED:${kind}]`);
    if (user) output = output.replace(user, (whole, word: string, link: string, secret: string) => (secret.startsWith("[REDACTED:") ? whole : `${word}${link}[REDACTED:pattern]`));
    return output;
  }

  function value(input: Json): Json {
    if (typeof input === "string") return input.startsWith("data:") ? input : text(input);
    if (typeof input !== "object" || input === null) return input;
    if (Array.isArray(input)) return keepIfSame(input, input.map(value));
    const source = input as { readonly [key: string]: Json };
    let copy: Record<string, Json> | null = null;
    for (const key of Object.keys(source)) {
      if (NEVER_SCANNED.has(key)) continue;
      const before = source[key]!;
      const after = before === undefined ? before : value(before);
      if (after !== before) (copy ??= { ...source })[key] = after;
    }
    return copy ?? input;
  }

  function stream() {
    let held = "";
    const openWord = words.length > 0 ? new RegExp(`(?:${words.join("|")})["']?\\s{0,3}[=:]?\\s{0,3}["']?$`, "iu") : null;
    return {
      push(delta: string): string {
        const all = held + delta;
        const cut = Math.max(lastSpace(all) + 1, all.length - HOLD_BACK);
        const waiting = openWord ? all.slice(Math.max(0, cut - 200), cut).search(openWord) : -1;
        const shown = partedKey(all, cut) ?? (waiting < 0 ? cut : Math.max(0, cut - 200) + waiting);
        held = all.slice(shown);
        return text(all.slice(0, shown));
      },
      end(): string {
        const rest = text(held);
        held = "";
        return rest;
      },
    };
  }

  return { text, draft: (draft) => value(draft as unknown as Json) as unknown as Draft, stream };
}

/** Where a private key begins that `cut` would part, or that has not ended yet: it holds white space, so it is held back as a whole. */
function partedKey(text: string, cut: number): number | null {
  const begin = text.lastIndexOf("-----BEGIN ");
  if (begin < 0 || begin >= cut || text.length - begin > 20_000) return null;
  const end = /-----END [A-Z ]{0,30}-----/u.exec(text.slice(begin));
  return end && cut >= begin + end.index + end[0].length ? null : begin;
}

function lastSpace(text: string): number {
  for (let index = text.length - 1; index >= 0; index--) if (text.charCodeAt(index) <= 32) return index;
  return -1;
}

function keepIfSame(before: readonly Json[], after: Json[]): readonly Json[] {
  return after.some((item, index) => item !== before[index]) ? after : before;
}
