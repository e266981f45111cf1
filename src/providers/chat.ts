/** Chat Completions, as OpenAI and most local servers have it: POST {base_url}/chat/completions. */
import { OPENAI_IMAGES } from "./images.ts";
import { toRequest } from "./chat-request.ts";
import { createReader } from "./chat-stream.ts";
import { createProvider, type WireOptions, type WireProvider } from "./wire.ts";

export function createChat(options: WireOptions): WireProvider {
  return createProvider({ name: "chat", path: "/chat/completions", authorize: (key) => ({ authorization: `Bearer ${key}` }), images: OPENAI_IMAGES, toRequest, createReader }, options);
}
