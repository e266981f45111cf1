/**
 * `skein exec`: one headless turn. A client like any other: it starts or resumes a thread, sends the prompt as an op, and renders events
 * until the turn has ended.
 */
import { existsSync, fstatSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { userText } from "../protocol/item.ts";
import type { Event } from "../protocol/event.ts";
import { textOf } from "../protocol/item.ts";
import type { Settings } from "../protocol/record.ts";
import { RpcFailure, type Client } from "../client/client.ts";
import { RPC, type ResumedThread } from "../protocol/rpc.ts";
import { createLines } from "./exec-lines.ts";
import { describe, header } from "./exec-text.ts";
import { readAttachments, type Attachments } from "./attachments.ts";
import { EXIT, UserError, type Connected, type Shell, type Wish } from "./shell.ts";
import { resolveThread } from "./resolve.ts";

export interface ExecRequest {
  wish: Wish;
  prompt: string | null;
  resume: { id: string | null; last: boolean; takeOver: boolean } | null;
  json: boolean;
  quiet: boolean;
  ephemeral: boolean;
  skipGitCheck: boolean;
  timeoutSeconds: number | null;
  images: string[];
  schemaFile: string | null;
  lastMessageFile: string | null;
}

export async function exec(request: ExecRequest, shell: Shell): Promise<number> {
  const cwd = resolve(shell.cwd, request.wish.cd ?? ".");
  const attached = readAttachments(request, shell.cwd);
  const prompt = await promptOf(request.prompt, shell);
  if (!request.skipGitCheck && !request.wish.bypass && !insideGit(cwd)) {
    throw new UserError(`${cwd} is not inside a git repository, so changes could not be reviewed or undone with git.\nRun it in one, or add --skip-git-repo-check.`, EXIT.usage);
  }
  const connected = await shell.connect(request.wish);
  try {
    const output = createOutput(request, shell);
    for (const warning of connected.warnings) output.warn(warning);
    try {
      return await runTurn({ request, connected, output, shell, prompt, attached });
    } catch (error) {
      const failure = explain(error);
      output.fail(failure.message);
      return failure.exit;
    }
  } finally {
    await connected.close();
  }
}

interface Run {
  request: ExecRequest;
  connected: Connected;
  shell: Shell;
  output: Output;
  prompt: string;
  attached: Attachments;
}

async function runTurn({ request, connected, output, shell, prompt, attached }: Run): Promise<number> {
  const { client } = connected;
  const { thread, settings, after, parked } = await openThread({ request, connected, output, shell });
  output.start(thread, settings);
  const ended = new AbortController();
  const stop = stopOnSignals(client, thread, request.timeoutSeconds);
  try {
    const events = client.events(thread, after, ended.signal);
    if (parked) {
      await client.submit(thread, { id: opId(), type: "interrupt" });
      await skipTurn(events);
      output.warn("The turn that was left open when the last process ended was cancelled first; what it did is in the history.");
    }
    const message = userText(prompt);
    for (const base64 of attached.images) {
      const { sha256 } = await client.call("blob/put", { thread, base64 });
      message.content.push({ type: "input_image", image_url: `blob:${sha256}` });
    }
    const schema = attached.schema === undefined ? {} : { output_schema: attached.schema };
    await client.submit(thread, { id: opId(), type: "user_input", items: [message], deliver: "next", ...schema });
    let last = "";
    for await (const event of events) {
      output.event(event);
      if (event.type === "item/completed" && event.item_kind === "agentMessage") last = textOf(event.item);
      if (event.type === "thread/closed" || event.type === "error") throw new Error("message" in event ? event.message : "closed");
      if (event.type !== "turn/completed") continue;
      output.finish(last);
      if (stop.why === "timeout") return EXIT.timedOut;
      if (stop.why === "signal") return EXIT.interrupted;
      return event.status === "completed" ? EXIT.done : EXIT.failed;
    }
    throw new Error("The event stream ended before the turn did; resume the thread to see what happened.");
  } finally {
    ended.abort();
    stop.dispose();
    await client.call("thread/close", { thread }).catch(() => {});
  }
}

async function openThread({ request, connected, output, shell }: Omit<Run, "prompt" | "attached">) {
  const { client, settings } = connected;
  if (!request.resume) {
    if (!settings) throw new UserError("No model is configured. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a model server in config.toml; `skein` without arguments shows a tour.", EXIT.usage);
    const { thread } = await client.call("thread/start", { source: "exec", settings, ephemeral: request.ephemeral });
    return { thread, settings, after: null, parked: false };
  }
  const id = await resolveThread(client, request.resume);
  const resumed = await resumeThread({ client, thread: id, takeOver: request.resume.takeOver, shell });
  for (const repair of resumed.repairs) output.warn(repair);
  const { explicit } = connected;
  if (Object.keys(explicit).length > 0) await client.submit(id, { id: opId(), type: "override_settings", settings: explicit });
  return { thread: id, settings: { ...resumed.settings, ...explicit }, after: resumed.cursor, parked: resumed.parked !== null };
}

/** Opens a thread; if another process has it and the user wants it, that process is asked to give it up. */
async function resumeThread(given: { client: Client; thread: string; takeOver: boolean; shell: Shell }): Promise<ResumedThread> {
  const { client, thread } = given;
  try {
    return await client.call("thread/resume", { thread });
  } catch (error) {
    const owner = error instanceof RpcFailure ? error.error.data?.owner : undefined;
    if (!owner) throw error;
    if (!given.takeOver) throw new UserError(`${(error as Error).message}\nTo ask for it: skein exec resume ${thread} --take-over "…". To watch: skein follow ${thread}. To branch: skein fork ${thread}.`, EXIT.busy);
    if (owner.socket === null) throw new UserError(`${(error as Error).message}\nThat process does not listen for requests; end it (pid ${owner.pid}) and try again.`, EXIT.busy);
    const other = await given.shell.connectTo(owner.socket);
    try {
      await other.call("owner/release", { thread });
    } finally {
      other.close();
    }
    return client.call("thread/resume", { thread });
  }
}

/** Reads to the end of the turn that is being cancelled. */
async function skipTurn(events: AsyncGenerator<Event>): Promise<void> {
  for (;;) {
    const { done, value } = await events.next();
    if (done || value.type === "turn/completed") return;
  }
}

interface Output {
  start(thread: string, settings: Settings): void;
  event(event: Event): void;
  warn(message: string): void;
  finish(last: string): void;
  fail(message: string): void;
}

function createOutput(request: ExecRequest, shell: Shell): Output {
  const lines = createLines();
  const say = (text: string) => void shell.stderr.write(`${text}\n`);
  const line = (value: object) => void shell.stdout.write(`${JSON.stringify(value)}\n`);
  const keepLast = (last: string) => {
    if (request.lastMessageFile !== null) writeFileSync(request.lastMessageFile, last);
  };
  if (request.json) {
    return {
      start: (thread) => line(lines.started(thread)),
      event: (event) => lines.next(event).forEach(line),
      warn: say,
      finish: keepLast,
      fail: (message) => line(lines.failed(message)),
    };
  }
  return {
    start: (thread, settings) => (request.quiet ? undefined : say(header(thread, settings))),
    event(event) {
      const text = request.quiet ? null : describe(event);
      if (text !== null) say(text);
    },
    warn: (message) => say(`! ${message}`),
    finish(last) {
      keepLast(last);
      if (last !== "") shell.stdout.write(`${last}\n`);
    },
    fail: (message) => say(`skein: ${message}`),
  };
}

/** SIGINT, SIGTERM and the timeout interrupt the turn; a second signal ends the process at once. */
function stopOnSignals(client: Client, thread: string, timeoutSeconds: number | null) {
  const stop = { why: null as "signal" | "timeout" | null, dispose: () => {} };
  const interrupt = (why: "signal" | "timeout") => {
    if (stop.why === "signal" && why === "signal") process.exit(EXIT.interrupted);
    stop.why = why;
    client.submit(thread, { id: opId(), type: "interrupt" }).catch(() => {});
  };
  const onSignal = () => interrupt("signal");
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  const timer = timeoutSeconds === null ? null : setTimeout(() => interrupt("timeout"), timeoutSeconds * 1000);
  stop.dispose = () => {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
    if (timer) clearTimeout(timer);
  };
  return stop;
}

async function promptOf(argument: string | null, shell: Shell): Promise<string> {
  const piped = argument === "-" || argument === null || !shell.stdin.isTTY ? await readPiped(shell, argument === "-" || argument === null) : "";
  if (argument === null || argument === "-") {
    if (piped.trim() === "") throw new UserError("There is no prompt. Give it as an argument or on standard input: skein exec \"fix the tests\".", EXIT.usage);
    return piped;
  }
  return piped.trim() === "" ? argument : `${argument}\n\n<stdin>\n${piped}\n</stdin>`;
}

async function readPiped(shell: Shell, needed: boolean): Promise<string> {
  if (shell.stdin.isTTY) return "";
  if (!needed && !willEnd(0)) return "";
  const chunks: Buffer[] = [];
  for await (const chunk of shell.stdin) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer));
  return Buffer.concat(chunks).toString("utf8");
}

/** A file or a shell's pipe: something that ends. Any other standard input may stay open for ever, so it is read only when it must be. */
function willEnd(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFile() || stat.isFIFO();
  } catch {
    return false;
  }
}

function insideGit(from: string): boolean {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return true;
    if (dirname(folder) === folder) return false;
  }
}

function explain(error: unknown): { message: string; exit: number } {
  if (error instanceof UserError) return { message: error.message, exit: error.exit };
  if (error instanceof RpcFailure) {
    const exit = error.error.code === RPC.busy ? EXIT.busy : error.error.code === RPC.notFound ? EXIT.notFound : EXIT.failed;
    return { message: error.message, exit };
  }
  return { message: error instanceof Error ? error.message : String(error), exit: EXIT.failed };
}

export function opId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Buffer.from(bytes).toString("base64url");
}
