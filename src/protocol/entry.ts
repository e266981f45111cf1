/** `skein/protocol`: the data that crosses disk and wire, for programs that read logs or speak to a server. */
export * from "./item.ts";
export * from "./record.ts";
export * from "./codec.ts";
export type * from "./event.ts";
export type * from "./op.ts";
export type * from "./rpc.ts";
export type * from "./library.ts";
