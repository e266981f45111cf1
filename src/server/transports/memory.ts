/** A client and the server in one process: messages are handed over as they are, each in its own turn of the event loop's queue. */
import type { Message } from "../../protocol/rpc.ts";
import type { Threads } from "../../runtime/threads.ts";
import { connect } from "../dispatch.ts";

/** The client's end of a connection. */
export interface MemoryTransport {
  send(message: Message): void;
  listen(receive: (message: Message) => void): void;
  close(): void;
}

export function memoryTransport(threads: Threads): MemoryTransport {
  let receive: (message: Message) => void = () => {};
  const connection = connect(threads, (message) => receive(message));
  return {
    send: (message) => connection.receive(message),
    listen(listener) {
      receive = listener;
    },
    close: () => connection.close(),
  };
}
