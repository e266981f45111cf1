/** `skein compact`: puts a summary in the place of a thread's older history, shows beforehand what that would do, or takes it back. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../client/client.ts";
import { NOTHING_TO_COMPACT } from "../core/compact.ts";
import type { Event } from "../protocol/event.ts";
import type { Json } from "../protocol/json.ts";
import type { CompactionPreview } from "../protocol/library.ts";
import type { ResumedThread } from "../protocol/rpc.ts";
import { changesOf } from "./changes.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Connected, type Shell, type Wish } from "./shell.ts";

export interface CompactRequest {
  wish: Wish;
  id: string | null;
  last: boolean;
  instructions: string | null;
  preview: boolean;
  edit: boolean;
  undo: boolean;
  json: boolean;
}

export async function compact(request: CompactRequest, shell: Shell): Promise<number> {
  check(request);
  const editor = request.edit ? editorOf(shell) : null;
  const connected = await shell.connect({ ...request.wish, mode: request.preview ? "read" : "exec" });
  try {
    const { client } = connected;
    const thread = await resolveThread(client, request);
    if (request.preview) return await preview({ connected, thread, json: request.json }, shell);
    const resumed = await client.call("thread/resume", { thread });
    try {
      const after = await endLeftOver(client, resumed);
      const changes = changesOf(connected, resumed.settings);
      if (Object.keys(changes).length > 0) await client.submit(thread, { id: randomUUID(), type: "override_settings", settings: changes });
      if (request.undo) return await undo({ client, thread, after, json: request.json }, shell);
      return await perform({ client, thread, after, request, editor }, shell);
    } finally {
      await client.call("thread/close", { thread }).catch(() => {});
    }
  } finally {
    await connected.close();
  }
}

function check({ last, id, preview: previews, edit, undo: undoes, instructions }: CompactRequest): void {
  if (!last && id === null) throw new UserError("Which thread? Give its id, or --last.", EXIT.usage);
  if ([previews, edit, undoes].filter(Boolean).length > 1) throw new UserError("--preview, --edit and --undo are three different things; give one of them.", EXIT.usage);
  if (instructions !== null && (previews || undoes)) throw new UserError(`"${instructions}" would be a wish for a summary, and ${previews ? "--preview" : "--undo"} makes none.`, EXIT.usage);
}

/** A compaction that was cut off (its terminal closed, its editor killed) is called off. Gives the cursor from which to listen. */
async function endLeftOver(client: Client, { thread, cursor, parked }: ResumedThread): Promise<string> {
  const { compacting } = await client.call("thread/status", { thread });
  if (parked === null || !compacting) return cursor;
  await client.submit(thread, { id: randomUUID(), type: "interrupt" });
  for await (const event of client.events(thread, cursor, new AbortController().signal)) if (event.type === "turn/completed") return event.cursor ?? cursor;
  return cursor;
}

async function preview({ connected, thread, json }: { connected: Connected; thread: string; json: boolean }, shell: Shell): Promise<number> {
  const { client } = connected;
  const { settings } = await client.call("thread/status", { thread });
  const found = await client.call("thread/previewCompaction", { thread, settings: changesOf(connected, settings) });
  shell.stdout.write(json ? `${JSON.stringify(found)}\n` : previewText(found));
  return EXIT.done;
}

function previewText({ goes, stays, tokens, strategy, window, limit, ledger }: CompactionPreview): string {
  if (goes.items === 0) return `${NOTHING_TO_COMPACT}\n`;
  const part = (name: string, { turns, items, tokens: size }: CompactionPreview["goes"]) => `${name}  ${items} items of ${turns} turns, about ${size} tokens`;
  return [
    `before     about ${tokens.before} tokens (${window === null ? "window unknown" : `window ${window}`}, compacted by itself past ${limit})`,
    `after      at most about ${tokens.after} tokens`,
    part("goes     ", goes),
    part("stays    ", stays),
    `strategy   ${strategy}`,
    "",
    ledger === "" ? "" : `The model will be shown, beside the summary:\n\n${ledger}\n`,
  ].join("\n");
}

async function undo({ client, thread, after, json }: { client: Client; thread: string; after: string; json: boolean }, shell: Shell): Promise<number> {
  const stop = new AbortController();
  const events = client.events(thread, after, stop.signal);
  await client.submit(thread, { id: randomUUID(), type: "restore_history" });
  for await (const event of events) {
    if (event.type !== "thread/restored") continue;
    if (json) shell.stdout.write(`${JSON.stringify({ thread, restored: true })}\n`);
    else shell.stderr.write(`${event.message}\n`);
    break;
  }
  stop.abort();
  return EXIT.done;
}

interface Running {
  client: Client;
  thread: string;
  after: string;
  request: CompactRequest;
  editor: string | null;
}

async function perform({ client, thread, after, request, editor }: Running, shell: Shell): Promise<number> {
  const stop = new AbortController();
  const interrupt = () => void client.submit(thread, { id: randomUUID(), type: "interrupt" }).catch(() => stop.abort());
  process.once("SIGINT", interrupt);
  try {
    const events = client.events(thread, after, stop.signal);
    const instructions = request.instructions === null ? {} : { instructions: request.instructions };
    await client.submit(thread, { id: randomUUID(), type: "compact", ...instructions, ...(editor === null ? {} : { review: true }) });
    if (shell.stderr.isTTY) shell.stderr.write("Summarising …\n");
    let done = false;
    let editing: string | null = null;
    for await (const event of events) {
      if (event.type === "approval/requested" && event.kind === "summary") {
        const { answer, problem } = reviewed((event.body as { text: string }).text, editor!);
        editing = problem;
        await client.submit(thread, { id: randomUUID(), type: "answer", ask: event.approval_id, answer });
      }
      if (event.type === "warning" || event.type === "error" || event.type === "turn/retrying") shell.stderr.write(`${event.message}\n`);
      if (event.type === "thread/compacted") {
        done = true;
        report(event, { thread, json: request.json, shell });
      }
      if (event.type === "turn/failed") shell.stderr.write(`skein: ${event.message}\n`);
      if (event.type === "turn/completed") return done ? EXIT.done : event.status === "cancelled" ? EXIT.interrupted : event.status === "failed" ? EXIT.failed : dropped(editing, shell);
    }
    return EXIT.failed;
  } finally {
    stop.abort();
    process.off("SIGINT", interrupt);
  }
}

function report({ old_token_count: before, new_token_count: tokens, strategy }: Extract<Event, { type: "thread/compacted" }>, given: { thread: string; json: boolean; shell: Shell }): void {
  const { thread, json, shell } = given;
  if (json) shell.stdout.write(`${JSON.stringify({ thread, tokens: { before, after: tokens }, strategy })}\n`);
  else shell.stderr.write(`Compacted (${strategy}): about ${before} → ${tokens} tokens. Everything is still in the log; \`skein compact ${thread} --undo\` takes it back.\n`);
}

function dropped(problem: string | null, shell: Shell): number {
  shell.stderr.write(`${problem ?? "The summary was emptied, so"} nothing was compacted.\n`);
  return problem === null ? EXIT.done : EXIT.failed;
}

function editorOf(shell: Shell): string {
  const editor = shell.env["VISUAL"] || shell.env["EDITOR"];
  if (!editor) throw new UserError("--edit opens the summary in your editor; set VISUAL or EDITOR. Nothing was changed.", EXIT.usage);
  return editor;
}

/** An emptied file means: leave it. */
function reviewed(text: string, editor: string): { answer: Json; problem: string | null } {
  const folder = mkdtempSync(join(tmpdir(), "skein-summary-"));
  const file = join(folder, "summary.md");
  try {
    writeFileSync(file, text, { mode: 0o600 });
    const { status, signal } = spawnSync("/bin/sh", ["-c", `${editor} "$0"`, file], { stdio: "inherit" });
    if (status !== 0) return { answer: { decision: "no" }, problem: `The editor (${editor}) ended with ${signal ?? `exit code ${status}`}:` };
    const edited = readFileSync(file, "utf8");
    return { answer: edited.trim() === "" ? { decision: "no" } : { decision: "yes", text: edited }, problem: null };
  } catch (error) {
    return { answer: { decision: "no" }, problem: `The summary could not be edited (${error instanceof Error ? error.message : String(error)}):` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
