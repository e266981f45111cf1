/**
 * Calls on the wire.
 *
 * Ids. In a request every call has an id of its own, short enough and of letters that every API takes, and its output has the same.
 * Ids are handed out in order of the history, so that a longer history gives its beginning the same ids. In an answer, a call without
 * an id, or with one that the history already has, gets `call_<n>`.
 */
import { isCall, isMessage, isOutput, type CallItem, type Item, type Origin } from "../protocol/item.ts";
import type { VisibleItem } from "../core/history.ts";
import { isObject, parsed } from "./json.ts";

export interface Paired {
  item: Item;
  origin: Origin | null;
  /** The id on the wire; null where the item is neither call nor output. */
  id: string | null;
}

/**
 * The history with ids for the wire. An output without its call and a call without its output are left out, and what was said
 * between the two by anyone but the model comes after the outputs.
 */
export function paired(input: readonly VisibleItem[], longest: number): Paired[] {
  const ids = wireIds(input, longest);
  const result: Paired[] = [];
  let held: Paired[] = [];
  let open = 0;
  input.forEach(({ item, origin }, index) => {
    const id = ids[index] ?? null;
    const entry = { item, origin, id };
    if (isCall(item)) {
      if (id === null) return;
      open += 1;
      result.push(entry);
    } else if (isOutput(item)) {
      if (id === null) return;
      open -= 1;
      result.push(entry);
      if (open > 0) return;
      result.push(...held);
      held = [];
    } else if (open > 0 && isMessage(item) && item.role !== "assistant") held.push(entry);
    else result.push(entry);
  });
  return result;
}

function wireIds(input: readonly VisibleItem[], longest: number): (string | null)[] {
  const ids: (string | null)[] = input.map(() => null);
  const waiting = new Map<string, number[]>();
  const answers = new Map<number, number>();
  input.forEach(({ item }, index) => {
    if (isCall(item)) waiting.set(item.call_id, [...(waiting.get(item.call_id) ?? []), index]);
    else if (isOutput(item)) {
      const call = waiting.get(item.call_id)?.shift();
      if (call !== undefined) answers.set(call, index);
    }
  });
  const used = new Set<string>();
  input.forEach(({ item }, index) => {
    const answer = answers.get(index);
    if (!isCall(item) || answer === undefined) return;
    const id = unusedId(item.call_id, used, longest);
    used.add(id);
    ids[index] = ids[answer] = id;
  });
  return ids;
}

function unusedId(given: string, used: ReadonlySet<string>, longest: number): string {
  const clean = given.replace(/[^a-zA-Z0-9_-]/gu, "_");
  const base = clean === "" ? "call" : clean;
  if (clean !== "" && clean.length <= longest && !used.has(clean)) return clean;
  for (let n = 1; ; n++) {
    const end = `_${n}`;
    const id = base.slice(0, longest - end.length) + end;
    if (!used.has(id)) return id;
  }
}

/** Names for the calls of an answer to `input`. */
export function answerIds(input: readonly VisibleItem[]): (given: unknown) => string {
  const used = new Set<string>();
  for (const { item } of input) if (isCall(item)) used.add(item.call_id);
  let n = 0;
  return (given) => {
    let id = typeof given === "string" ? given : "";
    while (id === "" || used.has(id)) id = `call_${++n}`;
    used.add(id);
    return id;
  };
}

/** A name that every API takes in its history, whatever the model made up. */
export function nameOf(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9_-]/gu, "_").slice(0, 64);
  return clean === "" ? "unknown" : clean;
}

/** The call as a function: its arguments as an object. What is no object is wrapped in one, as `input`. */
export const argumentsOf = remembered((call): object => {
  if (call.type === "custom_tool_call") return { input: call.input };
  if (call.type === "local_shell_call") return asArguments(call.action ?? {});
  const text = call.arguments;
  if (text.trim() === "") return {};
  const value = parsed(text);
  return value === undefined || !canBeWritten(value) ? { input: text } : asArguments(value);
});

/** The same as JSON text: what the model wrote, where that is an object. */
export const argumentsText = remembered((call): string => {
  if (call.type === "function_call" && isObject(parsed(call.arguments))) return call.arguments;
  return JSON.stringify(argumentsOf(call));
});

/** Every request has all calls of the history again; a call never changes. */
function remembered<T>(read: (call: CallItem) => T): (call: CallItem) => T {
  const known = new WeakMap<CallItem, T>();
  return (call) => {
    const found = known.get(call) ?? read(call);
    known.set(call, found);
    return found;
  };
}

function asArguments(value: unknown): object {
  return isObject(value) ? value : { input: value };
}

/** JSON.parse goes deeper than JSON.stringify can follow. */
function canBeWritten(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
