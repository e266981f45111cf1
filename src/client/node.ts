/** Transports for Node: a Unix socket, one JSON object a line. */
import { createConnection } from "node:net";
import type { Message } from "../protocol/rpc.ts";
import type { Transport } from "./client.ts";

export async function socketTransport(path: string): Promise<Transport> {
  const socket = createConnection(path);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  let receive: (message: Message) => void = () => {};
  let closed = () => {};
  let pending = "";
  socket.setEncoding("utf8");
  socket.on("error", () => socket.destroy());
  socket.on("close", () => closed());
  socket.on("data", (chunk: string) => {
    pending += chunk;
    const lines = pending.split("\n");
    pending = lines.pop()!;
    for (const line of lines) receive(JSON.parse(line) as Message);
  });
  return {
    send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    listen(listener, ended) {
      receive = listener;
      closed = ended;
    },
    close: () => void socket.destroy(),
  };
}
