/** OpenAI Responses: POST {base_url}/responses. */
import { OPENAI_IMAGES } from "./images.ts";
import { createRemoteCompact } from "./responses-compact.ts";
import { toRequest } from "./responses-request.ts";
import { createReader } from "./responses-stream.ts";
import { createProvider, type Wire, type WireOptions, type WireProvider } from "./wire.ts";

const WIRE: Wire = { name: "responses", path: "/responses", authorize: (key) => ({ authorization: `Bearer ${key}` }), images: OPENAI_IMAGES, toRequest, createReader };

/** Of those who speak Responses, only OpenAI itself is known to compact. */
export function createResponses(options: WireOptions): WireProvider {
  return { ...createProvider(WIRE, options), remoteCompact: options.name === "openai" ? createRemoteCompact(WIRE, options) : null };
}
