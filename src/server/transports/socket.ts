/**
 * A Unix socket (0600) on which every owner of threads listens: one JSON object a line. Through it a second process can follow a
 * thread live or ask for it. A frame over the limit, or one that is not JSON, is answered with an error and ends the connection.
 *
 * A peer that reads slowly costs no more than what waits in its socket: beyond a bound its events are not even fetched, and the session lets
 * it catch up from the log. One that takes nothing at all for 30 seconds is dropped.
 */
import { chmodSync, unlinkSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { RPC, type Message } from "../../protocol/rpc.ts";
import type { Threads } from "../../runtime/threads.ts";
import { connect } from "../dispatch.ts";

const FRAME_LIMIT = 64 * 1024 * 1024;
const WAITING_LIMIT = 256 * 1024;
const PATIENCE_MS = 30_000;

export interface SocketServer {
  close(): Promise<void>;
}

export async function listenOnSocket(threads: Threads, path: string, { patienceMs = PATIENCE_MS } = {}): Promise<SocketServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    serve(threads, socket, patienceMs);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const umask = process.umask(0o177);
    server.listen(path, () => resolve());
    process.umask(umask);
  });
  chmodSync(path, 0o600);
  server.unref();
  return {
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      try {
        unlinkSync(path);
      } catch {
        // Closing removes it already where the platform does so.
      }
    },
  };
}

function serve(threads: Threads, socket: Socket, patienceMs: number): void {
  socket.setEncoding("utf8");
  socket.on("error", () => socket.destroy());
  const connection = connect(threads, boundedWriter(socket, patienceMs));
  const fail = (code: number, message: string) => {
    socket.end(`${JSON.stringify({ id: 0, error: { code, message } } satisfies Message)}\n`);
    connection.close();
  };
  let pending = "";
  socket.on("data", (chunk: string) => {
    pending += chunk;
    let end = pending.indexOf("\n");
    while (end >= 0) {
      const line = pending.slice(0, end);
      pending = pending.slice(end + 1);
      const message = parse(line);
      if (!message) return fail(RPC.parse, "A line was not a JSON object.");
      connection.receive(message);
      end = pending.indexOf("\n");
    }
    if (pending.length > FRAME_LIMIT) fail(RPC.parse, "A line was longer than 64 MiB.");
  });
  socket.on("close", () => connection.close());
}

/** Writes at once, and gives a promise where that is too much for now. */
function boundedWriter(socket: Socket, patienceMs: number): (message: Message) => Promise<void> | undefined {
  let drained: Promise<void> | undefined;
  return (message) => {
    if (socket.destroyed) return undefined;
    socket.write(`${JSON.stringify(message)}\n`);
    if (socket.writableLength <= WAITING_LIMIT) return undefined;
    drained ??= new Promise((resolve) => {
      const timer = setTimeout(() => socket.destroy(), patienceMs);
      timer.unref();
      const done = () => {
        clearTimeout(timer);
        socket.off("drain", done);
        socket.off("close", done);
        drained = undefined;
        resolve();
      };
      socket.once("drain", done);
      socket.once("close", done);
    });
    return drained;
  };
}

function parse(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Message) : null;
  } catch {
    return null;
  }
}
