import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Rule } from "../../../src/tools/policy/rules.ts";
import { INNOCENT, TECHNIQUES } from "./bypass.ts";
import { assess, rule, scratchRepository } from "./given.ts";

let repository: ReturnType<typeof scratchRepository>;
beforeAll(() => {
  repository = scratchRepository();
});
afterAll(() => repository.remove());

const allow: Rule[] = INNOCENT.map((words) => rule(`allow ${words}`));

describe("the corpus", () => {
  it("has at least 300 attempts of at least 30 kinds, at most 10 of a kind, none twice in a kind", () => {
    expect(TECHNIQUES.flatMap(([, , attempts]) => attempts).length).toBeGreaterThanOrEqual(300);
    expect(TECHNIQUES.length).toBeGreaterThanOrEqual(30);
    expect(TECHNIQUES.filter(([, , attempts]) => attempts.length > 10 || new Set(attempts.map((attempt) => JSON.stringify(attempt))).size < attempts.length)).toEqual([]);
  });
});

describe.each(TECHNIQUES)("%s", (_technique, runs, attempts) => {
  async function passing(rules: readonly Rule[], passes: (found: Awaited<ReturnType<typeof assess>>) => boolean) {
    const judged = await Promise.all(attempts.map(async (attempt) => ({ attempt, found: await assess(attempt, { cwd: repository.path, rules }) })));
    return judged.filter(({ found }) => passes(found)).map(({ attempt }) => attempt);
  }

  it("is never judged safe", async () => {
    expect(await passing([], ({ safe }) => safe)).toEqual([]);
  });

  it("does not pass because its innocent part is allowed", async () => {
    // Where what it runs is itself allowed, as `cat` of any file is, that is what the user has said.
    const others = allow.filter(({ argv_prefix: [program] }) => program !== runs);
    expect(await passing(others, (found) => found.rule === "allow")).toEqual([]);
  });

  it("is denied or asked about when what it runs is denied, whatever else is allowed", async () => {
    expect(await passing([...allow, rule(`deny ${runs}`)], (found) => found.rule !== "deny" && found.rule !== "ask")).toEqual([]);
  });
});
