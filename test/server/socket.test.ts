/** Following a thread through its owner's socket, with readers that are slow or do not read at all. */
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import type { Event } from "../../src/protocol/event.ts";
import type { Message } from "../../src/protocol/rpc.ts";
import type { ModelEvent, Provider } from "../../src/core/provider.ts";
import { listenOnSocket } from "../../src/server/transports/socket.ts";
import { createHost, eventually, input, say, startSession } from "../runtime/given.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-socket-"));
afterAll(() => rmSync(folder, { recursive: true }));

const COUNT = 200_000;
const text = (n: number) => `${String(n).padStart(7, "0")} `;
const whole = Array.from({ length: COUNT }, (_, n) => text(n)).join("");

/** One answer of that many deltas, each in its own turn of the loop now and then, as from a network. */
const chatty: Provider = {
  name: "chatty",
  retries: 0,
  requestRetries: 0,
  remoteCompact: null,
  origin: (model) => ({ wire: "replay", provider: "chatty", model }),
  async *stream(): AsyncGenerator<ModelEvent> {
    yield { type: "item.started", index: 0, item: { type: "message", role: "assistant", content: [] } };
    for (let n = 0; n < COUNT; n++) {
      if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
      yield { type: "text.delta", index: 0, delta: text(n) };
    }
    yield { type: "item.done", index: 0, item: say(whole) };
    yield { type: "done", usage: null };
  },
};

/** Bytes that are still needed by anybody. */
function inUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function follower(path: string, thread: string): Promise<Socket> {
  const socket = createConnection(path);
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(`${JSON.stringify({ id: 1, method: "thread/subscribe", params: { thread, after: null } } satisfies Message)}\n`);
  return socket;
}

/** Reads a piece, and no more before `pause` is over. */
async function* slowly(socket: Socket, pause: () => Promise<unknown>): AsyncGenerator<Message> {
  let pending = "";
  for await (const chunk of socket.setEncoding("utf8") as AsyncIterable<string>) {
    pending += chunk;
    const lines = pending.split("\n");
    pending = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as Message;
    await pause();
  }
}

test("a slow reader of 200,000 deltas gets each once and in order, and what waits for it is bounded", async () => {
  const { threads, session } = await startSession(createHost({ provider: chatty }));
  const path = join(folder, "slow.sock");
  const server = await listenOnSocket(threads, path);
  const socket = await follower(path, session.thread);
  let turnEnded = false;
  let grown = Number.NaN;
  const before = inUse();
  const watching = (async () => {
    for await (const event of session.watch(null, new AbortController().signal)) if (event.type === "turn/completed") break;
    grown = inUse() - before;
    turnEnded = true;
  })();
  await session.submit(input("go"));

  let shown = "";
  const completed: Event[] = [];
  const cursors: string[] = [];
  let deltas = 0;
  for await (const message of slowly(socket, () => new Promise((resolve) => setTimeout(resolve, turnEnded ? 0 : 20)))) {
    if (!("method" in message) || message.method !== "event") continue;
    const { event } = message.params as { event: Event };
    if (event.cursor !== undefined) cursors.push(event.cursor);
    if (event.type === "item/agentMessage/delta") {
      deltas++;
      // A reader that fell behind is shown the item from its beginning again: `offset` says where a delta belongs.
      expect(event.offset === 0 || event.offset === shown.length).toBe(true);
      shown = shown.slice(0, event.offset) + event.delta;
    }
    if (event.type === "item/completed" && event.item_kind === "agentMessage") completed.push(event);
    if (event.type === "turn/completed") break;
  }
  await watching;
  expect(deltas).toBeLessThan(COUNT);
  expect(whole.startsWith(shown)).toBe(true);
  expect(completed.map((event) => event.type === "item/completed" && event.item)).toEqual([say(whole)]);
  expect(new Set(cursors).size).toBe(cursors.length);
  // Each delta as a line of its own would be some 40 MB. The conversation itself, in its several forms, takes a few.
  expect(grown).toBeLessThan(20 * 1024 * 1024);
  socket.destroy();
  await server.close();
}, 120_000);

test("a reader that takes nothing is dropped, and the turn is not held up", async () => {
  const { threads, session } = await startSession(createHost({ provider: chatty }));
  const path = join(folder, "stuck.sock");
  const server = await listenOnSocket(threads, path, { patienceMs: 100 });
  const socket = await follower(path, session.thread);
  socket.pause();
  let closed = false;
  socket.on("close", () => (closed = true)).on("error", () => {});
  await session.submit(input("go"));
  for await (const event of session.watch(null, new AbortController().signal)) if (event.type === "turn/completed") break;
  // Reading on, it finds that the other side is gone.
  await new Promise((resolve) => setTimeout(resolve, 200));
  socket.resume();
  await eventually(() => closed);
  await server.close();
});
