/** Whatever a log holds and wherever it is compacted: each wire's request is one that the API accepts, once more after what is said next. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Origin } from "../../src/protocol/item.ts";
import { compacted, plan, requestsOf, summaryMessage } from "../../src/core/compact.ts";
import { visible, type VisibleItem } from "../../src/core/history.ts";
import { reduce } from "../../src/core/reduce.ts";
import type { State } from "../../src/core/state.ts";
import { toRequest as toChat } from "../../src/providers/chat-request.ts";
import { toJson } from "../../src/providers/json.ts";
import { toRequest as toMessages } from "../../src/providers/messages-request.ts";
import { toRequest as toResponses } from "../../src/providers/responses-request.ts";
import { positions, worlds } from "../core/arbitrary.ts";
import { queued, runs, sealed, stateAt } from "../core/given.ts";
import { validate as validateChat } from "../model-server/validate/chat.ts";
import { validate as validateMessages } from "../model-server/validate/messages.ts";
import { validate as validateResponses } from "../model-server/validate/responses.ts";
import { MODEL, NO_IMAGES, PATCH_TOOL, requestFor, TOOL, WIRES } from "./given.ts";

const BUILD = { responses: toResponses, chat: toChat, messages: toMessages };
const VALIDATE = { responses: validateResponses, chat: validateChat, messages: validateMessages };
type Wire = keyof typeof BUILD;

function check(wire: Wire, input: readonly VisibleItem[], toolChoice: "auto" | "none"): void {
  const origin: Origin = { wire, provider: "scripted", model: MODEL[wire], account: "abc" };
  // Items of others, and as if this provider had made everything that a model made.
  for (const each of [input, input.map(({ item, origin: made }) => ({ item, origin: made === null ? null : origin }))]) {
    const body = toJson(BUILD[wire](requestFor(wire, { input: each, toolChoice, tools: [TOOL, PATCH_TOOL] }), { images: NO_IMAGES, origin }));
    const problems = VALIDATE[wire](JSON.parse(body) as unknown);
    if (problems.length > 0) expect({ problems, body, input: each }).toEqual({ problems: [] });
  }
}

/** As the runtime does it: nothing is open, and the settings say how much stays. */
function withSettings(state: State | null, settings: object): State | null {
  if (!state || state.talk.turn?.sample || (state.talk.turn?.calls.length ?? 0) > 0) return null;
  state.thread.settings = { ...state.thread.settings, ...settings };
  if (state.talk.turn) state.talk.turn.settings = state.thread.settings;
  return state;
}

function addTo(state: State, ...drafts: Parameters<typeof sealed>[0][]): void {
  for (const draft of drafts) reduce(state, sealed(draft, { seq: state.head }));
}

const windows = fc.oneof(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 4000, max: 400_000 }));
const choice = fc.record({ window: windows, keep: fc.nat(4), strategy: fc.constantFrom("summary" as const, "user-messages" as const), again: fc.boolean(), every: fc.integer({ min: 1, max: 5 }) });

describe.each(["orderly", "hostile"] as const)("%s logs", (level) => {
  test.each(WIRES)("%s: the request for a summary, the one after it, and the next are valid", (wire) => {
    let compactions = 0;
    fc.assert(
      fc.property(worlds(level, { max: 80 }), choice, ({ logs }, { window, keep, strategy, again, every }) => {
        for (const [index, position] of [...positions(logs)].entries()) {
          const state = index % every === 0 ? withSettings(stateAt(logs, position), { model_context_window: window, compact: { keep_turns: keep } }) : null;
          if (!state) continue;
          for (let time = 0; time < (again ? 2 : 1); time++) {
            const planned = plan(state);
            const { summary, shown } = state.history;
            check(wire, [...visible({ summary, shown, entries: [...planned.goes] }), ...visible({ summary: [summaryMessage("Summarise.", 10)], entries: [] })], "none");
            const text = strategy === "summary" ? "what was" : requestsOf(state, planned.goes);
            addTo(state, compacted(state, planned, { items: [summaryMessage(text, planned.summaryTokens)], strategy, trigger: "auto" }));
            compactions += 1;
            check(wire, visible(state.history), "auto");
            const seq = state.head;
            addTo(state, queued(`later-${seq}`), { type: "turn.started", turn: `later-${seq}`, inputs: [seq] });
            check(wire, visible(state.history), "auto");
          }
        }
      }),
      runs(15),
    );
    expect(compactions).toBeGreaterThan(50);
  });
});
