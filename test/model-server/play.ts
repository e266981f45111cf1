/**
 * Turns frames into bytes on the socket: as fast as they go, or with the trouble that the script asks for.
 *
 * Without trouble, frames are gathered into large writes, since the server's own cost is part of what a bench measures.
 * An event is one SSE frame (or one entry of `raw`). "After N events" means that exactly N have been flushed.
 */
import type { ServerResponse } from "node:http";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import type { Reply } from "./script.ts";

const batchLength = 64 * 1024;

export interface Stage {
  readonly reply: Reply;
  readonly response: ServerResponse;
  /** Aborted when the client has left or the server closes. */
  readonly gone: AbortSignal;
  /** Called before the script cuts the connection, so that it is not taken for the client's doing. */
  dropping(): void;
}

export async function play(frames: Iterable<string>, stage: Stage): Promise<void> {
  const { reply, response, gone } = stage;
  const alone = reply.slowMs !== undefined || reply.splitUtf8 === true || reply.raw !== undefined;
  const stop = typeof reply.hang === "object" ? reply.hang.afterEvents : (reply.drop?.afterEvents ?? Infinity);
  const budget = { bytes: reply.drop?.afterBytes ?? Infinity };
  let sent = 0;
  let batch = "";
  response.flushHeaders();
  for (const frame of frames) {
    if (reply.hold?.afterEvents === sent) {
      await write(batch, stage, budget);
      batch = "";
      await untilGone(gone, reply.hold.until);
    }
    if (sent >= stop || budget.bytes <= 0 || gone.aborted) break;
    if (alone && sent > 0) await (reply.slowMs === undefined ? turn() : pause(reply.slowMs, gone));
    batch += frame;
    sent++;
    if (alone || batch.length >= batchLength) {
      await write(batch, stage, budget);
      batch = "";
    }
  }
  await write(batch, stage, budget);
  if (gone.aborted) return;
  if (typeof reply.hang === "object") return untilGone(gone);
  if (reply.drop) return cut(stage);
  response.end();
}

/** Ends the connection as `drop` says, after everything written has left. */
export async function cut({ reply, response, dropping }: Stage): Promise<void> {
  dropping();
  if (reply.drop?.clean) {
    response.end();
    return;
  }
  if (response.headersSent) await new Promise<void>((resolve) => response.write("", () => resolve()));
  response.socket?.destroy();
}

/** Resolves when the client has left, or when the promise has settled. */
export async function untilGone(gone: AbortSignal, or?: Promise<unknown>): Promise<void> {
  if (gone.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      gone.removeEventListener("abort", finish);
      resolve();
    };
    gone.addEventListener("abort", finish);
    or?.then(finish, finish);
  });
}

export async function pause(ms: number, gone: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: gone }).catch(() => {});
}

async function write(text: string, { reply, response, gone }: Stage, budget: { bytes: number }): Promise<void> {
  if (text === "" || gone.aborted) return;
  const whole = Buffer.from(text);
  const bytes = whole.length > budget.bytes ? whole.subarray(0, budget.bytes) : whole;
  budget.bytes -= bytes.length;
  for (const part of reply.splitUtf8 ? awkwardParts(bytes) : [bytes]) {
    if (gone.aborted || part.length === 0) return;
    if (!response.write(part)) await untilGone(gone, new Promise((resolve) => response.once("drain", resolve)));
    if (reply.splitUtf8) await turn();
  }
}

/** Cut before every continuation byte, between the two newlines that end a frame, and every 11 bytes. */
export function awkwardParts(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (let i = 1; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    const insideCharacter = (byte & 0xc0) === 0x80;
    const insideBlankLine = byte === 0x0a && bytes[i - 1] === 0x0a;
    if (!insideCharacter && !insideBlankLine && i - start < 11) continue;
    parts.push(bytes.subarray(start, i));
    start = i;
  }
  parts.push(bytes.subarray(start));
  return parts;
}
