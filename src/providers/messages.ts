/** Anthropic Messages: POST {base_url}/messages. */
import { toRequest } from "./messages-request.ts";
import { createReader } from "./messages-stream.ts";
import { createProvider, type WireOptions, type WireProvider } from "./wire.ts";

export function createMessages(options: WireOptions): WireProvider {
  const headers = { "anthropic-version": "2023-06-01", ...options.headers };
  return createProvider({ name: "messages", path: "/messages", authorize: (key) => ({ "x-api-key": key }), toRequest, createReader }, { ...options, headers });
}
