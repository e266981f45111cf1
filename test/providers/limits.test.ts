import { describe, expect, test } from "vitest";
import { createNotices } from "../../src/providers/limits.ts";
import { collect, providerAt, requestFor, WIRES, withServer } from "./given.ts";

const clock = (ms: number) => new Date(ms).toTimeString().slice(0, 8);
const messages = (events: readonly object[]) => events.map((event) => (event as { message?: string }).message);
const openai = (left: number, reset = "6m0s") => ({ "x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": String(left), "x-ratelimit-reset-requests": reset });

describe("a limit that is nearly used up is told", () => {
  test.each<[string, Record<string, string>, string[]]>([
    ["OpenAI", openai(12), [`p: 12 of 500 requests left until ${clock(360_000)}.`]],
    ["nothing left", openai(0, "20ms"), [`p: 0 of 500 requests left until ${clock(20)}.`]],
    ["no reset", { "x-ratelimit-limit-tokens": "1000", "x-ratelimit-remaining-tokens": "99" }, ["p: 99 of 1000 tokens left."]],
    ["Anthropic", { "anthropic-ratelimit-input-tokens-limit": "1000", "anthropic-ratelimit-input-tokens-remaining": "99", "anthropic-ratelimit-input-tokens-reset": "1970-01-01T00:01:00Z" }, [`p: 99 of 1000 input tokens left until ${clock(60_000)}.`]],
    ["a tenth", openai(50), []],
    ["no limit", { "x-ratelimit-remaining-requests": "1" }, []],
    ["nonsense", { "x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "few" }, []],
    ["blank", { "x-ratelimit-limit-requests": "10", "x-ratelimit-remaining-requests": "" }, []],
  ])("%s", (_, headers, told) => {
    expect(messages(createNotices("p", () => 0)(headers))).toEqual(told);
  });

  test("once a minute, each limit by itself", () => {
    let now = 0;
    const notices = createNotices("p", () => now);
    const both = { ...openai(1), "x-ratelimit-limit-tokens": "1000", "x-ratelimit-remaining-tokens": "1" };
    expect(notices(openai(2))).toHaveLength(1);
    now = 59_999;
    expect(messages(notices(both))).toEqual(["p: 1 of 1000 tokens left."]);
    now = 60_000;
    expect(notices(both)).toHaveLength(1);
  });
});

test.each(WIRES)("%s: the notice comes before the answer", async (wire) => {
  await withServer({ script: [{ text: "Hello", headers: openai(3) }, { text: "Hello", headers: openai(2) }] }, async (server) => {
    const provider = providerAt(wire, server.url);
    const first = await collect(provider, requestFor(wire));
    expect(first[0]).toMatchObject({ type: "notice", message: expect.stringContaining("scripted: 3 of 500 requests left until ") as string });
    expect((await collect(provider, requestFor(wire))).filter(({ type }) => type === "notice")).toEqual([]);
  });
});
