/** `skein compact`: puts a summary in the place of a thread's older history, shows beforehand what that would do, or takes it back. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../client/client.ts";
import type { Event } from "../protocol/event.ts";
import type { Json } from "../protocol/json.ts";
import type { CompactionPreview } from "../protocol/library.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Shell, type Wish } from "./shell.ts";

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
  if (!request.last && request.id === null) throw new UserError("Which thread? Give its id, or --last.", EXIT.usage);
  if ([request.preview, request.edit, request.undo].filter(Boolean).length > 1) throw new UserError("--preview, --edit and --undo are three different things; give one of them.", EXIT.usage);
  const editor = request.edit ? editorOf(shell) : null;
  const connected = await shell.connect({ ...request.wish, mode: request.preview ? "read" : "exec" });
  try {
    const { client } = connected;
    const thread = await resolveThread(client, request);
    if (request.preview) return await preview({ client, thread, json: request.json }, shell);
    const resumed = await client.call("thread/resume", { thread });
    try {
      if (request.undo) return await undo({ client, thread, json: request.json }, shell);
      const changes = connected.changes(resumed.settings);
      if (Object.keys(changes).length > 0) await client.submit(thread, { id: randomUUID(), type: "override_settings", settings: changes });
      return await perform({ client, thread, after: resumed.cursor, request, editor }, shell);
    } finally {
      await client.call("thread/close", { thread }).catch(() => {});
    }
  } finally {
    await connected.close();
  }
}

async function preview({ client, thread, json }: { client: Client; thread: string; json: boolean }, shell: Shell): Promise<number> {
  const found = await client.call("thread/previewCompaction", { thread });
  shell.stdout.write(json ? `${JSON.stringify(found)}\n` : previewText(found));
  return EXIT.done;
}

function previewText({ goes, stays, tokens, strategy, window, limit, ledger }: CompactionPreview): string {
  if (goes.items === 0) return "There is nothing to compact: all of the history would be kept.\n";
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

async function undo({ client, thread, json }: { client: Client; thread: string; json: boolean }, shell: Shell): Promise<number> {
  await client.submit(thread, { id: randomUUID(), type: "restore_history" });
  if (json) shell.stdout.write(`${JSON.stringify({ thread, restored: true })}\n`);
  else shell.stderr.write("The last compaction was taken back: the next request holds the full history again.\n");
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
    for await (const event of events) {
      if (event.type === "approval/requested" && event.kind === "summary") {
        await client.submit(thread, { id: randomUUID(), type: "answer", ask: event.approval_id, answer: reviewed(event.body, editor!) });
      }
      if (event.type === "warning" || event.type === "error") shell.stderr.write(`${event.message}\n`);
      if (event.type === "thread/compacted") {
        done = true;
        report(event, { thread, json: request.json, shell });
      }
      if (event.type === "turn/failed") shell.stderr.write(`skein: ${event.message}\n`);
      if (event.type === "turn/completed") return done ? EXIT.done : event.status === "cancelled" ? EXIT.interrupted : event.status === "failed" ? EXIT.failed : dropped(shell);
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

function dropped(shell: Shell): number {
  shell.stderr.write("The summary was empty, so nothing was compacted.\n");
  return EXIT.done;
}

function editorOf(shell: Shell): string {
  const editor = shell.env["VISUAL"] ?? shell.env["EDITOR"];
  if (!editor) throw new UserError("--edit opens the summary in your editor; set VISUAL or EDITOR. Nothing was changed.", EXIT.usage);
  return editor;
}

/** An emptied file means: leave it. */
function reviewed(body: Json, editor: string): Json {
  const folder = mkdtempSync(join(tmpdir(), "skein-summary-"));
  const file = join(folder, "summary.md");
  try {
    writeFileSync(file, (body as { text: string }).text, { mode: 0o600 });
    const { status } = spawnSync("/bin/sh", ["-c", `${editor} "$0"`, file], { stdio: "inherit" });
    const text = readFileSync(file, "utf8");
    return status === 0 && text.trim() !== "" ? { decision: "yes", text } : { decision: "no" };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
