/**
 * events: record → what clients see. A projection folds over live records; the same records give the same events with the same
 * cursors, whether they are published as they are written or replayed from disk.
 *
 * A cursor is `epoch.seq.n`: the n-th event of record seq as written in that writer epoch. Clients treat it as opaque.
 */
import { isCall, isMessage, isReasoning, isWebSearch, textOf, toolName, type CallItem, type Item } from "../protocol/item.ts";
import type { Cursor, Event, EventBody, ItemKind } from "../protocol/event.ts";
import type { CallId, Failure, KnownRecord, LogRecord, Usage } from "../protocol/record.ts";
import { asKnown } from "./known.ts";
import { argumentsOf, commandOf, COMMAND_TOOLS, hasCommand } from "./command.ts";
import { OWN_COMMAND, writtenOutput } from "./command-output.ts";
import { wasMended } from "./refused.ts";
import { addUsage, NO_USAGE, type State } from "./state.ts";

export interface Projection {
  thread: string;
  epoch: number;
  /** `tokens`: of its last request, as the server counted them. */
  turn: { id: string; startedAt: string; usage: Usage; attempt: number; tokens: number; window: number | null; compacting: boolean } | null;
  inputs: Map<number, readonly Item[]>;
  /** Open calls that would be commands, and name none. */
  noCommands: Set<CallId>;
}

export function createProjection(thread: string, epoch: number): Projection {
  return { thread, epoch, turn: null, inputs: new Map(), noCommands: new Set() };
}

/** A projection that goes on from a state. */
export function projectionAt({ thread, talk, history }: State): Projection {
  const { turn } = talk;
  const open = turn && turn.calls.length > 0 ? history.entries.flatMap(({ item }) => (isCall(item) ? [item] : [])) : [];
  return {
    thread: thread.id,
    epoch: thread.epoch,
    turn: turn && { id: turn.id, startedAt: turn.startedAt, usage: turn.usage, attempt: 1, tokens: turn.usage.total_tokens > 0 ? talk.tokens : 0, window: talk.model?.window ?? null, compacting: turn.sample?.purpose === "compact" },
    inputs: new Map(talk.queue.map(({ seq, items }) => [seq, items])),
    noCommands: new Set(open.filter(isNoCommand).map((call) => call.call_id)),
  };
}

export interface Place {
  epoch: number;
  seq: number;
  /** Index of the event within its record. */
  n: number;
}

/** An `n` past any event: the cursor after the whole record. */
export const END_OF_RECORD = 999_999;

export function cursorOf({ epoch, seq, n }: Place): Cursor {
  return `${epoch}.${seq}.${n}`;
}
export function parseCursor(cursor: Cursor): Place | null {
  const match = /^(\d{1,15})\.(\d{1,15})\.(\d{1,6})$/u.exec(cursor);
  return match ? { epoch: Number(match[1]), seq: Number(match[2]), n: Number(match[3]) } : null;
}

export function project(projection: Projection, record: LogRecord): Event[] {
  const known = asKnown(record);
  if (known?.type === "writer.opened") projection.epoch = known.epoch;
  const bodies = known ? eventsOf(projection, known) : [];
  const base = { thread_id: projection.thread, turn_id: record.turn ?? "", timestamp_ms: Date.parse(record.at) || 0 };
  return bodies.map((body, n) => ({ ...body, ...base, cursor: cursorOf({ epoch: projection.epoch, seq: record.seq, n }) }));
}

function eventsOf(projection: Projection, record: KnownRecord): EventBody[] {
  switch (record.type) {
    case "thread.created":
      return [{ type: "session/configured", settings: record.settings, title: null, source: record.source, forked_from: record.base?.thread ?? null }];
    case "thread.described":
      return record.title === undefined ? [] : [{ type: "thread/renamed", title: record.title }];
    case "settings.changed":
      return [{ type: "thread/settings", settings: record.settings }];
    case "input.queued":
      projection.inputs.set(record.seq, record.items);
      return [{ type: "input/queued", op_id: record.op, items: record.items, deliver: record.deliver }];
    case "input.changed":
      projection.inputs.set(record.seq, record.items);
      return [];
    case "input.withdrawn":
      return [{ type: "input/withdrawn", op_id: record.input }];
    case "turn.started":
      projection.turn = { id: record.turn ?? "", startedAt: record.at, usage: NO_USAGE, attempt: 1, tokens: 0, window: record.window ?? null, compacting: false };
      return [{ type: "turn/started", model_context_window: record.window ?? null }, ...record.inputs.flatMap((seq) => userMessages(projection, record.seq, seq))];
    case "input.taken":
      return userMessages(projection, record.seq, record.from);
    case "sample.started":
      if (projection.turn) Object.assign(projection.turn, { attempt: record.attempt ?? 1, compacting: record.purpose === "compact" });
      return [];
    case "sample.ended":
      if (record.usage && projection.turn) projection.turn.usage = addUsage(projection.turn.usage, record.usage);
      return [
        ...(record.status === "failed" && record.failure?.retryable ? retrying(record, record.failure, projection.turn?.attempt ?? 1) : []),
        ...(record.status === "done" && record.usage ? filled(projection, record.usage) : []),
      ];
    case "item.added":
      return itemAdded(projection, record);
    case "item.dropped":
      return record.items.map((id) => ({ type: "item/discarded", item_id: id, message: record.why }));
    case "ask.opened":
      return [{ type: "approval/requested", approval_id: record.ask, item_id: record.call ?? null, kind: record.kind, body: record.body }];
    case "ask.answered":
      return [{ type: "approval/resolved", approval_id: record.ask, answer: record.answer }];
    case "call.requested":
      return ownCommand(record);
    case "call.started":
      return record.actions && record.actions.length > 0 ? [{ type: "item/commandExecution/explored", item_id: record.call, actions: record.actions }] : [];
    case "call.ended":
      return callEnded(projection, record);
    case "plan.changed":
      return [{ type: "turn/plan/updated", plan: record.plan }];
    case "history.compacted":
      return [{ type: "thread/compacted", old_token_count: record.tokens.before, new_token_count: record.tokens.after, strategy: record.strategy ?? null, trigger: record.trigger ?? null }];
    case "history.restored":
      return [{ type: "thread/restored", message: restoredText(record.base.compaction !== null) }];
    case "thread.rewound":
      return [{ type: "thread/rewound", before: record.before }];
    case "turn.ended":
      return turnEnded(projection, record);
    default:
      return [];
  }
}

function userMessages(projection: Projection, at: number, seq: number): EventBody[] {
  const items = projection.inputs.get(seq) ?? [];
  projection.inputs.delete(seq);
  return items.flatMap((item, index) => {
    const id = `${at}.${seq}.${index}`;
    return [
      { type: "item/started", item_id: id, item_kind: "userMessage", item },
      { type: "item/completed", item_id: id, item_kind: "userMessage", item },
    ] satisfies EventBody[];
  });
}

function itemAdded(projection: Projection, record: Extract<KnownRecord, { type: "item.added" }>): EventBody[] {
  const { item, id } = record;
  if (isCall(item)) return record.partial ? [] : callRequested(projection, item);
  const kind = kindOf(item);
  if (!kind) return [];
  return [{ type: "item/completed", item_id: id, item_kind: kind, item, ...(record.partial ? { partial: true as const } : {}) }];
}

function isNoCommand(call: CallItem): boolean {
  return callKind(toolName(call)) === "commandExecution" && !hasCommand(call);
}

function callRequested(projection: Projection, call: CallItem): EventBody[] {
  const tool = toolName(call);
  if (isNoCommand(call)) projection.noCommands.add(call.call_id);
  const kind = isNoCommand(call) ? "toolCall" : callKind(tool);
  const started: EventBody = { type: "item/started", item_id: call.call_id, item_kind: kind, item: call };
  if (kind === "commandExecution") return [started, { type: "item/commandExecution/started", item_id: call.call_id, ...commandOf(call) }];
  return [started, { type: "item/toolCall/started", item_id: call.call_id, tool_name: tool, args_json: argumentsOf(call) }];
}

/** The user's own command, as the call that it stands for. */
function ownCommand(record: Extract<KnownRecord, { type: "call.requested" }>): EventBody[] {
  const item: CallItem = { type: "function_call", call_id: record.call, name: OWN_COMMAND, arguments: JSON.stringify({ cmd: record.command }) };
  return [
    { type: "item/started", item_id: record.call, item_kind: "commandExecution", item },
    { type: "item/commandExecution/started", item_id: record.call, command: record.command, cwd: "", by: "user" },
  ];
}

function callEnded(projection: Projection, record: Extract<KnownRecord, { type: "call.ended" }>): EventBody[] {
  const kind = projection.noCommands.delete(record.call) ? "toolCall" : callKind(record.tool);
  const output = kind === "commandExecution" ? writtenOutput(record.output) : textOf(record.output);
  const result = { status: record.status, output, exit_code: record.exit ?? null, duration_ms: record.ms ?? null };
  const completed: EventBody = { type: "item/completed", item_id: record.call, item_kind: kind, item: record.output, result };
  if (kind === "commandExecution") return [completed];
  return [{ type: "item/toolCall/completed", item_id: record.call, tool_name: record.tool, output_json: JSON.stringify(output) }, completed];
}

const NEARLY_FULL = 0.8;

function restoredText(more: boolean): string {
  return `The last compaction was taken back: the next request holds ${more ? "what it had taken out again; an earlier compaction still stands and can be taken back too" : "the full history again"}.`;
}

/** The meter, and a warning when the window becomes nearly full. */
function filled(projection: Projection, usage: Usage): EventBody[] {
  const { turn } = projection;
  if (!turn || turn.compacting) return [];
  const { window, tokens: before } = turn;
  const tokens = usage.total_tokens;
  turn.tokens = tokens;
  const percent = window === null ? null : Math.round((tokens / window) * 100);
  const meter: EventBody = { type: "context/updated", tokens, window, percent };
  if (window === null || tokens < window * NEARLY_FULL || before >= window * NEARLY_FULL) return [meter];
  return [meter, { type: "warning", message: `The model's context is ${percent}% full (${tokens} of ${window} tokens). Older history will be summarised when it gets too full; \`skein compact\` does so now.` }];
}

/** The last failure of a budget that is used up is told by the turn that fails with it; what was refused and left out is told as that. */
function retrying(record: Extract<KnownRecord, { type: "sample.ended" }>, failure: Failure, attempt: number): EventBody[] {
  const { retries = null, retryAt = null } = record;
  if (wasMended(record) || (retries !== null && attempt > retries)) return [];
  return [{ type: "turn/retrying", attempt, max_attempts: retries, message: failure.message, code: failure.code, retry_at: retryAt }];
}

function turnEnded(projection: Projection, record: Extract<KnownRecord, { type: "turn.ended" }>): EventBody[] {
  const { turn } = projection;
  projection.turn = null;
  const started = turn ? Date.parse(turn.startedAt) : Number.NaN;
  const duration = Math.max(0, Date.parse(record.at) - started);
  const completed: EventBody = {
    type: "turn/completed",
    status: record.status,
    duration_ms: Number.isFinite(duration) ? duration : 0,
    token_usage: turn?.usage ?? NO_USAGE,
  };
  if (record.status === "failed") {
    const failure = record.failure ?? { code: "unknown", message: "The turn failed." };
    return [{ type: "turn/failed", message: failure.message, code: failure.code }, completed];
  }
  if (record.status === "cancelled") return [{ type: "turn/cancelled", message: record.failure?.message ?? "The turn was interrupted." }, completed];
  return [completed];
}

export function kindOf(item: Item): ItemKind | null {
  if (isMessage(item)) return item.role === "assistant" ? "agentMessage" : item.role === "user" ? "userMessage" : null;
  if (isReasoning(item)) return "reasoning";
  if (isCall(item)) return callKind(toolName(item));
  return isWebSearch(item) ? "webSearch" : null;
}

export function callKind(tool: string): ItemKind {
  if (COMMAND_TOOLS.has(tool)) return "commandExecution";
  if (tool === "apply_patch") return "fileChange";
  if (tool === "update_plan") return "planUpdate";
  if (tool === "view_image") return "imageView";
  return tool.startsWith("mcp__") ? "mcpToolCall" : "toolCall";
}
