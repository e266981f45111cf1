/**
 * A conversation of so many items, folded from records as the runtime writes them. A turn is a prompt, six rounds of thought, words and
 * two calls with outputs of some 1,200 characters, and an answer; now and then in another script. Nothing in it was compacted.
 */
import { userText, type Item, type Origin } from "../../src/protocol/item.ts";
import type { Draft, LogRecord } from "../../src/protocol/record.ts";
import { reduce } from "../../src/core/reduce.ts";
import { born, type State } from "../../src/core/state.ts";

type Wire = "responses" | "chat" | "messages";

export const INSTRUCTIONS = "Be a good agent. ".repeat(80);
export const TOOLS = Array.from({ length: 9 }, (_, n) => ({ name: `tool_${n}`, description: "Does something useful. ".repeat(20), parameters: { type: "object", properties: { cmd: { type: "string" } }, required: ["cmd"] } }));
export const ORIGIN: Readonly<Record<Wire, Origin>> = { responses: origin("responses"), chat: origin("chat"), messages: origin("messages") };

const SETTINGS = { model: "bench", model_provider: "bench", cwd: "/", approval_policy: "never" as const, sandbox_mode: "read-only" as const, model_context_window: 1_000_000_000 };
const THREAD = "01900000-0000-7000-8000-000000000000";
const ROUNDS = 6;
const TURN = "bench-turn";

function origin(wire: Wire): Origin {
  return { wire, provider: "bench", model: "bench", account: "a" };
}

/** The last turn is open and its last call answered, so that a request is due. */
export function stateOf(items: number, given: { origin?: Origin; counts?: boolean } = {}): State {
  const state = born(sealed({ type: "thread.created", id: THREAD, base: null, source: "exec", settings: SETTINGS }, 0), null);
  const add = (draft: Draft): number => {
    reduce(state, sealed({ turn: TURN, ...draft }, state.head));
    return state.head - 1;
  };
  const usage = given.counts === false ? {} : { usage: { input_tokens: 1000, output_tokens: 10, total_tokens: 1010 } };
  const sample = (...made: Item[]) => {
    const seq = add({ type: "sample.started", origin: given.origin ?? ORIGIN.responses });
    for (const item of made) add({ type: "item.added", id: `i${state.head}`, item });
    add({ type: "sample.ended", sample: seq, status: "done", ...usage });
  };
  for (let turn = 0; state.history.entries.length < items; turn++) {
    if (turn > 0) add({ type: "turn.ended", status: "completed" });
    const input = add({ type: "input.queued", op: `op${turn}`, items: [userText(`prompt ${turn} ${words(turn, 200)}`)], deliver: "next" });
    add({ type: "turn.started", inputs: [input] });
    if (turn > 0) sample(message(`answer ${turn} ${words(turn, 800)}`));
    for (let round = 0; round < ROUNDS; round++) {
      const calls = [0, 1].map((n) => `call_${turn}_${round}_${n}`);
      sample(
        { type: "reasoning", summary: [{ type: "summary_text", text: words(round, 100) }], encrypted_content: "abcdefgh".repeat(60) },
        message(words(round, 150)),
        ...calls.map((call): Item => ({ type: "function_call", call_id: call, name: "tool_1", arguments: JSON.stringify({ cmd: `look at part ${call}` }) })),
      );
      for (const call of calls) addCall(state, call);
    }
  }
  return state;
}

/** What another call gave. */
export function added(state: State): void {
  const call = `later_${state.head}`;
  reduce(state, sealed({ type: "item.added", id: call, turn: TURN, item: { type: "function_call", call_id: call, name: "tool_1", arguments: "{}" } }, state.head));
  addCall(state, call);
}

function addCall(state: State, call: string): void {
  const output = { type: "function_call_output" as const, call_id: call, output: `${call} ${words(state.head, 1200)}` };
  reduce(state, sealed({ type: "call.ended", turn: TURN, call, tool: "tool_1", status: "done", exit: 0, output }, state.head));
}

function message(text: string): Item {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

/** About so many characters; one in eight is not in Latin letters. */
function words(seed: number, length: number): string {
  const one = seed % 8 === 7 ? "これは長い文章です。" : `line ${seed} of what was found, as it stood there\n`;
  return one.repeat(Math.ceil(length / one.length));
}

/** As read from a log: nothing is shared with what made it. */
function sealed(draft: Draft, seq: number): LogRecord {
  return JSON.parse(JSON.stringify({ v: 1, seq, at: "2026-01-31T09:00:00.000Z", ...draft })) as LogRecord;
}
