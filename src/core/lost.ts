/**
 * lost: what a new writer records about what the last one left unfinished. Nothing is run again: a request that was under way is
 * lost, a call that was started and has no end is told as "outcome unknown", and text that the user already read becomes one
 * partial item. The turn itself stays open, parked.
 */
import { isCall, outputFor, type CallItem, type Item } from "../protocol/item.ts";
import type { Draft } from "../protocol/record.ts";
import { OWN_COMMAND, ownCommandMessage } from "./command-output.ts";
import type { LiveItem } from "./store.ts";
import type { State } from "./state.ts";

export function lost(state: State, live: readonly LiveItem[]): Draft[] {
  const { turn } = state.talk;
  const drafts = lostCommands(state, live);
  if (!turn) return drafts;
  if (turn.sample) {
    for (const streamed of turn.sample.purpose === "compact" ? [] : live) {
      const item = partialItem(streamed);
      if (item && !hasEntry(state, streamed.id)) drafts.push({ type: "item.added", turn: turn.id, id: streamed.id, item, partial: true });
    }
    drafts.push({ type: "sample.ended", turn: turn.id, sample: turn.sample.seq, status: "lost" });
  }
  for (const open of turn.calls) {
    if (!open.started) continue;
    const call = callItem(state, open.call) ?? { type: "function_call", call_id: open.call, name: open.tool, arguments: "{}" };
    const seen = live.find((streamed) => streamed.kind === "output" && streamed.id === open.call);
    const output = outputFor(call, unknownOutcome(seen?.text ?? ""));
    drafts.push({ type: "call.ended", turn: turn.id, call: open.call, tool: open.tool, status: "unknown", output });
  }
  return drafts;
}

/** The user's own commands: one that was not started is not started by a later process. */
function lostCommands(state: State, live: readonly LiveItem[]): Draft[] {
  return (state.talk.requested ?? []).map(({ call, command, started }): Draft => {
    const seen = live.find((streamed) => streamed.kind === "output" && streamed.id === call);
    const told = started ? unknownOutcome(seen?.text ?? "") : "Not run: the process ended before it was started.";
    return { type: "call.ended", call, tool: OWN_COMMAND, status: started ? "unknown" : "denied", output: ownCommandMessage(command, told) };
  });
}

/** The call's item: that of the open call, or the newest, since a server may use a call id again. */
export function callItem(state: State, call: string): CallItem | null {
  const open = state.talk.turn?.calls.find((candidate) => candidate.call === call);
  const asked = open && state.history.entries.find((entry) => entry.seq === open.seq);
  if (asked && isCall(asked.item)) return asked.item;
  for (let index = state.history.entries.length - 1; index >= 0; index--) {
    const { item } = state.history.entries[index]!;
    if (isCall(item) && item.call_id === call) return item;
  }
  return null;
}

function unknownOutcome(output: string): string {
  const told = "The process that ran this call ended before the call did: outcome unknown. It was not run again. Check its effects before you repeat it.";
  return output === "" ? told : `${told}\nOutput until then:\n${output}`;
}

function hasEntry(state: State, id: string): boolean {
  return state.history.entries.some((entry) => entry.id === id);
}

function partialItem(streamed: LiveItem): Item | null {
  if (streamed.text === "") return null;
  if (streamed.kind === "message") return { type: "message", role: "assistant", content: [{ type: "output_text", text: streamed.text }] };
  if (streamed.kind === "reasoning") return { type: "reasoning", summary: [{ type: "summary_text", text: streamed.text }] };
  return null;
}
