/**
 * Stdio: an MCP server as a process of ours. One JSON message a line on its stdin and stdout; of its stderr the last STDERR_BYTES are
 * kept, for people.
 *
 * - Lines that are no JSON objects are skipped, because servers log to stdout by mistake; NOISE_BYTES of them without a message between
 *   end the connection, and so does a message of more than MESSAGE_BYTES: memory is bounded whatever a server writes.
 * - A flood of small messages is read slowly, so that it does not take all of our time.
 * - It has a process group and a mark of its own. Closing ends its input, then asks the whole tree to end, then kills it. Nothing of it
 *   outlives us (watchdog.ts).
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { coverInherited } from "../descriptors.ts";
import { createMark, MARK_VARIABLE } from "../mark.ts";
import { groupTree } from "../tree.ts";
import { watch } from "../watchdog.ts";

export const MESSAGE_BYTES = 32 * 1024 * 1024;
/** After so many messages in one chunk, what follows waits for so long. */
export const MANY_MESSAGES = 50;
export const REST_MS = 50;
const NOISE_BYTES = 16 * 1024 * 1024;
const STDERR_BYTES = 4096;
const END_MS = 100;
const TERMINATE_MS = 200;

/** A transport of the client library, and what it knows of the server's end. */
export interface Connecting extends Transport {
  /** Why it ended, if it has: "it exited with code 1". */
  why(): string | null;
  /** The last that the server wrote to stderr. */
  lastWords(): string;
}

interface Given {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** The process is started at once; what it writes waits for `start`. */
export function startStdio(given: Given): Connecting {
  const mark = createMark();
  const watched = watch(mark);
  const started = start(given, mark);
  const server = started.ok ? started.child : null;
  const tree = server ? groupTree(server.pid!, mark) : null;
  if (server) watched.started(server.pid!);
  let why: string | null = null;
  let lastWords = Buffer.alloc(0);
  let closing: Promise<void> | null = null;
  let isOurs = false;
  const exited = (started.ok ? exitOf(started.child) : started.why).then((text) => void (isOurs || (why ??= text)));
  server?.stdin.on("error", () => {});
  server?.stderr.on("error", () => {}).on("data", (chunk: Buffer) => (lastWords = Buffer.concat([lastWords, chunk]).subarray(-STDERR_BYTES)));

  async function end(): Promise<void> {
    server?.stdin.end();
    await Promise.race([exited, pause(END_MS)]);
    tree?.terminate();
    await Promise.race([exited, pause(TERMINATE_MS)]);
    tree?.kill();
    await tree?.gone();
    watched.release();
    server?.stdout.destroy();
    server?.stderr.destroy();
    transport.onclose?.();
  }

  const read = createReader({
    onMessage(message) {
      // The library takes notifications a moment later than answers; the last progress of a call comes before its end.
      if ("method" in message) transport.onmessage?.(message);
      else queueMicrotask(() => transport.onmessage?.(message));
    },
    onFlood() {
      server?.stdout.pause();
      setTimeout(() => server?.stdout.resume(), REST_MS);
    },
    onTrouble(trouble) {
      why ??= trouble;
      server?.stdout.destroy();
    },
  });
  const transport: Connecting = {
    why: () => why,
    lastWords: () => lastWords.toString("utf8").trim(),
    async start() {
      const silent = new Promise<void>((resolve) => (server ? server.stdout.once("close", resolve) : resolve()));
      server?.stdout.on("error", () => {}).on("data", read);
      // Its last messages come before its end is told; others that hold its stdout are not waited for.
      void Promise.race([silent, exited.then(() => Promise.race([silent, pause(END_MS)]))]).then(() => (closing ??= end()));
    },
    send(message) {
      return new Promise((resolve, reject) => {
        if (!server?.stdin.writable) reject(new Error(why ?? "it closed its input"));
        else server.stdin.write(`${JSON.stringify(message)}\n`, () => resolve());
      });
    },
    close() {
      isOurs ||= closing === null && why === null;
      return (closing ??= end());
    },
  };
  return transport;
}

type Started = { ok: true; child: ChildProcessWithoutNullStreams } | { ok: false; why: Promise<string> };

function start({ command, args, cwd, env }: Given, mark: string): Started {
  try {
    const stdio = coverInherited<never>(["pipe", "pipe", "pipe"]);
    const child = spawn(command, args, { cwd, env: { ...env, [MARK_VARIABLE]: mark }, detached: true, stdio }) as ChildProcessWithoutNullStreams;
    const failed = new Promise<string>((resolve) => child.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ENOENT" ? missing({ command, cwd }) : error.message)));
    return child.pid === undefined ? { ok: false, why: failed } : { ok: true, child };
  } catch (error) {
    return { ok: false, why: Promise.resolve(error instanceof Error ? error.message : String(error)) };
  }
}

function missing({ command, cwd }: { command: string; cwd: string }): string {
  return existsSync(cwd) ? `there is no program "${command}"` : `there is no folder ${cwd}`;
}

function exitOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve) => child.once("exit", (exit, signal) => resolve(signal === null ? `it exited with code ${exit}` : `it was ended by ${signal}`)));
}

interface Reading {
  onMessage(message: JSONRPCMessage): void;
  onFlood(): void;
  onTrouble(trouble: string): void;
}

function createReader({ onMessage, onFlood, onTrouble }: Reading): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let length = 0;
  let noise = 0;
  let messages = 0;

  function line(bytes: Buffer): void {
    const message = parse(bytes);
    noise = message === null ? noise + bytes.length + 1 : 0;
    if (message === null) return;
    messages += 1;
    onMessage(message);
  }

  return (chunk) => {
    let from = 0;
    messages = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, end);
      line(pieces.length === 0 ? last : Buffer.concat([...pieces, last]));
      pieces = [];
      length = 0;
      from = end + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
    length += chunk.length - from;
    if (messages > MANY_MESSAGES) onFlood();
    if (length > MESSAGE_BYTES) onTrouble(`it sent a message of more than ${MESSAGE_BYTES} bytes`);
    else if (noise > NOISE_BYTES) onTrouble("it floods its output with what is no MCP message");
  };
}

function parse(line: Buffer): JSONRPCMessage | null {
  // 123 is "{": most noise is told by its first character.
  if (line.find((byte) => byte > 32) !== 123) return null;
  try {
    return JSON.parse(line.toString("utf8")) as JSONRPCMessage;
  } catch {
    return null;
  }
}

function pause(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}
