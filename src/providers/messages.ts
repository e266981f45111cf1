/** Anthropic Messages: POST {base_url}/messages. */
import { toRequest } from "./messages-request.ts";
import { createReader } from "./messages-stream.ts";
import { createProvider, type WireOptions, type WireProvider } from "./wire.ts";

/** Five million bytes for each, counted as base64; with many images in a request no side may be longer; 32 MB for the whole request. */
const IMAGES = { side: 2000, characters: 5 * 1024 * 1024, together: 24_000_000, count: 100 };

export function createMessages(options: WireOptions): WireProvider {
  const headers = { "anthropic-version": "2023-06-01", ...options.headers };
  return createProvider({ name: "messages", path: "/messages", authorize: (key) => ({ "x-api-key": key }), images: IMAGES, toRequest, createReader }, { ...options, headers });
}
