/**
 * Prepare: a summary made ahead of time, beside the turn, so that the compaction that will need it does not wait. Its cost is recorded, also
 * when nobody could wait for it; then it is not tried again, so that it is not paid for again and again.
 */
import type { Draft } from "../protocol/record.ts";
import { planAhead } from "../core/compact.ts";
import type { TurnContext } from "./begin.ts";
import type { Handle } from "./handle.ts";
import type { Host } from "./host.ts";
import { INTERRUPTED, summarize } from "./summarize.ts";

export async function prepareSummary({ session, host, context, signal }: { session: Handle; host: Host; context: TurnContext; signal: AbortSignal }): Promise<void> {
  const planned = planAhead(session.state);
  const turn = session.state.talk.turn ? { turn: session.state.talk.turn.id } : {};
  const draft = (fields: object): Draft => ({ type: "summary.prepared", ...turn, before: planned.keepFrom, ...fields });
  if (planned.goes.length === 0) {
    session.commit([draft({ failure: { code: "nothing_to_summarize", message: "Nothing would go." } })]);
    return;
  }
  const summary = await summarize({ session, host, context, plan: planned, instructions: undefined, signal });
  const usage = summary.usage ? { usage: summary.usage } : {};
  if (signal.aborted && !summary.ok) {
    session.commit([draft({ failure: INTERRUPTED, ...usage })]);
    return;
  }
  session.commit([draft(summary.ok ? { summary: await session.keep(summary.text), ...usage } : { failure: summary.failure, ...usage })]);
}
