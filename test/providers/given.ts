/** Providers pointed at the scripted model server, and what tests say about their answers. */
import type { Item, Origin } from "../../src/protocol/item.ts";
import { userText } from "../../src/protocol/item.ts";
import type { VisibleItem } from "../../src/core/history.ts";
import type { ModelEvent, ModelRequest, Provider } from "../../src/core/provider.ts";
import type { BlobReader } from "../../src/core/store.ts";
import { createChat } from "../../src/providers/chat.ts";
import type { Images } from "../../src/providers/content.ts";
import { createPost } from "../../src/net/post.ts";
import { createMessages } from "../../src/providers/messages.ts";
import { createResponses } from "../../src/providers/responses.ts";
import type { WireOptions, WireProvider } from "../../src/providers/wire.ts";
import { startModelServer, type ModelServer, type ModelServerOptions } from "../model-server/server.ts";
import type { Reply, Wire } from "../model-server/script.ts";

export const WIRES = ["responses", "chat", "messages"] as const satisfies readonly Wire[];
export const MODEL = { responses: "gpt-5", chat: "local", messages: "claude-sonnet-4-6" } as const;

const CREATE = { responses: createResponses, chat: createChat, messages: createMessages };

export function providerAt(wire: Wire, url: string, changes: Partial<WireOptions> = {}): WireProvider {
  return CREATE[wire]({
    name: "scripted",
    baseUrl: `${url}/v1`,
    key: () => "the-key",
    envKey: "SCRIPTED_API_KEY",
    headers: {},
    queryParams: {},
    retries: 5,
    requestRetries: 4,
    idleTimeoutMs: 10_000,
    post: createPost({}),
    ...changes,
  });
}

export const NO_IMAGES: Images = { urls: new Map(), left: new Set() };

const NO_BLOBS: BlobReader = { get: () => Promise.resolve(null) };

export const TOOL = {
  name: "exec_command",
  description: "Runs a command.",
  parameters: { type: "object", properties: { cmd: { type: "string" } }, required: ["cmd"] },
};

export const PATCH_TOOL = {
  name: "apply_patch",
  description: "Changes files.",
  parameters: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
  freeform: { syntax: "lark" as const, definition: "start: /.+/" },
};

export function requestFor(wire: Wire, changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    thread: "01900000-0000-7000-8000-000000000000",
    model: MODEL[wire],
    instructions: "Be good.",
    tools: [TOOL],
    input: shown(userText("hi")),
    effort: null,
    webSearch: null,
    toolChoice: "auto",
    ...changes,
  };
}

/** Items of the user, or of `origin` where they are the model's. */
export function shown(...items: Item[]): VisibleItem[] {
  return items.map((item) => ({ item, origin: null }));
}
export function madeBy(origin: Origin, ...items: Item[]): VisibleItem[] {
  return items.map((item) => ({ item, origin }));
}

export async function collect(provider: Provider, request: ModelRequest, host: { signal?: AbortSignal; blobs?: BlobReader } = {}): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(request, { signal: host.signal ?? new AbortController().signal, blobs: host.blobs ?? NO_BLOBS })) events.push(event);
  return events;
}

export interface Answer {
  items: Item[];
  /** What was streamed of each item, by index. */
  text: Record<number, string>;
  reasoning: Record<number, string>;
  last: ModelEvent | undefined;
}

export function answerOf(events: readonly ModelEvent[]): Answer {
  const answer: Answer = { items: [], text: {}, reasoning: {}, last: events.at(-1) };
  for (const event of events) {
    if (event.type === "item.done") answer.items.push(event.item);
    if (event.type === "text.delta") answer.text[event.index] = (answer.text[event.index] ?? "") + event.delta;
    if (event.type === "reasoning.delta") answer.reasoning[event.index] = (answer.reasoning[event.index] ?? "") + event.delta;
  }
  return answer;
}

/** Runs one request against a server that plays the replies. */
export async function asked(wire: Wire, replies: Reply[] | ModelServerOptions, changes: { request?: Partial<ModelRequest>; options?: Partial<WireOptions>; signal?: AbortSignal } = {}): Promise<Answer & { server: ModelServer; events: ModelEvent[] }> {
  return withServer(Array.isArray(replies) ? { script: replies } : replies, async (server) => {
    const events = await collect(providerAt(wire, server.url, changes.options), requestFor(wire, changes.request), changes.signal ? { signal: changes.signal } : {});
    return { ...answerOf(events), server, events };
  });
}

export async function withServer<T>(options: ModelServerOptions, use: (server: ModelServer) => Promise<T>): Promise<T> {
  const server = await startModelServer(options);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Without what only one wire has: ids, states, opaque content, annotations. */
export function plain(item: Item): object {
  switch (item.type) {
    case "message":
      return { says: (item["content"] as { text: string }[]).map(({ text }) => text).join("") };
    case "reasoning":
      return { thinks: [...(item["summary"] as { text: string }[]), ...((item["content"] ?? []) as { text: string }[])].map(({ text }) => text).join("") };
    case "web_search_call":
      return { searches: (item["action"] as { query: string }).query };
    case "custom_tool_call":
      return { calls: item["name"], with: { input: item["input"] } };
    default:
      return { calls: item["name"], with: JSON.parse(item["arguments"] as string) as object };
  }
}
