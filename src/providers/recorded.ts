/**
 * What a recorded log holds for its replay: what the user said, turn by turn, what the model answered, and what its calls gave. Pure.
 * The records are the live ones, oldest first.
 *
 * A turn without any answer hands its input on to the next, as history does. Half an item is kept only where nothing better followed in
 * its turn.
 */
import { isCall, isOutput, textOf, type Item } from "../protocol/item.ts";
import type { KnownRecord, LogRecord, Usage } from "../protocol/record.ts";
import { asKnown } from "../core/known.ts";

export interface RecordedSample {
  items: Item[];
  usage: Usage | null;
}
export interface Recorded {
  /** The user's items of each turn that was answered. */
  inputs: Item[][];
  samples: RecordedSample[];
  /** By call id, as the model got it. */
  outputs: Map<string, string>;
  /** What whoever plays it should know. */
  notice?: string;
}

export function samplesOf(records: Iterable<LogRecord>): Recorded {
  const dropped = new Set<string>();
  const known: KnownRecord[] = [];
  for (const record of records) {
    const body = asKnown(record);
    if (!body) continue;
    known.push(body);
    if (body.type === "item.dropped") for (const id of body.items) dropped.add(id);
  }

  const recorded: Recorded = { inputs: [], samples: [], outputs: new Map() };
  const queued = new Map<number, Item[]>();
  let input: Item[] = [];
  let answered = false;
  let sample: (RecordedSample & { halves: Item[] }) | null = null;
  /** Of the last sample, until a whole one follows in the turn. */
  let halves: Item[] = [];
  const add = ({ items, usage }: RecordedSample) => {
    if (items.length === 0) return;
    recorded.samples.push({ items, usage });
    answered = true;
    halves = [];
  };
  const closeTurn = () => {
    if (halves.length > 0) add({ items: halves, usage: null });
    if (answered) {
      recorded.inputs.push(input);
      input = [];
    }
    answered = false;
  };
  for (const record of known) {
    switch (record.type) {
      case "input.queued":
      case "input.changed":
        queued.set(record.seq, record.items);
        break;
      case "turn.started":
        closeTurn();
        for (const seq of record.inputs) input.push(...(queued.get(seq) ?? []));
        break;
      case "input.taken":
        input.push(...(queued.get(record.from) ?? []));
        break;
      case "sample.started":
        sample = record.purpose === "compact" ? null : { items: [], usage: null, halves: [] };
        break;
      case "item.added":
        if (sample && !dropped.has(record.id)) (record.partial ? sample.halves : sample.items).push(record.item);
        break;
      case "sample.ended":
        if (sample) {
          add({ items: sample.items, usage: record.usage ?? null });
          if (sample.items.length === 0) halves = sample.halves;
        }
        sample = null;
        break;
      case "call.ended":
        if (isOutput(record.output) && !recorded.outputs.has(record.call)) recorded.outputs.set(record.call, textOf(record.output));
        break;
      case "turn.ended":
        closeTurn();
        break;
      default:
    }
  }
  if (sample) add(sample);
  closeTurn();
  return recorded;
}

/** Whether a model made it, of the kinds that go back to a model. */
export function isModelMade(item: Item): boolean {
  if (item.type === "message") return item["role"] === "assistant" && Array.isArray(item["content"]) && item["content"].length > 0;
  return isCall(item) || (item.type === "reasoning" && Array.isArray(item["summary"])) || item.type === "web_search_call";
}
