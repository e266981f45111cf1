/** Where an open turn is, in one word. */
import type { TurnState } from "../protocol/library.ts";
import type { State } from "./state.ts";

export function turnState(state: State): TurnState | null {
  const { turn, asks } = state.talk;
  if (!turn) return null;
  if (asks.some((ask) => ask.answer === undefined)) return "awaiting_approval";
  if (turn.parked) return "parked";
  if (turn.sample?.purpose === "compact") return "compacting";
  if (!turn.sample && turn.calls.length > 0) return "awaiting_tool_result";
  return turn.retryAt !== null && !turn.sample ? "retrying" : "processing";
}
