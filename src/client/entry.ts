/** `skein/client`: the one way in, for any front end and any transport. */
export { createClient, RpcFailure, type Client, type Transport } from "./client.ts";
