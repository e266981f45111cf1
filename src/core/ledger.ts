/**
 * Ledger: what was asked, decided and done, taken from the log and not from a model's memory. It is folded along with history, frozen in
 * each compaction's record and put before the model after the summary, so that finished work is not done again.
 *
 * It is bounded where it is frozen (`freeze`): texts are shortened before anything is left out, and what is left out is counted.
 */
import { isCall, isMessage, textOf, type CallItem, type Item } from "../protocol/item.ts";
import type { Json } from "../protocol/json.ts";
import type { KnownRecord, Ledger, PlanStep } from "../protocol/record.ts";
import { capText } from "./cap.ts";
import { commandOf } from "./command.ts";
import { tokensOfText } from "./tokens.ts";

export function emptyLedger(): Ledger {
  return { asked: [], decided: [], read: {}, written: {}, ran: {} };
}

/** What calls and asks are about, while they are open. */
export interface Pending {
  calls: Map<string, string>;
  asks: Map<string, string>;
}

const LONGEST = 1000;

export function note(ledger: Ledger, pending: Pending, record: KnownRecord): void {
  switch (record.type) {
    case "item.added":
      if (isCall(record.item) && !record.partial) pending.calls.set(record.item.call_id, callText(record.item));
      return;
    case "call.requested":
      pending.calls.set(record.call, record.command);
      return;
    case "call.started":
      for (const action of record.actions ?? []) if (action.type === "read") ledger.read[action.path] ??= "";
      return;
    case "call.ended": {
      const command = pending.calls.get(record.call);
      pending.calls.delete(record.call);
      if (command !== undefined && record.exit !== undefined) renew(ledger.ran, short(command), record.exit);
      for (const { path, hash } of record.reads ?? []) renew(ledger.read, path, hash.slice(0, 12));
      return;
    }
    case "file.changed": {
      const path = typeof record.path === "string" ? record.path : record.path.base64;
      renew(ledger.written, path, record.after.kind === "file" ? record.after.hash.slice(0, 12) : record.after.kind);
      return;
    }
    case "ask.opened":
      // A summary that was looked over is no decision about the work.
      if (record.kind !== "summary" && record.kind !== "loop") pending.asks.set(record.ask, askText(record.body));
      return;
    case "ask.answered": {
      const asked = pending.asks.get(record.ask);
      pending.asks.delete(record.ask);
      if (asked !== undefined) ledger.decided.push(short(`${asked} → ${answerText(record.answer)}`));
      return;
    }
    default:
  }
}

export function noteInput(ledger: Ledger, items: readonly Item[]): void {
  for (const item of items) {
    const text = isMessage(item) && item.role === "user" ? textOf(item).trim() : "";
    if (text !== "") ledger.asked.push(short(text));
  }
}

/** The newest is last. */
function renew<T>(table: Record<string, T>, key: string, value: T): void {
  delete table[key];
  table[key] = value;
}

function short(text: string): string {
  return capText(text, LONGEST, (left) => `${left} characters left out`);
}

function callText(call: CallItem): string {
  return commandOf(call).command;
}

function askText(body: Json): string {
  const { shown, message } = (body ?? {}) as { shown?: { command?: Json; paths?: Json; tool?: Json; arguments?: Json }; message?: Json };
  if (typeof shown?.command === "string") return shown.command;
  if (Array.isArray(shown?.paths)) return `patch ${shown.paths.join(", ")}`;
  if (typeof shown?.tool === "string") return `${shown.tool} ${JSON.stringify(shown.arguments ?? null)}`;
  return typeof message === "string" ? message : JSON.stringify(body);
}

function answerText(answer: Json): string {
  const { decision, reason, action } = (typeof answer === "object" && answer !== null ? answer : { decision: answer }) as { decision?: Json; reason?: Json; action?: Json };
  const said = decision ?? action ?? answer;
  return `${typeof said === "string" ? said : JSON.stringify(said)}${typeof reason === "string" ? ` (${reason})` : ""}`;
}

/** The ledger as a compaction freezes it: with what is left to do, and within so many tokens. */
export function freeze(ledger: Ledger, plan: readonly PlanStep[], most: number): Ledger {
  const open = plan.filter((step) => step.status !== "completed").map((step) => short(step.step));
  const { open: _before, ...rest } = ledger;
  const whole: Ledger = { ...rest, ...(open.length > 0 ? { open } : {}) };
  for (const longest of [LONGEST, 500, 250, 120, 60]) {
    const fitted = cut(whole, longest);
    if (tokensOfText(render(fitted)) <= most) return fitted;
  }
  return leaveOut(cut(whole, 60), most);
}

function cut(ledger: Ledger, longest: number): Ledger {
  const line = (text: string) => (text.length <= longest ? text : `${text.slice(0, longest - 1)}…`);
  return {
    ...ledger,
    asked: ledger.asked.map(line),
    decided: ledger.decided.map(line),
    ran: Object.fromEntries(Object.entries(ledger.ran).map(([command, exit]) => [line(command), exit])),
    ...(ledger.open ? { open: ledger.open.map(line) } : {}),
  };
}

/** Halves the longest list, oldest first, until it fits. */
function leaveOut(ledger: Ledger, most: number): Ledger {
  let left = ledger;
  while (tokensOfText(render(left)) > most) {
    const sizes = { asked: left.asked.length, decided: left.decided.length, read: Object.keys(left.read).length, written: Object.keys(left.written).length, ran: Object.keys(left.ran).length };
    const [name, size] = Object.entries(sizes).toSorted(([, a], [, b]) => b - a)[0]! as [keyof typeof sizes, number];
    if (size === 0) return { ...emptyLedger(), omitted: left.omitted ?? 0 };
    const drop = Math.ceil(size / 4);
    const rest = left[name];
    const kept = Array.isArray(rest) ? rest.slice(drop) : Object.fromEntries(Object.entries(rest).slice(drop));
    left = { ...left, [name]: kept, omitted: (left.omitted ?? 0) + drop };
  }
  return left;
}

/** As the model reads it; empty when there is nothing to tell. */
export function render(ledger: Ledger): string {
  const list = (title: string, lines: readonly string[]) => (lines.length > 0 ? [`${title}:\n${lines.map((line) => `- ${line}`).join("\n")}`] : []);
  const files = (table: Readonly<Record<string, string>>) => Object.entries(table).map(([path, hash]) => (hash === "" ? path : `${path} (${hash})`));
  const sections = [
    ...list("Asked by the user", ledger.asked),
    ...list("Decided by the user", ledger.decided),
    ...list("Left to do", ledger.open ?? []),
    ...list("Files written (hash then)", files(ledger.written)),
    ...list("Files read (hash then)", files(ledger.read)),
    ...list("Commands run (last exit code)", Object.entries(ledger.ran).map(([command, exit]) => `${command} → ${exit}`)),
  ];
  if (sections.length === 0) return "";
  if (ledger.omitted) sections.push(`(${ledger.omitted} older entries are left out here; the log has them.)`);
  return `Ledger of this conversation so far, from its log. What stands here was done; do not do it again without a reason.\n\n${sections.join("\n\n")}`;
}
