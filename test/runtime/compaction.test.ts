import { describe, expect, it } from "vitest";
import { textOf, userText, type Item } from "../../src/protocol/item.ts";
import type { CompactPolicy, Settings, Usage } from "../../src/protocol/record.ts";
import { roomOf, tokensUsed } from "../../src/core/room.ts";
import { visible } from "../../src/core/history.ts";
import type { ModelRequest, Provider } from "../../src/core/provider.ts";
import { tokensOf } from "../../src/core/tokens.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createThreads } from "../../src/runtime/threads.ts";
import type { Session } from "../../src/runtime/session.ts";
import { ask, collect, createHost, eventually, input, op, records, say, SETTINGS, turnEnds } from "./given.ts";

type Answer = Item[] | { fail: string; message?: string };

/** A model that counts tokens as we estimate them, refuses what is over its window, and keeps every request. */
function model(given: { window?: number; answer: (request: ModelRequest, n: number) => Answer | Promise<Answer>; counts?: boolean }) {
  const requests: ModelRequest[] = [];
  const provider: Provider = {
    name: "scripted",
    retries: 0,
    requestRetries: 0,
    remoteCompact: null,
    origin: (name) => ({ wire: "responses", provider: "scripted", model: name }),
    async *stream(request) {
      requests.push(request);
      const size = request.input.reduce((sum, { item }) => sum + tokensOf(item), 0) + Math.ceil((request.instructions.length + JSON.stringify(request.tools).length) / 4);
      if (given.window !== undefined && size > given.window) {
        yield { type: "failed", failure: { code: "context_length_exceeded", message: "too long", retryable: false }, retryAfterMs: null };
        return;
      }
      const answer = await given.answer(request, requests.length);
      if ("fail" in answer) {
        yield { type: "failed", failure: { code: answer.fail, message: answer.message ?? answer.fail, retryable: false }, retryAfterMs: null };
        return;
      }
      for (const [index, item] of answer.entries()) yield { type: "item.done", index, item };
      const out = answer.reduce((sum, item) => sum + tokensOf(item), 0);
      yield { type: "done", usage: given.counts === false ? null : ({ input_tokens: size, output_tokens: out, total_tokens: size + out } satisfies Usage) };
    },
  };
  return { provider, requests };
}

const isSummary = (request: ModelRequest) => request.toolChoice === "none";
const texts = (request: ModelRequest) => request.input.map(({ item }) => textOf(item));
const words = (n: number, about: string) => `${about} ${"word ".repeat(n)}`;

async function start(given: { provider: Provider; window?: number; compact?: CompactPolicy; tools?: Tool[]; settings?: Partial<Settings> }) {
  const host = createHost({ provider: given.provider, tools: given.tools ?? [], compact: { prepare: false, ...given.compact }, ...(given.window === undefined ? {} : { window: given.window }) });
  const threads = createThreads(host);
  return { host, threads, session: await threads.start({ source: "interactive", settings: { ...SETTINGS, ...given.settings } }) };
}
async function turns(session: Session, ...said: string[]): Promise<void> {
  for (const text of said) {
    const before = session.state.talk.turns;
    await session.submit(input(text));
    await eventually(() => session.state.talk.turns > before && session.state.talk.turn === null);
  }
}
const compactions = async (host: { store: Parameters<typeof records>[0] }, session: Session) => (await records(host.store, session.thread)).filter(({ type }) => type === "history.compacted");

describe("automatic compaction", () => {
  it("comes before the request that would pass 90% of the window, keeps the last turns, and shows summary and ledger", async () => {
    const { provider, requests } = model({ window: 10_000, answer: (request) => (isSummary(request) ? [say("They greeted each other.")] : [say(words(800, "answer"))]) });
    const { host, session } = await start({ provider, window: 10_000 });
    await turns(session, ...Array.from({ length: 12 }, (_, n) => `question ${n}`));
    const done = await compactions(host, session);
    expect(done.length).toBeGreaterThanOrEqual(1);
    for (const { tokens, strategy, trigger } of done as never as { tokens: { before: number; after: number }; strategy: string; trigger: string }[]) {
      expect(tokens.before).toBeGreaterThan(9000);
      expect(tokens.after).toBeLessThanOrEqual(7000);
      expect([strategy, trigger]).toEqual(["summary", "auto"]);
    }
    const summaries = requests.filter(isSummary);
    expect(summaries.length).toBe(done.length);
    // What went was in the request for the summary.
    expect(texts(summaries[0]!).some((text) => text.startsWith("question 0"))).toBe(true);
    const last = requests.at(-1)!;
    expect(texts(last)[0]).toBe("Previous conversation summary:\nThey greeted each other.");
    expect(texts(last)[1]).toContain("- question 0");
    expect(requests.every((request) => request.input.reduce((sum, { item }) => sum + tokensOf(item), 0) <= 10_000)).toBe(true);
  });

  it("happens between the requests of one turn, with every call answered", async () => {
    const look: Tool = { name: "look", description: "", parameters: {}, effect: "read", run: async (given) => ({ status: "done", output: words(900, `saw ${(given as { n: number }).n}`) }) };
    let calls = 0;
    const { provider, requests } = model({ window: 10_000, answer: (request) => (isSummary(request) ? [say("Looked around.")] : ++calls <= 20 ? [ask(`c${calls}`, "look", { n: calls })] : [say("Done.")]) });
    const { host, session } = await start({ provider, window: 10_000, tools: [look] });
    await turns(session, "look at everything");
    expect(session.state.talk.lastTurn?.status).toBe("completed");
    expect((await compactions(host, session)).length).toBeGreaterThanOrEqual(2);
    expect(requests.filter((request) => !isSummary(request)).length).toBe(21);
    for (const request of requests) {
      const open = new Set<string>();
      for (const { item } of request.input) {
        if (item.type === "function_call") open.add(String(item["call_id"]));
        if (item.type === "function_call_output") expect(open.delete(String(item["call_id"]))).toBe(true);
      }
      expect(open.size).toBe(0);
    }
  });

  it("also where no server counts, by estimate; an unknown window has a limit of 100,000", async () => {
    const { provider } = model({ counts: false, answer: (request) => (isSummary(request) ? [say("Short.")] : [say(words(20_000, "long"))]) });
    const { host, session } = await start({ provider });
    await turns(session, "a", "b", "c", "d", "e", "f");
    const done = (await compactions(host, session)) as never as { tokens: { before: number; after: number } }[];
    expect(done.length).toBe(1);
    expect(done[0]!.tokens.before).toBeGreaterThan(100_000);
    expect(done[0]!.tokens.after).toBeLessThanOrEqual(78_000);
  });

  it("follows an overflow that nobody foresaw, and the turn goes on", async () => {
    const { provider } = model({ window: 6000, answer: (request) => (isSummary(request) ? [say("Short.")] : [say(words(900, "answer"))]) });
    const { host, session } = await start({ provider });
    await turns(session, ...Array.from({ length: 9 }, (_, n) => `question ${n}`));
    expect(session.state.talk.lastTurn?.status).toBe("completed");
    expect(((await compactions(host, session)) as never as { trigger: string }[]).map(({ trigger }) => trigger)).toContain("overflow");
  });
});

describe("nothing is too long to compact", () => {
  it.each<[string, Answer]>([
    ["fails", { fail: "server_error" }],
    ["says nothing", []],
    ["says it is too long", { fail: "context_length_exceeded" }],
  ])("when the model %s, the requests of the user and the ledger stand for it", async (_how, answer) => {
    const { provider, requests } = model({ window: 10_000, answer: (request) => (isSummary(request) ? answer : [say(words(1500, "answer"))]) });
    const { host, session } = await start({ provider, window: 10_000 });
    await turns(session, ...Array.from({ length: 8 }, (_, n) => `question ${n}`));
    expect(session.state.talk.lastTurn?.status).toBe("completed");
    expect(((await compactions(host, session)) as never as { strategy: string }[])[0]!.strategy).toBe("user-messages");
    expect(texts(requests.at(-1)!)[0]).toContain("Previous conversation summary:\nPrevious requests:\n- question 0");
  });

  it("a history of many windows is summarised in pieces, each within the window", async () => {
    let small = false;
    const wide = model({ answer: (request) => (isSummary(request) ? [say("So far.")] : [say(words(6000, "answer"))]) });
    const provider: Provider = {
      ...wide.provider,
      async *stream(request, host) {
        const size = request.input.reduce((sum, { item }) => sum + tokensOf(item), 0);
        if (small && size > 8000) yield { type: "failed", failure: { code: "context_length_exceeded", message: "too long", retryable: false }, retryAfterMs: null };
        else yield* wide.provider.stream(request, host);
      },
    };
    const { session } = await start({ provider, window: 200_000 });
    await turns(session, "a", "b", "c", "d", "e", "f", "g", "h");
    small = true;
    await session.submit(op({ type: "override_settings", settings: { model_context_window: 8000, model_auto_compact_token_limit: 7000 } }));
    const before = wide.requests.length;
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.history.compaction !== null && session.state.talk.turn === null);
    const asked = wide.requests.slice(before).filter(isSummary);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.length).toBeLessThan(30);
    expect(texts(asked.at(-1)!)[0]).toContain("The summary so far:\nSo far.");
    expect(tokensUsed(session.state)).toBeLessThanOrEqual(roomOf(session.state).budget);
  });

  it("but when what stands before every history does not fit, the turn fails and names the largest part", async () => {
    const { provider } = model({ answer: () => [say("Hi.")] });
    const { session } = await start({ provider, window: 100, settings: { model_auto_compact_token_limit: 90 } });
    const host = createHost({ provider, window: 100, parts: [{ key: "agents_md", role: "user", text: "rule ".repeat(400) }] });
    const threads = createThreads(host);
    const other = await threads.start({ source: "interactive", settings: SETTINGS });
    await turns(other, "hello");
    expect(other.state.talk.lastTurn?.status).toBe("failed");
    const ended = (await records(host.store, other.thread)).find(({ type }) => type === "turn.ended") as { failure?: { code: string; message: string } };
    expect(ended.failure).toEqual({
      code: "context_too_large",
      message: "Even without any history a request would not fit: what stands before it takes about 503 tokens of 70, the largest part of that, agents_md, about 500. Shorten it, or choose a model with a larger window. The conversation is kept.",
      retryable: false,
    });
    await turns(session, "hello");
    expect(session.state.talk.lastTurn?.status).toBe("completed");
  });
});

describe("a compaction that was asked for", () => {
  const chat = () => model({ answer: (request) => (isSummary(request) ? [say("Made summary.")] : [say("answer")]) });

  it("takes instructions, keeps the last turns, and is an open turn while it runs", async () => {
    const { provider, requests } = chat();
    const { session } = await start({ provider, settings: { compact: { keep_turns: 2 } } });
    await turns(session, "one", "two", "three", "four");
    await session.submit(op({ type: "compact", instructions: "remember the colours" }));
    const events = await collect(session, null, (event) => event.type === "thread/compacted");
    expect(events.at(-1)).toMatchObject({ strategy: "summary", trigger: "manual" });
    expect(texts(requests.at(-1)!).at(-1)).toContain("The user asks for this: remember the colours");
    expect(visible(session.state.history).map(({ item }) => textOf(item)).filter((text) => !text.startsWith("Ledger"))).toEqual(["Previous conversation summary:\nMade summary.", "three", "answer", "four", "answer"]);
  });

  it("can be looked at and changed before it takes effect, or dropped", async () => {
    const { provider } = chat();
    const { session } = await start({ provider, settings: { compact: { keep_turns: 1 } } });
    await turns(session, "one", "two");
    await session.submit(op({ type: "compact", review: true }));
    await eventually(() => session.state.talk.asks.length === 1);
    expect(session.state.talk.asks[0]).toMatchObject({ kind: "summary", body: { text: "Made summary.", goes: 2, stays: 2 } });
    await session.submit(op({ type: "answer", ask: session.state.talk.asks[0]!.ask, answer: { decision: "no" } }));
    await eventually(() => session.state.talk.turn === null);
    expect(session.state.talk.history.compaction).toBe(null);
    await session.submit(op({ type: "compact", review: true }));
    await eventually(() => session.state.talk.asks.length === 1);
    await session.submit(op({ type: "answer", ask: session.state.talk.asks[0]!.ask, answer: { decision: "yes", text: "My own words." } }));
    await eventually(() => session.state.talk.turn === null && session.state.talk.history.compaction !== null);
    expect(textOf(visible(session.state.history)[0]!.item)).toBe("Previous conversation summary:\nMy own words.");
  });

  it("can be undone: the next request is that of a thread that was never compacted", async () => {
    const { provider, requests } = chat();
    const { session } = await start({ provider, settings: { compact: { keep_turns: 1 } } });
    await turns(session, "one", "two", "three");
    const whole = texts(requests.at(-1)!);
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.history.compaction !== null && session.state.talk.turn === null);
    expect(await session.submit(op({ type: "restore_history" }))).toMatchObject({ ok: true });
    await turns(session, "four");
    expect(texts(requests.at(-1)!)).toEqual([...whole, "answer", "four"]);
  });

  it("is not undone when the full history does not fit", async () => {
    const { provider } = model({ window: 10_000, answer: (request) => (isSummary(request) ? [say("Short.")] : [say(words(1500, "answer"))]) });
    const { session } = await start({ provider, window: 10_000 });
    await turns(session, ...Array.from({ length: 6 }, (_, n) => `question ${n}`));
    expect(session.state.talk.history.compaction).not.toBe(null);
    expect(await session.submit(op({ type: "restore_history" }))).toMatchObject({ ok: false, refusal: { code: "bad_request", message: expect.stringContaining("The history does not fit") as string } });
  });

  it("survives a crash while the summary is made: nothing is lost, and it can be asked for again", async () => {
    let hang = true;
    const { provider } = model({ answer: (request) => (isSummary(request) && hang ? new Promise<Answer>(() => {}) : [say("fine")]) });
    const { host, threads, session } = await start({ provider, settings: { compact: { keep_turns: 1 } } });
    await turns(session, "one", "two");
    const before = visible(session.state.history);
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.turn?.sample?.purpose === "compact");
    await threads.close(session.thread, "test");
    hang = false;
    const resumed = await createThreads(host).resume(session.thread);
    if (!resumed.ok) throw new Error(resumed.refusal.message);
    expect(visible(resumed.session.state.history)).toEqual(before);
    await resumed.session.submit(op({ type: "continue" }));
    await eventually(() => resumed.session.state.talk.history.compaction !== null && resumed.session.state.talk.turn === null);
    expect(textOf(visible(resumed.session.state.history)[0]!.item)).toBe("Previous conversation summary:\nfine");
  });
});

describe("the loop breaker", () => {
  it("asks after two compactions without getting on; no ends the turn, yes goes on", async () => {
    const same: Tool = { name: "same", description: "", parameters: {}, effect: "read", run: async () => ({ status: "done", output: words(3000, "again") }) };
    let calls = 0;
    const { provider } = model({ window: 10_000, answer: (request) => (isSummary(request) ? [say("Nothing new.")] : [ask(`c${++calls}`, "same", {})]) });
    const { session } = await start({ provider, window: 10_000, tools: [same] });
    await session.submit(input("go"));
    await eventually(() => session.state.talk.asks.some((open) => open.kind === "loop"));
    await session.submit(op({ type: "answer", ask: session.state.talk.asks[0]!.ask, answer: { decision: "yes" } }));
    await eventually(() => session.state.talk.asks.some((open) => open.kind === "loop"));
    await session.submit(op({ type: "answer", ask: session.state.talk.asks[0]!.ask, answer: { decision: "no" } }));
    await turnEnds(session);
    expect(session.state.talk.lastTurn?.status).toBe("failed");
  });
});

describe("a summary that was prepared", () => {
  it("is used by the compaction that needs it: no second request", async () => {
    const { provider, requests } = model({ window: 10_000, answer: (request) => (isSummary(request) ? [say("Prepared.")] : [say(words(500, "answer"))]) });
    const { host, session } = await start({ provider, window: 10_000, compact: { prepare: true } });
    await turns(session, ...Array.from({ length: 16 }, (_, n) => `question ${n}`));
    const log = await records(host.store, session.thread);
    const prepared = log.filter(({ type }) => type === "summary.prepared");
    const done = log.filter(({ type }) => type === "history.compacted");
    expect(done.length).toBeGreaterThanOrEqual(1);
    expect(prepared.length).toBeGreaterThanOrEqual(done.length);
    expect(requests.filter(isSummary).length).toBe(prepared.length);
    expect(log.filter((record) => record["type"] === "sample.started" && record["purpose"] === "compact")).toEqual([]);
    expect((prepared[0] as { usage?: Usage }).usage?.total_tokens).toBeGreaterThan(0);
  });
});

it("context is put before the model again after a compaction that took it away, by reference", async () => {
  const { provider, requests } = model({ answer: (request) => (isSummary(request) ? [say("Summary.")] : [say("ok")]) });
  const host = createHost({ provider, compact: { prepare: false }, parts: [{ key: "agents_md", role: "user", text: "Always use tabs." }] });
  const session = await createThreads(host).start({ source: "interactive", settings: { ...SETTINGS, compact: { keep_turns: 1 } } });
  await turns(session, "one", "two");
  expect(texts(requests.at(-1)!)).toEqual(["Always use tabs.", "one", "ok", "two"]);
  await session.submit(op({ type: "compact" }));
  await eventually(() => session.state.talk.history.compaction !== null && session.state.talk.turn === null);
  await turns(session, "three");
  expect(texts(requests.at(-1)!).filter((text) => !text.startsWith("Ledger"))).toEqual(["Always use tabs.", "Previous conversation summary:\nSummary.", "two", "ok", "three"]);
  expect(JSON.stringify(await records(host.store, session.thread))).not.toContain("Always use tabs.");
});

describe("the provider's own compaction", () => {
  const remote = (answer: Awaited<ReturnType<NonNullable<Provider["remoteCompact"]>>>) => {
    const { provider, requests } = model({ answer: (request) => (isSummary(request) ? [say("By summary.")] : [say("ok")]) });
    const asked: ModelRequest[] = [];
    const remoteCompact: Provider["remoteCompact"] = async (request) => {
      asked.push(request);
      return answer;
    };
    return { provider: { ...provider, remoteCompact }, requests, asked };
  };
  const settings = { compact: { strategy: "remote", keep_turns: 1 } };

  it("gives an opaque item that goes back to where it was made, beside what every provider can read", async () => {
    const { provider, requests, asked } = remote({ ok: true, items: [{ type: "compaction", encrypted_content: "sealed" }], usage: { input_tokens: 7, output_tokens: 1, total_tokens: 8 } });
    const { session } = await start({ provider, settings });
    await turns(session, "one", "two");
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.history.compaction !== null && session.state.talk.turn === null);
    expect(texts(asked[0]!)).toEqual(["one", "ok"]);
    await turns(session, "three");
    const { input: sent } = requests.at(-1)!;
    expect(sent.filter(({ item }) => item.type === "compaction")).toEqual([{ item: { type: "compaction", encrypted_content: "sealed" }, origin: { wire: "responses", provider: "scripted", model: "recorded" } }]);
    expect(textOf(sent[0]!.item)).toContain("Previous requests:\n- one");
  });

  it("falls back to a summary when the provider cannot", async () => {
    const { provider } = remote({ ok: false, failure: { code: "not_found", message: "no such endpoint" }, retryAfterMs: null });
    const { host, session } = await start({ provider, settings });
    await turns(session, "one", "two");
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.history.compaction !== null && session.state.talk.turn === null);
    expect(((await compactions(host, session)) as never as { strategy: string }[])[0]!.strategy).toBe("summary");
    expect(textOf(visible(session.state.history)[0]!.item)).toBe("Previous conversation summary:\nBy summary.");
  });

  it("is read by a later summary, which stands for it", async () => {
    const { provider, requests } = remote({ ok: true, items: [{ type: "compaction", encrypted_content: "sealed" }], usage: null });
    const { session } = await start({ provider, settings });
    await turns(session, "one", "two");
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.history.compaction !== null && session.state.talk.turn === null);
    const first = session.state.talk.history.compaction;
    await session.submit(op({ type: "override_settings", settings: { compact: { strategy: "summary", keep_turns: 1 } } }));
    await turns(session, "three");
    await session.submit(op({ type: "compact" }));
    await eventually(() => session.state.talk.history.compaction !== first && session.state.talk.turn === null);
    expect(requests.filter(isSummary).map(({ input: sent }) => sent.filter(({ item }) => item.type === "compaction"))).toEqual([
      [{ item: { type: "compaction", encrypted_content: "sealed" }, origin: { wire: "responses", provider: "scripted", model: "recorded" } }],
    ]);
  });
});

it("a skill that a steering message names is told before it", async () => {
  let go = () => {};
  const waits = new Promise<void>((resolve) => (go = resolve));
  const { provider, requests } = model({
    async answer(_request, n) {
      if (n === 1) await waits;
      return [say("ok")];
    },
  });
  const host = createHost({ provider });
  host.usedSkills = async (given) => (given.input.some((item) => textOf(item).includes("$tidy")) ? [{ key: "skill:tidy", role: "user", text: "How to tidy." }] : []);
  const session = await createThreads(host).start({ source: "interactive", settings: SETTINGS });
  await session.submit(input("one"));
  await eventually(() => requests.length === 1);
  await session.submit(input("now $tidy", "steer"));
  go();
  await turnEnds(session);
  expect(texts(requests.at(-1)!)).toEqual(["one", "ok", "How to tidy.", "now $tidy"]);
});

it.each(["withdrawn", "changed"])("input that is %s while its skills are looked up is not sent as it was", async (how) => {
  let go = () => {};
  const waits = new Promise<void>((resolve) => (go = resolve));
  let looks = () => {};
  const looked = new Promise<void>((resolve) => (looks = resolve));
  let look = () => {};
  const found = new Promise<void>((resolve) => (look = resolve));
  const { provider, requests } = model({
    async answer(_request, n) {
      if (n === 1) await waits;
      return [say("ok")];
    },
  });
  const host = createHost({ provider });
  host.usedSkills = async () => {
    looks();
    await found;
    return [];
  };
  const session = await createThreads(host).start({ source: "interactive", settings: SETTINGS });
  await session.submit(input("one"));
  await eventually(() => requests.length === 1);
  const steering = input("secret plan", "steer");
  await session.submit(steering);
  go();
  await looked;
  await session.submit(op(how === "withdrawn" ? { type: "withdraw_input", input: steering.id } : { type: "change_input", input: steering.id, items: [userText("a better plan")] }));
  look();
  await turnEnds(session);
  expect(texts(requests.at(-1)!)).toEqual(how === "withdrawn" ? ["one"] : ["one", "ok", "a better plan"]);
  expect(session.state.talk.queue).toEqual([]);
});

it("input that is changed while its turn is being opened is sent once, as it is then", async () => {
  const { provider, requests } = model({ answer: () => [say("ok")] });
  const host = createHost({ provider });
  const { context } = host;
  let gathers = () => {};
  const gathering = new Promise<void>((resolve) => (gathers = resolve));
  let gather = () => {};
  const gathered = new Promise<void>((resolve) => (gather = resolve));
  host.context = async (given) => {
    gathers();
    await gathered;
    return context(given);
  };
  const session = await createThreads(host).start({ source: "interactive", settings: SETTINGS });
  const first = input("as it was");
  await session.submit(first);
  await gathering;
  await session.submit(op({ type: "change_input", input: first.id, items: [userText("as it is")] }));
  gather();
  await turnEnds(session);
  expect(requests.map(texts)).toEqual([["as it is"]]);
  expect(session.state.talk.queue).toEqual([]);
});

it("a server that wants to be left alone for hours ends the turn, and says for how long", async () => {
  const { provider } = model({ answer: () => [say("ok")] });
  const busy: Provider = {
    ...provider,
    requestRetries: 4,
    async *stream() {
      yield { type: "failed", failure: { code: "rate_limit", message: "Slow down.", status: 429, retryable: true }, retryAfterMs: 1e17 };
    },
  };
  const { host, session } = await start({ provider: busy });
  await turns(session, "one");
  const ended = (await records(host.store, session.thread)).find(({ type }) => type === "turn.ended") as never as { status: string; failure: { message: string } };
  expect([ended.status, ended.failure.message]).toEqual(["failed", "Slow down. The server asks to wait 1666666666667 minutes; try again then."]);
});
