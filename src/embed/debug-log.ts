/**
 * Debug log, with `SKEIN_LOG=debug`: what this process does, one JSON object a line in `debug.log` of the home, 0600. It tells of requests,
 * tries, faults, calls and child processes; it holds nothing of what is said, read or run, and no secrets. Past 4 MiB it becomes
 * `debug.log.1`, and the one before that is gone. Failing to write it stops nothing.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Transport } from "../client/client.ts";
import type { Redactor } from "../core/redact.ts";
import { REQUESTS } from "../net/exchange.ts";
import type { Event } from "../protocol/event.ts";
import type { Message } from "../protocol/rpc.ts";

const LARGEST = 4 * 1024 * 1024;

export interface DebugLog {
  /** The same transport, whose messages are told. */
  tap(transport: Pick<Transport, "send" | "listen" | "close">): Transport;
  close(): void;
}

type Fields = Record<string, unknown>;

export function openDebugLog({ home, redactor }: { home: string; redactor: Redactor }): DebugLog {
  const file = join(home, "debug.log");
  const note = (what: string, fields: Fields): void => {
    try {
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LARGEST) renameSync(file, `${file}.1`);
      mkdirSync(home, { recursive: true, mode: 0o700 });
      // What follows the first line of a message may quote.
      const clean = (_key: string, value: unknown): unknown => (typeof value === "string" ? redactor.text(value.split("\n")[0]!).slice(0, 500) : value);
      appendFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), pid: process.pid, what, ...fields }, clean)}\n`, { mode: 0o600 });
    } catch {
      // It only informs.
    }
  };
  const onRequest = (message: unknown): void => note("request", message as Fields);
  // It has neither a name nor a number yet.
  const onProcess = (message: unknown): void => void setImmediate(() => noteProcess((message as { process: ChildProcess }).process, note));
  subscribe(REQUESTS, onRequest);
  subscribe("child_process", onProcess);
  note("opened", { node: process.versions.node });

  return {
    tap: (transport) => ({
      ...transport,
      send(message) {
        if ("method" in message && "id" in message) note("rpc", { id: message.id, method: message.method, ...threadOf(message.params) });
        transport.send(message);
      },
      listen(receive, closed) {
        transport.listen((message) => {
          noteMessage(message, note);
          receive(message);
        }, closed);
      },
    }),
    close() {
      unsubscribe(REQUESTS, onRequest);
      unsubscribe("child_process", onProcess);
      note("closed", {});
    },
  };
}

type Note = (what: string, fields: Fields) => void;

function noteProcess(child: ChildProcess, note: Note): void {
  const { pid, spawnfile: program } = child;
  note("process started", { child: pid ?? null, program });
  child.once("exit", (code, signal) => note("process ended", { child: pid ?? null, code, signal }));
}

function noteMessage(message: Message, note: Note): void {
  if (!("method" in message)) {
    if (message.error) note("rpc failed", { id: message.id, code: message.error.code, message: message.error.message });
  } else if (!("id" in message) && message.method === "event") {
    const told = eventFields(message.params.event);
    if (told) note(message.params.event.type, { thread: message.params.event.thread_id, ...told });
  }
}

/** Null for what is not told: most of all what is said. */
function eventFields(event: Event): Fields | null {
  switch (event.type) {
    case "turn/started":
      return { turn: event.turn_id };
    case "turn/retrying":
      return { attempt: event.attempt, code: event.code, message: event.message, retry_at: event.retry_at };
    case "turn/failed":
      return { code: event.code, message: event.message };
    case "turn/completed":
      return { turn: event.turn_id, status: event.status, ms: event.duration_ms };
    case "item/commandExecution/started":
      return { call: event.item_id };
    case "item/toolCall/started":
      return { call: event.item_id, tool: event.tool_name };
    case "item/completed":
      return event.result ? { call: event.item_id, kind: event.item_kind, status: event.result.status, exit: event.result.exit_code, ms: event.result.duration_ms } : null;
    case "warning":
    case "error":
    case "thread/closed":
      return { message: event.message };
    default:
      return null;
  }
}

function threadOf(params: unknown): Fields {
  const { thread, op } = (params ?? {}) as { thread?: unknown; op?: { type?: unknown } };
  return { ...(typeof thread === "string" ? { thread } : {}), ...(typeof op?.type === "string" ? { op: op.type } : {}) };
}
