/** A recorded log is its own model. */
import { expect, test } from "vitest";
import { isCall, outputFor, userText, type Item, type OutputItem } from "../../src/protocol/item.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { visible, type VisibleItem } from "../../src/core/history.ts";
import { samplesOf } from "../../src/providers/recorded.ts";
import { createReplay } from "../../src/providers/replay.ts";
import { added, called, ended, given, queued, ROOT, rootWith, said } from "../core/given.ts";
import { answerOf, collect, requestFor } from "./given.ts";

const think: Item = { type: "reasoning", summary: [{ type: "summary_text", text: "Let me think about it for a while, slowly." }], encrypted_content: "x" };
const started: Draft = { type: "sample.started", turn: "t1" };
const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };
const sampleEnd = (sample: number, status: "done" | "failed" | "lost" = "done"): Draft => ({ type: "sample.ended", turn: "t1", sample, status, ...(status === "done" ? { usage } : {}) });
const turnStart = (...inputs: number[]): Draft => ({ type: "turn.started", turn: "t1", inputs });
const turnEnd: Draft = { type: "turn.ended", turn: "t1", status: "completed" };

/** Two turns: think, look, answer; answer. */
const LOG = [
  queued("o1", "first"), // 1
  turnStart(1),
  started, // 3
  added("3.0", think),
  added("3.1", said("I look.")),
  added("3.2", called("c1")),
  sampleEnd(3),
  { type: "call.started", turn: "t1", call: "c1", tool: "exec_command", envelope: { cwd: "/", sandbox: "read-only" } } satisfies Draft,
  ended("c1", "a.txt"),
  started, // 10
  added("10.0", said("One file.")),
  sampleEnd(10),
  turnEnd,
  queued("o2", "second"), // 14
  turnStart(14),
  started, // 16
  added("16.0", said("Ok.")),
  sampleEnd(16),
  turnEnd,
];
const recordsOf = (...drafts: Draft[]) => rootWith(...drafts).get(ROOT)!;

/** Plays inputs through the replay as the loop would, with an output for every call. */
async function converse(recorded: ReturnType<typeof samplesOf>, outputOf: (call: string) => string): Promise<{ said: Item[]; differences: string[]; history: VisibleItem[] }> {
  const differences: string[] = [];
  const history: VisibleItem[] = [];
  const everything: Item[] = [];
  for (const input of recorded.inputs) {
    history.push(...input.map((item) => ({ item, origin: null })));
    for (let due = true; due; ) {
      const provider = createReplay(recorded.samples, recorded);
      const events = await collect(provider, requestFor("chat", { input: history }));
      for (const event of events) if (event.type === "notice") differences.push(event.message);
      const { items, last } = answerOf(events);
      expect(last?.type).toBe("done");
      everything.push(...items);
      history.push(...items.map((item) => ({ item, origin: provider.origin("m") })));
      const outputs = items.filter(isCall).map((call): OutputItem => outputFor(call, outputOf(call.call_id)));
      history.push(...outputs.map((item) => ({ item, origin: null })));
      due = outputs.length > 0;
    }
  }
  return { said: everything, differences, history };
}

test("a log gives its inputs, its answers and its outputs", () => {
  expect(samplesOf(recordsOf(...LOG))).toEqual({
    inputs: [[userText("first")], [userText("second")]],
    samples: [
      { items: [think, said("I look."), called("c1")], usage },
      { items: [said("One file.")], usage },
      { items: [said("Ok.")], usage },
    ],
    outputs: new Map([["c1", "a.txt"]]),
  });
});

test("what failed, was lost or was dropped: whole items stay, half ones only where nothing followed", () => {
  const partial = (id: string, text: string): Draft => ({ type: "item.added", turn: "t1", id, item: said(text), partial: true });
  const recorded = samplesOf(
    recordsOf(
      queued("o1", "unanswered"),
      turnStart(1),
      { type: "turn.ended", turn: "t1", status: "failed" },
      queued("o2", "first"), // 4
      turnStart(4),
      started, // 6
      added("6.0", called("c1")),
      sampleEnd(6, "failed"),
      ended("c1", "out"),
      started, // 10
      partial("10.0", "Hal"),
      sampleEnd(10, "lost"),
      started, // 13
      added("13.0", said("Half no more.")),
      added("13.1", think),
      { type: "item.dropped", turn: "t1", items: ["13.1"], why: "refused" },
      sampleEnd(13),
      { type: "sample.started", turn: "t1", purpose: "compact" },
      added("x", said("summary")),
      sampleEnd(18),
      { type: "input.queued", op: "o3", items: [userText("steer")], deliver: "steer" }, // 21
      { type: "input.taken", turn: "t1", op: "o3", from: 21 },
      started, // 23
      partial("23.0", "Interrup"),
      sampleEnd(23, "lost"),
      { type: "turn.ended", turn: "t1", status: "cancelled" },
      queued("o4", "never answered"),
      turnStart(27),
    ),
  );
  expect(recorded).toEqual({
    inputs: [[userText("unanswered"), userText("first"), userText("steer")]],
    samples: [
      { items: [called("c1")], usage: null },
      { items: [said("Half no more.")], usage },
      { items: [said("Interrup")], usage: null },
    ],
    outputs: new Map([["c1", "out"]]),
  });
});

test("the recording is spoken again, in small pieces, by a new replay each time", async () => {
  const recorded = samplesOf(recordsOf(...LOG));
  const { said: spoken, differences, history } = await converse(recorded, () => "a.txt");
  expect(spoken).toEqual(recorded.samples.flatMap(({ items }) => items));
  expect(differences).toEqual([]);

  const first = await collect(createReplay(recorded.samples), requestFor("chat"));
  const answer = answerOf(first);
  expect(answer.reasoning).toEqual({ 0: "Let me think about it for a while, slowly." });
  expect(answer.text).toEqual({ 1: "I look." });
  expect(first.filter(({ type }) => type === "reasoning.delta").length).toBeGreaterThan(1);
  expect(answer.last).toEqual({ type: "done", usage });

  const [ending] = await collect(createReplay(recorded.samples), requestFor("chat", { input: history }));
  expect(ending).toMatchObject({ type: "failed", failure: { code: "replay_ended", retryable: false }, retryAfterMs: null });
});

test("a difference in what a call gives is reported, once, and the recording goes on", async () => {
  const recorded = samplesOf(recordsOf(...LOG));
  const provider = createReplay(recorded.samples, recorded);
  const history = visible(given(...LOG.slice(0, 8), ended("c1", "No such file")).history);
  const notices: string[] = [];
  for (const _ of [1, 2]) {
    const events = await collect(provider, requestFor("chat", { input: history }));
    for (const event of events) if (event.type === "notice") notices.push(event.message);
    expect(answerOf(events).items).toEqual([said("One file.")]);
  }
  expect(notices).toEqual(['The replay differs from the recording: call c1 gave another output.\nthen: "a.txt"\nnow:  "No such file"']);
});

test("a sample that was cut off goes on with what is missing of it", async () => {
  const { samples } = samplesOf(recordsOf(...LOG));
  const input = visible(given(...LOG.slice(0, 4), sampleEnd(3, "lost")).history);
  expect(answerOf(await collect(createReplay(samples), requestFor("chat", { input }))).items).toEqual([said("I look."), called("c1")]);
});

const REPLAY = createReplay([]).origin("m");
const from = (origin: VisibleItem["origin"], ...items: Item[]): VisibleItem[] => items.map((item) => ({ item, origin }));

test("half an item does not count: it is said again", async () => {
  const { samples } = samplesOf(recordsOf(...LOG));
  const input = [...from(null, userText("first")), ...from(REPLAY, think, said("I lo"))];
  expect(answerOf(await collect(createReplay(samples), requestFor("chat", { input }))).items).toEqual([said("I look."), called("c1")]);
});

test("an item that was changed since, as by redaction, does not stop the replay", async () => {
  const { samples } = samplesOf(recordsOf(...LOG));
  const call = { ...called("c1"), arguments: '{"cmd":"[REDACTED:pattern]"}' };
  const input = [...from(null, userText("first")), ...from(REPLAY, think, said("[REDACTED]"), call), ...from(null, outputFor(call as never, "a.txt"))];
  expect(answerOf(await collect(createReplay(samples), requestFor("chat", { input }))).items).toEqual([said("One file.")]);
});

test("answers of other models in between do not matter, nor a beginning that was compacted away", async () => {
  const { samples } = samplesOf(recordsOf(...LOG));
  const other = { ...REPLAY, wire: "chat" as const };
  const between = [...from(null, userText("first")), ...from(other, said("Something else.")), ...from(REPLAY, think, said("I look."), called("c1"))];
  expect(answerOf(await collect(createReplay(samples), requestFor("chat", { input: between }))).items).toEqual([said("One file.")]);
  const compacted = [...from(null, userText("summary"), userText("second")), ...from(REPLAY, said("One file."))];
  expect(answerOf(await collect(createReplay(samples), requestFor("chat", { input: compacted }))).items).toEqual([said("Ok.")]);
});

test("an abort ends the replay", async () => {
  const { samples } = samplesOf(recordsOf(...LOG));
  const abort = new AbortController();
  const events = [];
  for await (const event of createReplay(samples).stream(requestFor("chat"), { signal: abort.signal, blobs: { get: () => Promise.resolve(null) } })) {
    events.push(event);
    if (event.type === "reasoning.delta") abort.abort();
  }
  expect(events.map(({ type }) => type)).toEqual(["item.started", "reasoning.delta"]);
});
