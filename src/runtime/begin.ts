/**
 * Begin: opens a turn. What the model will be told beside the conversation (instructions, tools) is gathered, recorded in the log when it
 * differs from what is recorded, and then frozen until the turn ends. A turn that goes on after a restart gathers again and
 * uses what the log says.
 */
import type { BlobRef, Draft } from "../protocol/record.ts";
import type { Provider } from "../core/provider.ts";
import type { Tool, ToolSpec } from "../core/tool.ts";
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

/** The texts that the last turn kept, and where: a turn with the same ones waits for no disk. */
export type Kept = Map<string, BlobRef>;

/** `inputs` null: the turn is already open. */
export async function begin(session: Handle, host: Host, { inputs, kept }: { inputs: number[] | null; kept: Kept }): Promise<TurnContext> {
  const settings = session.state.talk.turn?.settings ?? session.state.thread.settings;
  const [provided, gathered] = await Promise.all([host.provider(settings), host.context(settings)]);
  const specs = gathered.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const context: TurnContext = {
    provider: provided.ok ? provided.provider : null,
    problem: provided.ok ? null : { code: provided.code, message: provided.message },
    instructions: gathered.instructions,
    specs,
    tools: byName(gathered.tools),
  };
  if (inputs === null) return recorded(session, context);
  const turn = turnId();
  const changed = await contextRecord(session, context, kept);
  session.commit([{ type: "turn.started", turn, inputs }, ...(changed ? [{ ...changed, turn }] : [])]);
  return context;
}

async function contextRecord(session: Handle, context: TurnContext, kept: Kept): Promise<Draft | null> {
  const before = session.state.talk.context;
  const specs = JSON.stringify(context.specs);
  const instructions = kept.get(context.instructions) ?? (await session.keep(context.instructions));
  const tools = kept.get(specs) ?? (await session.keep(specs));
  kept.clear();
  kept.set(context.instructions, instructions).set(specs, tools);
  if (before?.instructions.sha256 === instructions.sha256 && before.tools.sha256 === tools.sha256) return null;
  return { type: "context.changed", instructions, tools, items: [] };
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
