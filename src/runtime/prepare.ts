/** Prepare: a summary made ahead of time, beside the turn, so that the compaction that will need it does not wait. Its cost is recorded. */
import type { Draft } from "../protocol/record.ts";
import { planAhead } from "../core/compact.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import { summarize } from "./summarize.ts";

export async function prepareSummary({ session, context, signal }: { session: Handle; context: TurnContext; signal: AbortSignal }): Promise<void> {
  const planned = planAhead(session.state);
  const turn = session.state.talk.turn ? { turn: session.state.talk.turn.id } : {};
  const draft = (fields: object): Draft => ({ type: "summary.prepared", ...turn, before: planned.keepFrom, ...fields });
  if (planned.goes.length === 0) {
    session.commit([draft({ failure: { code: "nothing_to_summarize", message: "Nothing would go." } })]);
    return;
  }
  const summary = await summarize({ session, context, plan: planned, instructions: undefined, signal });
  if (signal.aborted) return;
  const usage = summary.usage ? { usage: summary.usage } : {};
  session.commit([draft(summary.ok ? { summary: await session.keep(summary.text), ...usage } : { failure: summary.failure, ...usage })]);
}
