/**
 * Replay: a recorded conversation is its own model, offline and deterministic. The answer to a request is the first recorded one that is
 * not in it yet, so that nothing is remembered between requests and a resumed thread goes on where it was.
 *
 * It makes no summaries: a compaction does without. What calls give now may differ from what they gave then: each difference is told, once a process. How long a command took is no difference.
 */
import { isCall, isMessage, isOutput, isReasoning, textOf, type Item, type Origin } from "../protocol/item.ts";
import type { VisibleItem } from "../core/history.ts";
import type { ModelEvent, ModelRequest, Provider } from "../core/provider.ts";
import { isModelMade, type RecordedSample } from "./recorded.ts";

const NAME = "replay";
const PIECE = 24;

export function createReplay(samples: readonly RecordedSample[], { outputs = new Map(), notice }: { outputs?: ReadonlyMap<string, string>; notice?: string } = {}): Provider {
  const flat = samples.flatMap(({ items }, sample) => items.filter(isModelMade).map((item) => ({ sample, item, key: keyOf(item) })));
  const reported = new Set<string>();

  function* differences({ input }: ModelRequest): Generator<ModelEvent> {
    for (const { item } of input) {
      if (!isOutput(item)) continue;
      const recorded = outputs.get(item.call_id);
      const now = textOf(item);
      if (recorded === undefined || timeless(recorded) === timeless(now) || reported.has(item.call_id)) continue;
      reported.add(item.call_id);
      yield { type: "notice", message: `The replay differs from the recording: call ${item.call_id} gave another output.\nthen: ${excerpt(recorded)}\nnow:  ${excerpt(now)}` };
    }
  }

  async function* stream(request: ModelRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<ModelEvent> {
    if (request.toolChoice === "none") {
      yield { type: "failed", failure: { code: "replay_ended", message: "A recording answers what it was asked, and no more.", retryable: false }, retryAfterMs: null };
      return;
    }
    yield* differences(request);
    const place = placeIn(flat, request.input);
    if (place === 0 && notice !== undefined) yield { type: "notice", message: notice };
    const next = flat[place];
    if (!next) {
      const message = `The recording ends here: it has ${samples.length} answers, and all are given. To go on with a model, set its key (OPENAI_API_KEY or ANTHROPIC_API_KEY) or name one in config.toml.`;
      yield { type: "failed", failure: { code: "replay_ended", message, retryable: false }, retryAfterMs: null };
      return;
    }
    const { items, usage } = samples[next.sample]!;
    let index = 0;
    const first = items.find(isModelMade);
    for (const item of next.item === first ? items : items.slice(items.indexOf(next.item))) {
      for (const event of eventsOf(item, index++)) {
        if (signal.aborted) return;
        yield event;
      }
    }
    yield { type: "done", usage };
  }

  return { name: NAME, retries: 0, requestRetries: 0, remoteCompact: null, origin: (model): Origin => ({ wire: "replay", provider: NAME, model }), stream };
}

/** A tool's output without the line that says how long it took. */
function timeless(output: string): string {
  return output.replace(/^Wall time: .*$/mu, "");
}

function excerpt(output: string): string {
  return JSON.stringify(output.length > 200 ? `${output.slice(0, 200)}…` : output);
}

interface Place {
  item: Item;
  key: string;
}

/**
 * How many of the recorded items the request has. They are matched in order, and others in between do not matter. Where the
 * beginning is gone (a compaction), the place is looked for where the most fits.
 */
function placeIn(flat: readonly Place[], input: readonly VisibleItem[]): number {
  const made = input.filter(({ item }) => isModelMade(item)).map(({ item, origin }) => ({ item, key: keyOf(item), ours: origin?.wire === "replay" }));
  const known = new Set(flat.map(({ key }) => key));
  const expected = made.filter(({ key }) => known.has(key)).length;
  let best = matchFrom(0);
  for (let start = 1; best.count < expected && start < flat.length; start++) {
    const found = matchFrom(start);
    if (found.count > best.count) best = found;
  }
  return best.end;

  function matchFrom(start: number): { count: number; end: number } {
    let end = start;
    for (const { item, key, ours } of made) {
      const recorded = flat[end];
      if (recorded && (recorded.key === key || (ours && !known.has(key) && isChanged(item, recorded.item)))) end++;
    }
    return { count: end - start, end };
  }
}

/** Given by a replay and no longer the same, as by a secret that was taken out since. Half of it does not count: it will be given again. */
function isChanged(item: Item, recorded: Item): boolean {
  if (item.type !== recorded.type) return false;
  if (isCall(item)) return item.call_id === recorded["call_id"];
  return !spokenText(recorded).startsWith(spokenText(item));
}

/** Items are equal when a model said the same; ids and states of a server do not matter. */
function keyOf(item: Item): string {
  const { id: _id, status: _status, ...said } = item;
  return JSON.stringify(said);
}

function spokenText(item: Item): string {
  if (isReasoning(item)) return [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join("");
  return textOf(item);
}

function* eventsOf(item: Item, index: number): Generator<ModelEvent> {
  if (isMessage(item)) {
    yield { type: "item.started", index, item: { ...item, content: [] } };
    for (const delta of pieces(textOf(item))) yield { type: "text.delta", index, delta };
  } else if (isReasoning(item)) {
    yield { type: "item.started", index, item: { type: "reasoning", summary: [] } };
    for (const [part, { text }] of item.summary.entries()) for (const delta of pieces(text)) yield { type: "reasoning.delta", index, delta, kind: "summary", part };
    for (const [part, { text }] of (item.content ?? []).entries()) for (const delta of pieces(text)) yield { type: "reasoning.delta", index, delta, kind: "raw", part };
  } else yield { type: "item.started", index, item };
  yield { type: "item.done", index, item };
}

function* pieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE, text.length);
    const last = text.charCodeAt(to - 1);
    if (last >= 0xd800 && last <= 0xdbff) to++;
    yield text.slice(from, to);
    from = to;
  }
}
