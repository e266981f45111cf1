/** OpenAI Responses: POST {base_url}/responses. */
import { OPENAI_IMAGES } from "./images.ts";
import { toRequest } from "./responses-request.ts";
import { createReader } from "./responses-stream.ts";
import { createProvider, type WireOptions, type WireProvider } from "./wire.ts";

export function createResponses(options: WireOptions): WireProvider {
  return createProvider({ name: "responses", path: "/responses", authorize: (key) => ({ authorization: `Bearer ${key}` }), images: OPENAI_IMAGES, toRequest, createReader }, options);
}
