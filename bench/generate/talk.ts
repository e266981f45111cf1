/** The conversation of a session: turns as src/runtime records them, filled by the mix. */
import type { CallItem, Item, MessageItem } from "../../src/protocol/item.ts";
import { outputFor, toolName } from "../../src/protocol/item.ts";
import type { BlobRef, Draft, FileState, TalkPart, Usage } from "../../src/protocol/record.ts";
import { carryOf, settledTalk } from "../../src/core/state.ts";
import type { LogWriter } from "./log-writer.ts";
import { MIX } from "./mix.ts";
import type { Random, Sizes } from "./random.ts";
import type { Pools } from "./text.ts";

export type BlobKind = "image" | "output" | "diff" | "instructions" | "tools";
/** A blob of the session, of so many bytes; null where the session has none. */
export type KeepBlob = (kind: BlobKind, bytes: number) => BlobRef | null;

export interface Talk {
  /** One turn; true when the history then is so long that it was compacted. */
  turn(): void;
  compact(): void;
  rewind(): void;
  newWriter(): void;
  readonly tokens: number;
  readonly turns: number;
  readonly counts: Counts;
}
export interface Counts {
  turns: number;
  samples: number;
  calls: number;
  images: number;
  compactions: number;
  rewinds: number;
  writers: number;
}

interface Past {
  /** The record that opened the turn. */
  started: number;
  /** The position just before its input, and the talk there. */
  before: number;
  talk: TalkPart;
  tokens: number;
}

export function createTalk(given: { log: LogWriter; random: Random; pools: Pools; keep: KeepBlob; topic: string; rounds: Sizes }): Talk {
  const { log, random, pools, keep, topic } = given;
  const counts: Counts = { turns: 0, samples: 0, calls: 0, images: 0, compactions: 0, rewinds: 0, writers: 1 };
  /** Turns of the history that is sent, oldest first. */
  let past: Past[] = [];
  let summaryTokens = 0;
  let content = 0;
  let turn = "";

  const put = (draft: Draft): number => {
    log.now += random.whole(5, 400);
    return log.push(draft).seq;
  };
  const inTurn = (draft: Draft): number => put({ ...draft, turn });
  const tokens = () => summaryTokens + past.reduce((sum, each) => sum + each.tokens, 0) + Math.ceil(content / MIX.bytesPerToken);
  const text = (sizes: Sizes) => {
    const length = random.size(sizes);
    return random.chance(MIX.isForeign) ? pools.foreign(Math.ceil(length / 2), random) : pools.prose(length, random);
  };
  const id = (prefix: string) => prefix + random.hex(16);

  function userMessage(): MessageItem {
    const words = counts.turns === 0 ? `${topic}: ${text(MIX.userMessage)}` : text(MIX.userMessage);
    const parts: MessageItem["content"] = [{ type: "input_text", text: words }];
    const image = random.chance(MIX.hasImage) ? keep("image", random.size(MIX.image)) : null;
    if (image) {
      counts.images += 1;
      parts.push({ type: "input_image", image_url: `blob:${image.sha256}` });
    }
    return { type: "message", role: "user", content: parts };
  }

  function add(itemId: string, item: Item, bytes: number): void {
    content += bytes;
    inTurn({ type: "item.added", id: itemId, item });
  }

  function newCall(): CallItem {
    const dice = random.unit();
    const call_id = id("call_");
    if (dice < MIX.isPlan) {
      const plan = [pools.prose(40, random), pools.prose(40, random)].map((step) => ({ step, status: "pending" }));
      return { type: "function_call", call_id, name: "update_plan", arguments: JSON.stringify({ plan }) };
    }
    if (dice < MIX.isPlan + MIX.isPatch) {
      const input = `*** Begin Patch\n*** Update File: src/${random.hex(4)}.ts\n@@\n${pools.output(random.size(MIX.patch), random)}*** End Patch`;
      return { type: "custom_tool_call", call_id, name: "apply_patch", input };
    }
    return { type: "function_call", call_id, name: "exec_command", arguments: JSON.stringify({ cmd: pools.output(random.size(MIX.command), random) }) };
  }

  /** One request and its answer; the calls that it asks for. */
  function sample(last: boolean): CallItem[] {
    counts.samples += 1;
    const failed = random.chance(MIX.sampleFails);
    const origin = { wire: "responses" as const, provider: "openai", model: log.state.thread.settings.model };
    const fresh = log.state.talk.origin === null;
    let seq = inTurn({ type: "sample.started", ...(fresh ? { origin } : {}) });
    if (failed) {
      const failure = { code: "overloaded", message: "The model is overloaded.", retryable: true, status: 529 };
      inTurn({ type: "sample.ended", sample: seq, status: "failed", failure, retryAt: new Date(log.now + 250).toISOString() });
      seq = inTurn({ type: "sample.started", attempt: 2 });
    }
    const before = tokens();
    let index = 0;
    if (random.chance(MIX.hasReasoning)) {
      const secret = random.size(MIX.reasoning);
      const shown = pools.prose(random.size(MIX.summaryOfReasoning), random);
      const item = { type: "reasoning", id: id("rs_"), summary: [{ type: "summary_text", text: shown }], encrypted_content: pools.base64(secret, random) };
      add(`${seq}.${index++}`, item, secret + shown.length);
    }
    if (last || random.chance(MIX.hasPreamble)) {
      const words = text(last ? MIX.answer : MIX.preamble);
      add(`${seq}.${index++}`, { type: "message", role: "assistant", id: id("msg_"), content: [{ type: "output_text", text: words }] }, words.length);
    }
    const calls = last ? [] : Array.from({ length: random.chance(MIX.twoCalls) ? 2 : 1 }, newCall);
    for (const each of calls) add(`${seq}.${index++}`, each, JSON.stringify(each).length);
    inTurn({ type: "sample.ended", sample: seq, status: "done", usage: usage(before, tokens() - before) });
    return calls;
  }

  function usage(input: number, output: number): Usage {
    return { input_tokens: input, cached_tokens: Math.floor(input * 0.9), output_tokens: output, reasoning_tokens: Math.floor(output * 0.4), total_tokens: input + output };
  }

  function run(item: CallItem): void {
    counts.calls += 1;
    const tool = toolName(item);
    const call = item.call_id;
    const { cwd, sandbox_mode: sandbox } = log.state.thread.settings;
    if (tool === "exec_command" && random.chance(MIX.callAsks)) {
      const ask = id("ask_");
      inTurn({ type: "ask.opened", ask, call, kind: "approval", body: { command: pools.output(60, random) } });
      inTurn({ type: "ask.answered", op: id("op_"), ask, answer: "approve" });
    }
    inTurn({ type: "call.started", call, tool, envelope: { cwd, sandbox } });
    log.now += random.whole(20, 4000);
    if (tool === "update_plan") {
      inTurn({ type: "plan.changed", plan: [{ step: pools.prose(40, random), status: "in_progress" }] });
      return ended(item, { output: "Plan updated", ms: 1 });
    }
    if (tool === "apply_patch") {
      for (let files = random.whole(1, 3); files > 0; files--) {
        const [before, after]: [FileState, FileState] = [fileState(), fileState()];
        inTurn({ type: "file.changed", call, path: `${cwd}/src/${random.hex(6)}.ts`, before, after });
      }
      return ended(item, { output: `Success. Updated the following files:\nM src/${random.hex(6)}.ts\n`, ms: random.whole(1, 40) });
    }
    const full = random.chance(MIX.isLongOutput) ? keep("output", random.size(MIX.longOutput)) : null;
    const output = pools.output(full ? MIX.output.most : random.size(MIX.output), random);
    ended(item, { output, exit: random.chance(0.1) ? 1 : 0, ms: random.whole(5, 9000), ...(full ? { full } : {}) });
  }

  function ended(item: CallItem, outcome: { output: string; ms: number; exit?: number; full?: BlobRef }): void {
    const { output, ...rest } = outcome;
    content += output.length;
    inTurn({ type: "call.ended", call: item.call_id, tool: toolName(item), status: "done", output: outputFor(item, output), ...rest });
  }

  function fileState(): FileState {
    return { kind: "file", hash: random.hex(64), mode: 0o644 };
  }

  function contextRecord(): Draft | null {
    const instructions = keep("instructions", 6000);
    const tools = keep("tools", 9000);
    return instructions && tools ? { type: "context.changed", instructions, tools, items: [] } : null;
  }

  return {
    get tokens() {
      return tokens();
    },
    get turns() {
      return counts.turns;
    },
    counts,
    turn() {
      const before = log.head;
      const talk = structuredClone(log.state.talk);
      turn = id("t").slice(0, 11);
      content = 0;
      const message = userMessage();
      content += JSON.stringify(message).length;
      const input = put({ type: "input.queued", op: id("op_"), items: [message], deliver: "next" });
      const context = counts.turns % MIX.contextEvery === 0 ? contextRecord() : null;
      if (context) inTurn(context);
      const started = inTurn({ type: "turn.started", inputs: [input] });
      if (counts.turns === 0) put({ type: "thread.described", title: topic });
      counts.turns += 1;
      const interrupted = random.chance(MIX.turnInterrupted);
      let patched = false;
      for (let rounds = random.size(given.rounds); rounds > 0; rounds--) {
        for (const each of sample(false)) {
          run(each);
          patched ||= each.type === "custom_tool_call";
        }
      }
      if (interrupted) inTurn({ type: "turn.interrupted", op: id("op_") });
      else sample(true);
      const diff = patched ? keep("diff", 3000) : null;
      const totals = { files_modified: 1, files_created: 0, files_deleted: 0, total_additions: 12, total_deletions: 7 };
      inTurn({ type: "turn.ended", status: interrupted ? "cancelled" : "completed", ...(diff ? { diff, totals } : {}) });
      past.push({ started, before, talk, tokens: Math.ceil(content / MIX.bytesPerToken) });
      content = 0;
      log.now += random.whole(2000, 600_000);
    },
    compact() {
      const kept = past.slice(-MIX.keepTurns);
      const words = pools.prose(random.size(MIX.compactSummary), random);
      const beforeTokens = tokens();
      past = kept;
      summaryTokens = Math.ceil(words.length / MIX.bytesPerToken);
      counts.compactions += 1;
      const summary = [{ type: "message", role: "user", content: [{ type: "input_text", text: words }] }];
      const keepFrom = kept[0]?.started ?? log.head;
      const sizes = { before: beforeTokens, after: tokens() };
      put({ type: "history.compacted", summary, keepFrom, previous: log.state.talk.history, tokens: sizes, carry: carryOf(log.state) });
    },
    rewind() {
      const back = Math.min(random.whole(1, 3), past.length - 1);
      const target = past.at(-back);
      const lastCompaction = log.state.talk.history.compaction ?? 0;
      if (back < 1 || !target || target.before <= lastCompaction) return;
      const carry = { thread: carryOf(log.state).thread, talk: settledTalk(target.talk) };
      put({ type: "thread.rewound", op: id("op_"), before: target.before, carry });
      past = past.slice(0, -back);
      log.state.history.entries = log.state.history.entries.filter(({ seq }) => seq < target.before);
      log.state.stale = false;
      counts.rewinds += 1;
    },
    newWriter() {
      put({ type: "writer.closed" });
      log.now += random.whole(60_000, 40_000_000);
      put({ type: "writer.opened", epoch: log.state.thread.epoch + 1, pid: random.whole(1000, 60_000), host: "workstation" });
      counts.writers += 1;
    },
  };
}
