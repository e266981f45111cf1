/**
 * History: what the model has said and been told since `base.from`, and the one list of items that a request is built from.
 *
 * Two steps. `remember` collects entries as records pass. `visible` turns them into items that every provider accepts, for any
 * log whatever: each call has exactly one output, outputs follow their batch in call order, an output without a call is
 * dropped, system messages and unknown kinds are left out. The same entries give the same bytes.
 */
import { isCall, isMessage, isOutput, isReasoning, isWebSearch, outputFor, userText, type CallItem, type ContentPart, type Item, type Origin } from "../protocol/item.ts";
import type { HistoryBase, ItemId, KnownRecord, Ledger, TurnId } from "../protocol/record.ts";
import { emptyLedger, note, noteInput, render, type Pending } from "./ledger.ts";

export interface Entry {
  seq: number;
  id: ItemId;
  turn: TurnId | null;
  /** The sample that made it; null for input, context and outputs. */
  sample: number | null;
  origin: Origin | null;
  item: Item;
}

export interface History {
  /** Stands for everything before `entries`; `madeBy` made what is opaque in it. */
  summary: Item[];
  madeBy: Origin | null;
  entries: Entry[];
  sample: number | null;
  origin: Origin | null;
  /** What was done so far, and what of it is still open. */
  ledger: Ledger;
  pending: Pending;
  /** The ledger as the compaction in force froze it: the model is shown this one, so that requests keep their beginning. */
  shown: Ledger | null;
}

export const UNANSWERED = "No output of this call was recorded: outcome unknown. It was not run again.";

export function emptyHistory(): History {
  return { summary: [], madeBy: null, entries: [], sample: null, origin: null, ledger: emptyLedger(), pending: { calls: new Map(), asks: new Map() }, shown: null };
}

/** Items of the input record at `seq`. */
export type InputItems = (seq: number) => readonly Item[] | undefined;

/** Collects what `record` adds to history. `applies` says whether a compaction is the one in force. */
export function remember(history: History, record: KnownRecord, look: { input: InputItems; applies: (compaction: number) => boolean }): void {
  const { entries } = history;
  const turn = record.turn ?? null;
  const add = (items: readonly Item[], first = 0) => {
    let index = first;
    for (const item of items) entries.push({ seq: record.seq, id: `${record.seq}.${index++}`, turn, sample: null, origin: null, item });
    return index;
  };
  note(history.ledger, history.pending, record);
  const input = (seq: number): readonly Item[] => {
    const items = look.input(seq) ?? [];
    noteInput(history.ledger, items);
    return items;
  };
  switch (record.type) {
    case "turn.started": {
      history.origin = null;
      history.sample = null;
      let index = 0;
      for (const seq of record.inputs) index = add(input(seq), index);
      return;
    }
    case "input.taken":
      add(input(record.from));
      return;
    case "context.changed": {
      // A turn's context is recorded with its start, and comes before what the user said.
      const at = entries.findIndex((entry) => entry.seq === record.seq - 1 && entry.turn === turn && entry.sample === null);
      const said = at < 0 ? [] : entries.splice(at);
      add(record.items);
      entries.push(...said);
      return;
    }
    case "sample.started":
      history.sample = record.seq;
      if (record.origin) history.origin = record.origin;
      return;
    case "sample.ended":
      history.sample = null;
      return;
    case "item.added":
      entries.push({ seq: record.seq, id: record.id, turn, sample: history.sample ?? -1, origin: history.origin, item: record.item });
      return;
    case "item.dropped": {
      const gone = new Set(record.items);
      if (record.part === "images") history.entries = entries.map((entry) => (gone.has(entry.id) ? { ...entry, item: withoutImages(entry.item) } : entry));
      else history.entries = entries.filter((entry) => !gone.has(entry.id));
      return;
    }
    case "call.ended":
      // A message is what the user's own command gave.
      entries.push({ seq: record.seq, id: `${record.call}:out`, turn, sample: null, origin: null, item: record.output });
      return;
    case "history.compacted":
      history.origin = null;
      history.sample = null;
      if (!look.applies(record.seq)) return;
      history.summary = record.summary;
      history.madeBy = record.madeBy ?? null;
      history.shown = record.ledger ?? null;
      history.ledger = record.ledger ? structuredClone(record.ledger) : emptyLedger();
      history.pending = { calls: new Map(), asks: new Map() };
      history.entries = entries.filter((entry) => entry.seq >= record.keepFrom);
      return;
    default:
  }
}

/** History from the live records at or after `base.from`, oldest first; records before it only serve to find input items. */
export function historyFrom(records: Iterable<KnownRecord>, base: HistoryBase): History {
  const history = { ...emptyHistory(), origin: base.origin ?? null };
  const inputs = new Map<number, readonly Item[]>();
  for (const record of records) {
    if (record.type === "input.queued" || record.type === "input.changed") inputs.set(record.seq, record.items);
    if (record.seq < base.from) continue;
    remember(history, record, { input: (seq) => inputs.get(seq), applies: (seq) => seq === base.compaction });
  }
  return history;
}

export interface VisibleItem {
  item: Item;
  origin: Origin | null;
}

/** The items that go to a model. */
export function visible(history: Pick<History, "summary" | "entries"> & Partial<Pick<History, "shown" | "madeBy">>): VisibleItem[] {
  const shown: VisibleItem[] = [];
  let batch: OpenBatch = { sample: null, calls: [], outputs: [], held: [] };
  const flush = () => {
    batch.calls.forEach((call, index) => {
      shown.push({ item: batch.outputs[index] ?? outputFor(call, UNANSWERED), origin: null });
    });
    shown.push(...batch.held);
    batch = { sample: null, calls: [], outputs: [], held: [] };
  };
  const summary = [...history.summary, ...ledgerItems(history.shown)].map((item) => ({ item, sample: null, origin: history.madeBy ?? null }));
  for (const entry of [...summary, ...history.entries]) {
    const { item } = entry;
    if (isOutput(item)) {
      const index = batch.calls.findIndex((call, at) => call.call_id === item.call_id && answers(item.type, call) && !batch.outputs[at]);
      if (index >= 0) batch.outputs[index] = item;
      continue;
    }
    if (!isShown(item) && !(isOpaqueSummary(item) && entry.origin !== null)) continue;
    // What is said while calls are open comes after their outputs.
    if (entry.sample === null && isMessage(item) && batch.calls.some((_call, at) => !batch.outputs[at])) {
      batch.held.push({ item, origin: entry.origin });
      continue;
    }
    const sameBatch = entry.sample !== null && entry.sample === batch.sample;
    if (batch.calls.length > 0 && !sameBatch) flush();
    if (isCall(item)) {
      if (batch.calls.some((call) => call.call_id === item.call_id)) continue;
      batch.sample = entry.sample;
      batch.calls.push(item);
    }
    shown.push({ item, origin: entry.origin });
  }
  flush();
  return shown;
}

function ledgerItems(ledger: Ledger | null | undefined): Item[] {
  const text = ledger ? render(ledger) : "";
  return text === "" ? [] : [userText(text)];
}

/** The item with a note in place of each image. */
function withoutImages(item: Item): Item {
  const strip = (parts: readonly ContentPart[]): ContentPart[] => parts.map((part) => (part.type === "input_image" ? { type: "input_text", text: "[an image that could not be sent]" } : part));
  if (isMessage(item)) return { ...item, content: strip(item.content) };
  return isOutput(item) && typeof item.output !== "string" ? { ...item, output: strip(item.output) } : item;
}

interface OpenBatch {
  sample: number | null;
  calls: CallItem[];
  /** Sparse: by index of the call. */
  outputs: Item[];
  held: VisibleItem[];
}

function answers(type: string, call: CallItem): boolean {
  return (type === "custom_tool_call_output") === (call.type === "custom_tool_call");
}

/** What a provider made of a whole conversation, for itself. */
function isOpaqueSummary(item: Item): boolean {
  return typeof item === "object" && item !== null && item.type === "compaction" && typeof item["encrypted_content"] === "string";
}

function isShown(item: Item): boolean {
  if (isMessage(item)) return item.role !== "system" && item.content.length > 0;
  return isCall(item) || isReasoning(item) || isWebSearch(item);
}
