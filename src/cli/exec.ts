/**
 * `skein exec`: one headless turn, or the turns of a recording one after the other. A client like any other: it starts or resumes a thread,
 * sends the prompt as an op, and renders events until the turn has ended. Whatever happens, a run ends with exactly one terminal line and the
 * exit code that fits it.
 */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { textOf, userText, type Item } from "../protocol/item.ts";
import type { Event } from "../protocol/event.ts";
import type { Json } from "../protocol/json.ts";
import type { Client } from "../client/client.ts";
import { expected } from "./explain.ts";
import { readAttachments, type Attachments } from "./attachments.ts";
import { checkWritable, createOutput, type Output } from "./exec-output.ts";
import { isPrompt, readPrompt } from "./exec-prompt.ts";
import { createStop, StoppedError, type Stop } from "./exec-stop.ts";
import { opId, openThread, type Opening } from "./exec-thread.ts";
import { EXIT, UserError, type Connected, type Shell, type Wish } from "./shell.ts";

export interface ExecRequest extends Opening {
  wish: Wish;
  prompt: string | null;
  json: boolean;
  quiet: boolean;
  skipGitCheck: boolean;
  timeoutSeconds: number | null;
  images: string[];
  schemaFile: string | null;
  lastMessageFile: string | null;
  /** The thread or log that is its own model (replay.ts). */
  replay?: string;
}

const UNWIND_MS = 1000;

export async function exec(request: ExecRequest, shell: Shell): Promise<number> {
  const { json, quiet } = request;
  const lastMessageFile = request.lastMessageFile === null ? null : resolve(shell.cwd, request.lastMessageFile);
  const output = createOutput({ json, quiet, lastMessageFile, shell, broken: (why) => stop.now(why) });
  const stop = createStop({ timeoutSeconds: request.timeoutSeconds, onImpatience: () => output.fail("Ended at once, by a second signal. What was acknowledged is kept; resume the thread to go on.") });
  const onBug = (error: unknown): void => {
    output.fail(`A bug in Skein ended the run; what was acknowledged is kept. ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(EXIT.failed);
  };
  process.on("uncaughtException", onBug);
  try {
    if (lastMessageFile !== null) checkWritable(lastMessageFile);
    return await perform({ request, shell, output, stop });
  } catch (error) {
    const failure = explain(stop.why ? new StoppedError(stop.why) : error);
    if (failure.exit !== EXIT.done) output.fail(failure.message);
    // Stopped before there was a turn: what was under way is not waited for longer than this.
    if (stop.why) setTimeout(() => process.exit(failure.exit), UNWIND_MS).unref();
    return failure.exit;
  } finally {
    process.off("uncaughtException", onBug);
    stop.dispose();
    output.dispose();
  }
}

interface Given {
  request: ExecRequest;
  shell: Shell;
  output: Output;
  stop: Stop;
}

async function perform({ request, shell, output, stop }: Given): Promise<number> {
  const { ephemeral, resume } = request;
  if (ephemeral && resume) throw new UserError("--ephemeral is for a new thread: one that is resumed is on disk already.", EXIT.usage);
  const attached = readAttachments(request, shell.cwd);
  const { wish, prompts } = await whatToSend({ request, attached, shell, stop });
  const cwd = resolve(shell.cwd, wish.cd ?? ".");
  if (cwd.includes("\ufffd") && !existsSync(cwd)) {
    throw new UserError(`The name of the folder ${cwd} is not valid UTF-8, so it cannot be recorded. Nothing was started; rename it, or name another with --cd.`, EXIT.usage);
  }
  if (wish.cd !== undefined && !existsSync(cwd)) throw new UserError(`--cd: the folder ${cwd} does not exist.`, EXIT.usage);
  if (!request.skipGitCheck && !wish.bypass && (!resume || wish.cd !== undefined) && !insideGit(cwd)) {
    throw new UserError(`${cwd} is not inside a git repository, so changes could not be reviewed or undone with git.\nRun it in one, or add --skip-git-repo-check.`, EXIT.usage);
  }
  const connected = await orStopped(shell.connect(wish), stop);
  try {
    for (const warning of connected.warnings) output.warn(warning);
    stop.check();
    return await runTurns({ request, connected, output, shell, stop, prompts, attached });
  } finally {
    stop.done();
    await connected.close().catch((error: unknown) => output.warn(`Closing failed: ${explain(error).message}`));
  }
}

async function whatToSend({ request, attached, shell, stop }: Omit<Given, "output"> & { attached: Attachments }): Promise<{ wish: Wish; prompts: readonly string[] }> {
  const { wish, prompt: argument } = request;
  const recording = request.replay === undefined ? null : await orStopped((await import("./replay.ts")).openRecording(request.replay, { wish, resumes: request.resume !== null, shell }), stop);
  if (recording && argument === null) return recording;
  if (recording && isPrompt(argument)) return { wish: recording.wish, prompts: [argument] };
  const prompt = await readPrompt({ argument, mayBeEmpty: attached.images.length > 0, quiet: request.quiet, shell, stopped: stop.signal });
  return { wish: recording?.wish ?? wish, prompts: [prompt] };
}

interface Run extends Given {
  connected: Connected;
  prompts: readonly string[];
  attached: Attachments;
}

async function runTurns({ request, connected, output, shell, stop, prompts, attached }: Run): Promise<number> {
  const { client } = connected;
  const opened = await openThread({ request, connected, shell });
  const { thread } = opened;
  output.start(thread, opened.settings, opened.usage);
  for (const repair of opened.repairs) output.notice(repair);
  const ended = new AbortController();
  // An interrupt that cannot be recorded must not keep the run from ending.
  const interrupt = () => void client.submit(thread, { id: opId(), type: "interrupt" }).catch(() => ended.abort());
  stop.signal.addEventListener("abort", interrupt);
  try {
    const events = client.events(thread, opened.after, ended.signal);
    if (opened.parked) {
      await client.submit(thread, { id: opId(), type: "interrupt" });
      await skipTurn(events);
      output.notice("The turn that was left open when the last process ended was cancelled first; what it did is in the history.");
    }
    if (opened.queued.length > 0) output.notice("Input that was accepted before and never answered is sent with this prompt, before it.");
    const schema = attached.schema === undefined ? {} : { output_schema: attached.schema };
    const decline = (event: Event & { type: "approval/requested" }) => void client.submit(thread, { id: opId(), type: "answer", ask: event.approval_id, answer: declined(event.kind) }).catch(() => {});
    let queued = opened.queued;
    for (const [index, prompt] of prompts.entries()) {
      stop.check();
      output.turn(index < prompts.length - 1);
      const items = [...queued.flatMap((waiting) => waiting.items), await message({ client, thread, prompt, attached })];
      await client.submit(thread, { id: opId(), type: "user_input", items, deliver: "next", replaces: queued.map(({ op }) => op), ...schema });
      const code = await watch({ events, output, stop, interrupt, decline });
      if (code !== EXIT.done) return code;
      queued = [];
    }
    return EXIT.done;
  } finally {
    ended.abort();
    stop.done();
    stop.signal.removeEventListener("abort", interrupt);
    await client.call("thread/close", { thread }).catch(() => {});
  }
}

/** The promise, unless something asks for the end before it is kept. */
function orStopped<T>(promise: Promise<T>, stop: Stop): Promise<T> {
  stop.check();
  return new Promise((keep, reject) => {
    stop.signal.addEventListener("abort", () => reject(new StoppedError(stop.why!)), { once: true });
    promise.then(keep, reject);
  });
}

/** Nobody is asked here: what would need an answer is declined, and the model is told. */
function declined(kind: string): Json {
  return kind === "elicitation" ? { action: "decline" } : { decision: "no", absent: true };
}

/** Renders until the turn has ended. */
async function watch(given: { events: AsyncGenerator<Event>; output: Output; stop: Stop; interrupt: () => void; decline: (event: Event & { type: "approval/requested" }) => void }): Promise<number> {
  const { events, output, stop, interrupt, decline } = given;
  let last = "";
  for (;;) {
    const { done, value: event } = await events.next();
    if (done) throw new Error("The event stream ended before the turn did; resume the thread to see what happened.");
    if (event.type === "error") throw new Error(event.message);
    if (event.type === "thread/closed") throw new Error(`The thread was closed: ${event.message}. What was acknowledged is kept.`);
    // What asked for the end may have come before there was a turn to interrupt.
    if (event.type === "turn/started" && stop.why) interrupt();
    if (event.type === "approval/requested") decline(event);
    output.event(event.type === "turn/cancelled" && stop.why ? { ...event, message: stop.why.message } : event);
    if (event.type === "item/completed" && event.item_kind === "agentMessage" && !event.partial) last = textOf(event.item);
    if (event.type !== "turn/completed") continue;
    const completed = event.status === "completed";
    // A reader that never reads must not keep a signal from ending the run.
    const stopped = new Promise<false>((settle) => stop.signal.addEventListener("abort", () => settle(false), { once: true }));
    const written = await Promise.race([output.finish(last, completed), stopped]);
    return completed && written ? EXIT.done : (stop.why?.exit ?? EXIT.failed);
  }
}

/** Reads to the end of the turn that is being cancelled. */
async function skipTurn(events: AsyncGenerator<Event>): Promise<void> {
  for (;;) {
    const { done, value } = await events.next();
    if (done || value.type === "turn/completed") return;
  }
}

async function message(given: { client: Client; thread: string; prompt: string; attached: Attachments }): Promise<Item> {
  const { client, thread, prompt, attached } = given;
  const item = userText(prompt);
  if (prompt === "") item.content = [];
  for (const base64 of attached.images) {
    const { sha256 } = await client.call("blob/put", { thread, base64 });
    item.content.push({ type: "input_image", image_url: `blob:${sha256}` });
  }
  return item;
}

function insideGit(from: string): boolean {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return true;
    if (dirname(folder) === folder) return false;
  }
}

function explain(error: unknown): { message: string; exit: number } {
  if (error instanceof StoppedError) return error.stopped;
  return expected(error) ?? { message: error instanceof Error ? error.message : String(error), exit: EXIT.failed };
}
