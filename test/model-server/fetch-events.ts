/** A plain client for the tests of the server: one request of each wire, and the events of its answer. */
import type { Wire } from "./script.ts";

export interface SseEvent {
  readonly event: string | null;
  /** Parsed JSON, or the text when it is not JSON. Tests look inside, hence `any`. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any;
}

export const paths: Readonly<Record<Wire, string>> = { responses: "/v1/responses", chat: "/v1/chat/completions", messages: "/v1/messages" };

export const bodies: Readonly<Record<Wire, object>> = {
  responses: { model: "m", stream: true, store: false, include: ["reasoning.encrypted_content"], input: [{ role: "user", content: "hi" }] },
  chat: { model: "m", stream: true, stream_options: { include_usage: true }, messages: [{ role: "user", content: "hi" }] },
  messages: { model: "m", stream: true, max_tokens: 100, messages: [{ role: "user", content: "hi" }] },
};

export async function post(server: { readonly url: string }, wire: Wire, options: { body?: object | string; signal?: AbortSignal; headers?: Record<string, string> } = {}): Promise<Response> {
  const { body = bodies[wire], signal, headers } = options;
  return fetch(server.url + paths[wire], {
    method: "POST",
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: signal ?? null,
  });
}

export async function events(server: { readonly url: string }, wire: Wire, body: object = bodies[wire]): Promise<SseEvent[]> {
  const response = await post(server, wire, { body });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return parse(await response.text());
}

export function parse(text: string): SseEvent[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: ") || block.startsWith("data: "))
    .map((block) => {
      const lines = block.split("\n");
      const event = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? null;
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6) ?? "";
      return { event, data: data.startsWith("{") ? JSON.parse(data) : data };
    });
}

/** All text of an answer, on any wire. */
export function textOf(found: readonly SseEvent[]): string {
  return found
    .map(({ data }) => {
      if (data.type === "response.output_text.delta") return data.delta;
      if (data.type === "content_block_delta") return data.delta.text ?? "";
      return data.choices?.[0]?.delta.content ?? "";
    })
    .join("");
}
