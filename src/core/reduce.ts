/**
 * reduce: what a record means. Pure but for the state that it is given, which it owns and changes in place.
 *
 * The caller feeds it live records in order, each once, and nothing else. For every record, `talk` and `thread` after a replay from
 * the first record equal those after a replay from any carry.
 */
import { isCall, isMessage, textOf, toolName, type Item } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { CallId, Carry, KnownRecord, LogRecord, OpenTurn, OpId, RequestedCall } from "../protocol/record.ts";
import { answerOf } from "./approval.ts";
import { argumentsOf } from "./command.ts";
import { NO_SUMMARY, TOO_LARGE } from "./compact.ts";
import { contextRefs } from "./context.ts";
import { asKnown, isBarrier } from "./known.ts";
import { remember } from "./history.ts";
import { compactedAgain, digestOf, progressed, succeeded } from "./loop.ts";
import { wasMended } from "./refused.ts";
import { addUsage, born, fromCarry, NO_USAGE, type State } from "./state.ts";
import { preview } from "./text.ts";

/** A retried op acts once, as long as it is among the last so many. */
export const REMEMBERED_OPS = 1000;

export function reduce(state: State, record: LogRecord): State {
  state.head = record.seq + 1;
  const known = asKnown(record);
  if (!known) {
    if (isBarrier(record)) state.barrier = { seq: record.seq, type: record.type, v: record.v };
    return state;
  }
  if (known.type === "thread.created") return born(known, state);
  remember(state.history, known, {
    input: (seq) => state.talk.queue.find((queued) => queued.seq === seq)?.items,
    applies: () => true,
  });
  if (!applyToThread(state, known)) {
    applyToTalk(state, known);
    state.talk.updatedAt = known.at;
  }
  if ("op" in known && known.op && known.type !== "input.taken") rememberOp(state.thread.ops, known.op);
  return state;
}

/** The state just after a record that holds a carry, but for its history: what opening starts from. */
export function atCarrier(record: LogRecord & { carry: Carry }): State {
  return reduce(fromCarry(record.carry, record.seq), record);
}

function rememberOp(ops: OpId[], op: OpId): void {
  if (ops.at(-1) === op) return;
  ops.push(op);
  if (ops.length > REMEMBERED_OPS) ops.shift();
}

/** True when the record is a thread record: it says nothing about the conversation. */
function applyToThread(state: State, record: KnownRecord): boolean {
  const { thread, talk } = state;
  switch (record.type) {
    case "thread.described":
      if (record.title !== undefined) thread.title = record.title;
      if (record.tags !== undefined) thread.tags = record.tags;
      return true;
    case "settings.changed":
      thread.settings = { ...thread.settings, ...record.settings };
      return true;
    case "writer.opened":
      thread.epoch = record.epoch;
      thread.grants = [];
      if (talk.turn) talk.turn.parked = true;
      if (talk.queue.length > 0) talk.held = true;
      delete talk.cancels;
      return true;
    case "grant.added":
      thread.grants.push({ grant: record.grant, pattern: record.pattern, epoch: thread.epoch });
      return true;
    case "grant.revoked":
      thread.grants = thread.grants.filter((held) => held.grant !== record.grant);
      return true;
    case "writer.closed":
      if (talk.turn) talk.turn.parked = true;
      return true;
    case "file.changed":
      progressed(talk);
      return true;
    case "state.saved":
      return true;
    default:
      return false;
  }
}

function applyToTalk(state: State, record: KnownRecord): void {
  const { talk, thread } = state;
  const turn = talk.turn;
  switch (record.type) {
    case "input.queued":
      delete talk.held;
      talk.queue.push({ op: record.op, seq: record.seq, items: record.items, deliver: record.deliver, ...(record.schema === undefined ? {} : { schema: record.schema }) });
      return;
    case "input.changed": {
      const queued = talk.queue.find((input) => input.op === record.input);
      if (queued) Object.assign(queued, { items: record.items, seq: record.seq });
      return;
    }
    case "input.withdrawn":
      talk.queue = talk.queue.filter((input) => input.op !== record.input);
      if (talk.queue.length === 0) delete talk.held;
      return;
    case "input.taken":
      if (turn) {
        const schema = talk.queue.find((queued) => queued.seq === record.from)?.schema;
        if (schema !== undefined) turn.schema = schema;
        turn.due = true;
      }
      progressed(talk);
      take(state, record.from);
      return;
    case "context.changed":
      talk.context = { ...talk.context, instructions: record.instructions, tools: record.tools };
      if (record.items.length > 0) talk.context.parts = { ...talk.context.parts, ...contextRefs(record.items) };
      return;
    case "turn.started":
      delete talk.held;
      talk.turns += 1;
      talk.origin = null;
      talk.model = { ...(record.window === undefined ? {} : { window: record.window }), ...(record.compact === undefined ? {} : { compact: record.compact }) };
      if (Object.keys(talk.model).length === 0) delete talk.model;
      talk.turn = openTurn(state, record, talk.queue.find((queued) => record.inputs.includes(queued.seq))?.schema);
      for (const seq of record.inputs) take(state, seq);
      if (record.inputs.length > 0) progressed(talk);
      if (talk.cancels) talk.turn.interrupted = true;
      delete talk.cancels;
      return;
    case "turn.interrupted":
      if (turn) turn.interrupted = true;
      else if (talk.queue.length > 0) talk.cancels = true;
      setRequested(talk, (talk.requested ?? []).filter((own) => own.started).map((own) => ({ ...own, interrupted: true as const })));
      return;
    case "turn.continued":
      delete talk.held;
      if (turn) turn.parked = false;
      return;
    case "sample.started":
      if (record.origin) talk.origin = record.origin;
      if (turn) {
        turn.sample = { seq: record.seq, attempt: record.attempt ?? 1, purpose: record.purpose ?? "work" };
        turn.samples += 1;
      }
      return;
    case "sample.ended":
      if (record.usage) thread.usage = addUsage(thread.usage, record.usage);
      if (record.usage && record.status === "done" && turn?.sample?.purpose !== "compact") {
        talk.tokens = record.usage.total_tokens;
        talk.tokensAt = record.seq;
      }
      if (turn) endSample(turn, record);
      return;
    case "item.added":
      if (turn && isCall(record.item) && !record.partial) {
        const { call_id: call } = record.item;
        if (!turn.calls.some((open) => open.call === call)) turn.calls.push({ call, tool: toolName(record.item), seq: record.seq, started: false, digest: digestOf(`${toolName(record.item)} ${argumentsOf(record.item)}`) });
      }
      return;
    case "ask.opened":
      talk.asks = talk.asks.filter((open) => open.ask !== record.ask && !(record.call && open.call === record.call && open.answer !== undefined));
      talk.asks.push({ ask: record.ask, call: record.call ?? null, kind: record.kind, body: record.body });
      // Its run inside the sandbox is over; how it ended is in the body.
      if (record.kind === "escalation") markStarted(turn, record.call, false);
      return;
    case "ask.answered": {
      const ask = talk.asks.find((open) => open.ask === record.ask);
      if (ask) ask.answer = record.answer;
      if (ask?.kind === "loop") answerLoop(state, answerOf(record.answer).decision !== "no");
      if (ask?.kind === "summary" && answerOf(record.answer).decision === "no") {
        talk.asks = talk.asks.filter((open) => open !== ask);
        delete talk.compaction;
      }
      delete talk.held;
      if (turn) turn.parked = false;
      return;
    }
    case "ask.withdrawn":
      talk.asks = talk.asks.filter((open) => open.ask !== record.ask);
      return;
    case "call.requested":
      setRequested(talk, [...(talk.requested ?? []), { call: record.call, command: record.command, started: false }]);
      return;
    case "call.started":
      markStarted(turn, record.call, true);
      setRequested(talk, (talk.requested ?? []).map((own) => (own.call === record.call ? { ...own, started: true } : own)));
      return;
    case "call.ended":
      talk.asks = talk.asks.filter((open) => open.call !== record.call);
      if (talk.requested?.some((own) => own.call === record.call)) setRequested(talk, talk.requested.filter((own) => own.call !== record.call));
      else if (turn) {
        const call = turn.calls.find((open) => open.call === record.call);
        if (call?.digest !== undefined && record.status === "done" && (record.exit ?? 0) === 0) succeeded(talk, call.digest);
        turn.calls = turn.calls.filter((open) => open.call !== record.call);
        turn.due = true;
      }
      return;
    case "plan.changed":
      talk.plan = record.plan;
      return;
    case "compaction.requested":
      talk.compaction = { ...(record.instructions === undefined ? {} : { instructions: record.instructions }), ...(record.review ? { review: true } : {}) };
      return;
    case "summary.prepared":
      if (record.usage) thread.usage = addUsage(thread.usage, record.usage);
      talk.prepared = { before: record.before, summary: record.summary ?? null };
      return;
    case "history.compacted":
      talk.history = { compaction: record.seq, from: record.keepFrom, ...(record.origin ? { origin: record.origin } : {}) };
      talk.origin = null;
      talk.tokens = record.tokens.after;
      talk.tokensAt = record.seq;
      delete talk.compaction;
      delete talk.prepared;
      if (Array.isArray(record.forgets) && talk.context?.parts) talk.context = { ...talk.context, parts: Object.fromEntries(Object.entries(talk.context.parts).filter(([key]) => !record.forgets!.includes(key))) };
      talk.asks = talk.asks.filter((open) => open.kind !== "summary");
      compactedAgain(talk);
      if (turn) forgiven(turn);
      return;
    case "history.restored":
      talk.history = record.base;
      // Nothing counted it: it is estimated until a server counts again.
      talk.tokens = 0;
      delete talk.tokensAt;
      delete talk.prepared;
      state.stale = true;
      return;
    case "thread.rewound": {
      Object.assign(state, structuredClone(record.carry));
      state.stale = true;
      return;
    }
    case "turn.ended":
      if (record.diff) thread.diffs += 1;
      for (const queued of talk.queue) queued.deliver = "next";
      talk.asks = [];
      delete talk.compaction;
      if (turn) talk.lastTurn = { id: turn.id, status: record.status };
      talk.turn = null;
      return;
    default:
  }
}

function setRequested(talk: State["talk"], requested: RequestedCall[]): void {
  if (requested.length > 0) talk.requested = requested;
  else delete talk.requested;
}

function markStarted(turn: OpenTurn | null, id: CallId | undefined, started: boolean): void {
  const call = turn?.calls.find((open) => open.call === id);
  if (call) call.started = started;
}

function take(state: State, seq: number): void {
  const { talk } = state;
  const index = talk.queue.findIndex((queued) => queued.seq === seq);
  if (index < 0) return;
  const [taken] = talk.queue.splice(index, 1);
  talk.userMessages += 1;
  talk.preview ??= previewOf(taken!.items);
}

function previewOf(items: readonly Item[]): string | null {
  for (const item of items) {
    if (!isMessage(item) || item.role !== "user") continue;
    const text = preview(textOf(item));
    if (text) return text;
  }
  return null;
}

/** After a compaction the request is another one: what failed before is tried anew. */
function forgiven(turn: OpenTurn): void {
  turn.squeezes = (turn.squeezes ?? 0) + 1;
  turn.failures = 0;
  turn.failure = null;
  turn.retryAt = null;
  delete turn.retries;
}

function answerLoop({ talk }: State, goOn: boolean): void {
  talk.asks = talk.asks.filter((open) => open.kind !== "loop");
  if (goOn) delete talk.loop;
  else if (talk.turn) talk.turn.failure = { code: "compaction_loop", message: "History was compacted again and again without getting on, and the turn was ended.", retryable: false };
}

function openTurn(state: State, record: Extract<KnownRecord, { type: "turn.started" }>, schema: Json | undefined): OpenTurn {
  return {
    ...(schema === undefined ? {} : { schema }),

    id: record.turn ?? `t${record.seq}`,
    seq: record.seq,
    startedAt: record.at,
    settings: state.thread.settings,
    parked: false,
    interrupted: false,
    sample: null,
    failures: 0,
    failure: null,
    retryAt: null,
    due: record.inputs.length > 0,
    calls: [],
    samples: 0,
    usage: NO_USAGE,
  };
}

function endSample(turn: OpenTurn, record: Extract<KnownRecord, { type: "sample.ended" }>): void {
  const purpose = turn.sample?.purpose ?? "work";
  turn.sample = null;
  if (record.usage) turn.usage = addUsage(turn.usage, record.usage);
  // A compaction that got no summary has succeeded without one, unless it says otherwise.
  if (purpose === "compact") {
    if (record.failure?.code === TOO_LARGE || record.failure?.code === NO_SUMMARY) turn.failure = record.failure;
    return;
  }
  if (record.status === "done") {
    turn.due = false;
    delete turn.squeezes;
    turn.failures = 0;
    turn.failure = null;
    turn.retryAt = null;
    delete turn.retries;
  } else if (record.status === "failed") {
    if (!wasMended(record)) turn.failures += 1;
    turn.failure = record.failure ?? { code: "unknown", message: "The model request failed." };
    turn.retryAt = record.retryAt ?? null;
    if (record.retries === undefined) delete turn.retries;
    else turn.retries = record.retries;
  }
}
