import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../src/core/redact.ts";

const SECRETS: [string, string][] = [
  ["anthropic-key", `sk-ant-api03-${"aB3_".repeat(12)}`],
  ["openai-key", `sk-proj-${"Zz9-".repeat(12)}`],
  ["github-token", `ghp_${"a1".repeat(18)}`],
  ["github-token", `github_pat_${"A1_b".repeat(10)}`],
  ["gitlab-token", `glpat-${"x".repeat(20)}`],
  ["aws-key", "AKIAABCDEFGHIJKLMNOP"],
  ["google-key", `AIza${"a".repeat(35)}`],
  ["slack-token", "xoxb-1234567890-abcdef"],
  ["stripe-key", `sk_live_${"a1".repeat(12)}`],
  ["npm-token", `npm_${"a1".repeat(18)}`],
  ["jwt", `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`],
  ["private-key", `-----BEGIN RSA PRIVATE KEY-----\n${"Ab+/".repeat(30)}\n${"cd12".repeat(10)}==\n-----END RSA PRIVATE KEY-----`],
];
const contexts = ["%", "key=%", '"token": "%",', "curl -H 'Authorization: Bearer %' x", "a\n%\nb", "see %."];

describe("redact", () => {
  it.each(SECRETS)("removes a %s in every context, in records and in streams cut anywhere", (kind, secret) => {
    const redactor = createRedactor();
    for (const context of contexts) {
      const text = context.replace("%", secret);
      const expected = context.replace("%", `[REDACTED:${kind}]`);
      expect(redactor.text(text)).toBe(expected);
      expect(redactor.draft({ type: "item.added", id: "1", item: { type: "message", role: "user", content: [{ type: "input_text", text }] } })).toMatchObject({ item: { content: [{ text: expected }] } });
      for (let cut = 1; cut < text.length; cut += 7) {
        const stream = redactor.stream();
        expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(expected);
      }
    }
  });

  it("removes the value that follows a word of the user's, without regard to case", () => {
    const redactor = createRedactor(["password", "api_key"]);
    expect(redactor.text("PASSWORD: hunter2 and api_key=abc; fine")).toBe("PASSWORD: [REDACTED:pattern] and api_key=[REDACTED:pattern]; fine");
    const stream = redactor.stream();
    expect(stream.push("my password: ") + stream.push("hun") + stream.push("ter2 ok ") + stream.end()).toBe("my password: [REDACTED:pattern] ok ");
  });

  it("leaves ordinary text, encrypted content and image data alone, and gives the same object back", () => {
    const redactor = createRedactor();
    const draft = { type: "item.added", id: "1", item: { type: "reasoning", summary: [], encrypted_content: SECRETS[0]![1], image_url: `data:image/png;base64,${"AKIA".repeat(10)}` } } as const;
    expect(redactor.draft(draft as never)).toBe(draft);
  });

  it("a stream shows in the end what the whole text shows", () => {
    const redactor = createRedactor(["secret"]);
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom(...SECRETS.map(([, secret]) => secret), " secret: x ", " ")), { maxLength: 12 }), (pieces) => {
        const stream = redactor.stream();
        const shown = pieces.map((piece) => stream.push(piece)).join("") + stream.end();
        for (const [, secret] of SECRETS) if (!redactor.text(pieces.join("")).includes(secret)) expect(shown.includes(secret)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("is not slowed down by text made to look like the beginning of secrets, and leaves its own placeholders alone", () => {
    const redactor = createRedactor(["password"]);
    for (const evil of ["sk-", "eyJa", "-----BEGIN ", "AKIA", "password=", "a", "\\"]) {
      const once = redactor.text(evil.repeat(Math.ceil(300_000 / evil.length)));
      expect(redactor.text(once)).toBe(once);
    }
  });
});
