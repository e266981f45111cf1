/**
 * Begin: opens a turn. What the model will be told beside the conversation (instructions, tools, context) is gathered, recorded in the
 * log where it differs from what is recorded, and then frozen until the turn ends; only skills that a steering message names join it. A turn
 * that goes on after a restart gathers again and uses what the log says.
 */
import type { MessageItem } from "../protocol/item.ts";
import type { BlobRef, Draft, OpId } from "../protocol/record.ts";
import { contextItem, PASSING, type ContextPart } from "../core/context.ts";
import type { Provider } from "../core/provider.ts";
import type { Tool, ToolSpec } from "../core/tool.ts";
import { unlessAborted } from "./aborting.ts";
import type { Host } from "./host.ts";
import { turnId } from "./ids.ts";
import type { Handle } from "./handle.ts";

export interface TurnContext {
  provider: Provider | null;
  /** Why there is no provider. */
  problem: { code: string; message: string } | null;
  instructions: string;
  specs: readonly ToolSpec[];
  tools: ReadonlyMap<string, Tool>;
}

/** Of the last turn: the texts that it kept, and where, so that a turn with the same ones waits for no disk; what it warned of. */
export interface Kept {
  texts: Map<string, BlobRef>;
  warned: ReadonlySet<string>;
}

/** `inputs` null: the turn is already open. Gives null when it was aborted, or the input is not what it was: nothing was opened then. */
export async function begin(session: Handle, host: Host, { inputs, kept, signal }: { inputs: number[] | null; kept: Kept; signal: AbortSignal }): Promise<TurnContext | null> {
  const settings = session.state.talk.turn?.settings ?? session.state.thread.settings;
  const input = session.state.talk.queue.filter((queued) => inputs?.includes(queued.seq)).flatMap((queued) => queued.items);
  const found = await unlessAborted(Promise.all([host.provider(settings), host.context({ thread: session.thread, settings, input }), host.model(settings)]), signal);
  if (!found) return null;
  const [provided, gathered, limits] = found;
  const specs = gathered.tools.map(({ name, description, parameters, freeform }) => ({ name, description, parameters, ...(freeform ? { freeform } : {}) }));
  const context: TurnContext = {
    provider: provided.ok ? provided.provider : null,
    problem: provided.ok ? null : { code: provided.code, message: provided.message },
    instructions: gathered.instructions,
    specs,
    tools: byName(gathered.tools),
  };
  if (inputs === null) return recorded(session, context);
  for (const message of gathered.warnings) if (!kept.warned.has(message)) session.show({ type: "warning", message });
  kept.warned = new Set(gathered.warnings);
  const turn = turnId();
  const changed = await contextRecord({ session, context, parts: gathered.parts, kept });
  if (signal.aborted || !areWaiting(session, inputs)) return null;
  session.commit([{ type: "turn.started", turn, inputs, ...limits }, ...(changed ? [{ ...changed, turn }] : [])]);
  return context;
}

/** A turn that was interrupted before it was open: it is opened without context, to be ended. */
export function beginCancelled(session: Handle, inputs: readonly number[]): void {
  if (areWaiting(session, inputs)) session.commit([{ type: "turn.started", turn: turnId(), inputs: [...inputs] }]);
}

/** Takes input into the open turn; the skills that it names are told before it. */
export async function take(session: Handle, host: Host, { op, from, signal }: { op: OpId; from: number; signal: AbortSignal }): Promise<void> {
  const { turn, queue, context } = session.state.talk;
  const inTurn = turn ? { turn: turn.id } : {};
  const input = queue.find(({ seq }) => seq === from)?.items ?? [];
  const items: MessageItem[] = [];
  for (const { key, role, text } of await host.usedSkills({ settings: turn?.settings ?? session.state.thread.settings, input })) {
    const blob = await session.keep(text);
    if (context?.parts?.[key]?.sha256 !== blob.sha256) items.push(contextItem({ key, role, blob, again: false }));
  }
  if (signal.aborted || !areWaiting(session, [from])) return;
  const told: Draft[] = context && items.length > 0 ? [{ type: "context.changed", instructions: context.instructions, tools: context.tools, items, ...inTurn }] : [];
  session.commit([{ type: "input.taken", op, from, ...inTurn }, ...told]);
}

/** While context was gathered the user may have changed or withdrawn what they said. */
function areWaiting(session: Handle, inputs: readonly number[]): boolean {
  const { queue } = session.state.talk;
  return inputs.every((input) => queue.some(({ seq }) => seq === input));
}

/** Null: the log says the same already. */
async function contextRecord(given: { session: Handle; context: TurnContext; parts: readonly ContextPart[]; kept: Kept }): Promise<Draft | null> {
  const { session, context, parts, kept } = given;
  const before = session.state.talk.context;
  const used = new Map<string, BlobRef>();
  const keep = async (text: string): Promise<BlobRef> => {
    const ref = kept.texts.get(text) ?? (await session.keep(text));
    used.set(text, ref);
    return ref;
  };
  const instructions = await keep(context.instructions);
  const tools = await keep(JSON.stringify(context.specs));
  const items: MessageItem[] = [];
  for (const { key, role, text } of [...parts, ...gone(before?.parts ?? {}, parts)]) {
    const blob = await keep(text);
    const last = before?.parts?.[key];
    if (last?.sha256 !== blob.sha256) items.push(contextItem({ key, role, blob, again: last !== undefined }));
  }
  kept.texts = used;
  if (items.length === 0 && before?.instructions.sha256 === instructions.sha256 && before.tools.sha256 === tools.sha256) return null;
  return { type: "context.changed", instructions, tools, items };
}

/** What the model was told of and is not there any more. */
function gone(before: Readonly<Record<string, BlobRef>>, parts: readonly ContextPart[]): ContextPart[] {
  const keys = new Set(parts.map((part) => part.key));
  return Object.keys(before).filter((key) => !keys.has(key) && !key.startsWith(PASSING)).map((key) => ({ key, role: "user", text: `(${key}: there is none any more.)` }));
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  const named = new Map<string, Tool>();
  for (const tool of tools) for (const name of tool.aliases ?? []) named.set(name, tool);
  for (const tool of tools) named.set(tool.name, tool);
  return named;
}

/** The frozen context of an open turn, as the log has it; what cannot be read falls back to what is gathered now. */
async function recorded(session: Handle, gathered: TurnContext): Promise<TurnContext> {
  const refs = session.state.talk.context;
  if (!refs) return gathered;
  const { blobs } = session.store;
  const [instructions, tools] = await Promise.all([blobs.get(session.thread, refs.instructions), blobs.get(session.thread, refs.tools)]);
  if (!instructions || !tools) return gathered;
  const text = new TextDecoder();
  return { ...gathered, instructions: text.decode(instructions), specs: JSON.parse(text.decode(tools)) as ToolSpec[] };
}
