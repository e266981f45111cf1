/** Session folders made with plain file writes, as a writer leaves them. */
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "../../../src/protocol/codec.ts";
import { userText, type Item } from "../../../src/protocol/item.ts";
import type { ThreadSummary } from "../../../src/protocol/library.ts";
import type { Draft, Source, ThreadId } from "../../../src/protocol/record.ts";
import { sealLine, sealOf } from "../../../src/stores/file/line.ts";

/** A UUID of version 7, made at `ms`, whose rest follows from `rest`. */
export function idAt(ms: number, rest = 0): ThreadId {
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${rest.toString(16).padStart(12, "0")}`;
}

export interface SessionShape {
  id: ThreadId;
  title?: string | null;
  preview?: string | null;
  source?: Source;
  provider?: string;
  cwd?: string;
  drafts?: Draft[];
  /** Without it the log ends with `writer.closed`. */
  open?: boolean;
}

export function summaryOf(shape: SessionShape): ThreadSummary {
  return {
    id: shape.id,
    title: shape.title ?? null,
    preview: shape.preview ?? null,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:01.000Z",
    model: "m",
    model_provider: shape.provider ?? "openai",
    cwd: shape.cwd ?? "/w",
    session_source: shape.source ?? "exec",
    status: "complete",
    resumed: false,
    forked: false,
    approval_policy: "never",
    sandbox_mode: "read-only",
    total_tokens: 0,
    turns: 1,
    parent: null,
  };
}

export function folderOf(home: string, id: ThreadId, { archived = false } = {}): string {
  return join(home, archived ? "archive" : "sessions", id);
}

export function makeSession(home: string, shape: SessionShape, where: { archived?: boolean } = {}): string {
  const folder = folderOf(home, shape.id, where);
  const pending = join(home, `.making-${shape.id}`);
  mkdirSync(join(folder, ".."), { recursive: true });
  mkdirSync(pending, { recursive: true });
  writeFileSync(join(pending, "rollout.jsonl"), linesOf(shape));
  writeSummary(pending, shape);
  renameSync(pending, folder);
  return folder;
}

export function writeSummary(folder: string, shape: SessionShape): void {
  writeFileSync(join(folder, ".m"), JSON.stringify(summaryOf(shape), null, 2));
  renameSync(join(folder, ".m"), join(folder, "metadata.json"));
}

export function appendDrafts(folder: string, { id, seq, drafts }: { id: ThreadId; seq: number; drafts: Draft[] }): void {
  appendFileSync(join(folder, "rollout.jsonl"), sealed(id, seq, drafts));
}

export function removeSession(home: string, id: ThreadId): void {
  for (const archived of [false, true]) rmSync(folderOf(home, id, { archived }), { recursive: true, force: true });
}

function linesOf(shape: SessionShape): Buffer {
  const { id, provider = "openai", cwd = "/w", source = "exec" } = shape;
  const settings = { model: "m", model_provider: provider, cwd, approval_policy: "never", sandbox_mode: "read-only" } as const;
  const drafts: Draft[] = [
    { type: "thread.created", id, base: null, source, settings },
    { type: "writer.opened", epoch: 1, pid: 1, host: "h" },
    ...(shape.drafts ?? []),
    ...(shape.open ? [] : [{ type: "writer.closed" } as const]),
  ];
  return sealed(id, 0, drafts);
}

function sealed(id: ThreadId, seq: number, drafts: Draft[]): Buffer {
  const seal = sealOf(id);
  return Buffer.concat(drafts.map((draft, index) => sealLine(encode(draft, { seq: seq + index, at: "2026-01-01T00:00:00.000Z" }), seal)));
}

export function said(text: string): Draft {
  return { type: "input.queued", op: "o", items: [userText(text)], deliver: "next" };
}
export function answered(text: string): Draft {
  return { type: "item.added", id: "i", item: { type: "message", role: "assistant", content: [{ type: "output_text", text }] } satisfies Item };
}
export function ran(cmd: string): Draft {
  return { type: "item.added", id: "c", item: { type: "function_call", call_id: "c", name: "exec_command", arguments: JSON.stringify({ cmd }) } };
}
export function printed(output: string): Draft {
  return { type: "call.ended", call: "c", tool: "exec_command", status: "done", output: { type: "function_call_output", call_id: "c", output } };
}
