/**
 * The scripted model server: a real HTTP server on loopback that speaks Responses, Chat Completions and Messages as SSE.
 *
 *   const server = await startModelServer({ script: [{ text: "Hello" }] });
 *   … point a provider at `${server.url}/v1` …
 *   expect(server.requests[0].body.model).toBe("…");  expect(server.problems).toEqual([]);
 *   await server.close();
 *
 * Every model request is recorded and checked against the rules of its wire. One that the real API would refuse is answered
 * with 400 and the wire's own error body, takes no reply from the script, and is listed in `problems`; so is a request for
 * which the script has no reply. Requests to other paths are kept apart in `others`. `/responses/compact` answers too, at once and as JSON.
 */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { commonPrefix, conversationOf } from "./asked.ts";
import { chat } from "./chat.ts";
import { compacted, validate as validateCompact } from "./compact.ts";
import { freshIds } from "./ids.ts";
import { messages } from "./messages.ts";
import { overflow } from "./overflow.ts";
import { answerOther } from "./others.ts";
import { cut, pause, play, untilGone } from "./play.ts";
import type { Stage } from "./play.ts";
import { profiles } from "./profiles.ts";
import type { Profile, ProfileName } from "./profiles.ts";
import { record } from "./record.ts";
import type { Recording } from "./record.ts";
import { responses } from "./responses.ts";
import type { RecordedRequest, Reply, Script, When, Wire } from "./script.ts";
import type { WireModule } from "./wire.ts";

export interface ModelServerOptions {
  readonly script?: Script;
  /** Serve only this wire; the others answer 404. */
  readonly wire?: Wire | "any";
  /** 0 (the default) takes a free port. */
  readonly port?: number;
  /** false: requests are recorded but not checked. */
  readonly validate?: boolean;
  /** How the chat wire deviates from OpenAI. */
  readonly profile?: ProfileName | Profile;
  /** Longer requests are refused as the wire's server would: a token is four bytes of the body. */
  readonly maxTokens?: number;
  /** When given, requests without this key are answered 401. */
  readonly key?: string;
  /** Called when a model request's exchange is over. */
  readonly onEnd?: (request: RecordedRequest) => void;
}

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Model requests, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** Every other request: model lists, health checks, unknown paths. */
  readonly others: readonly RecordedRequest[];
  /** Everything that should not have happened, for `expect(server.problems).toEqual([])`. */
  readonly problems: readonly string[];
  /** The n-th model request, from 0, as soon as its body is there. */
  waitForRequest(n: number, timeoutMs?: number): Promise<RecordedRequest>;
  /** Adds replies to a script that is a list. */
  push(...replies: Reply[]): void;
  /** Ends everything at once, open streams too. */
  close(): Promise<void>;
}

const wires: Readonly<Record<Wire, WireModule>> = { responses, chat, messages };

export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = new ScriptedServer(options);
  await server.listen(options.port ?? 0);
  return server;
}

class ScriptedServer implements ModelServer {
  readonly requests: RecordedRequest[] = [];
  readonly others: RecordedRequest[] = [];
  readonly problems: string[] = [];
  url = "";
  port = 0;

  private readonly http = createServer((request, response) => void this.serve(request, response));
  private readonly options: ModelServerOptions;
  private readonly replies: Reply[];
  private readonly rules: Reply[] = [];
  private readonly profile: Profile;
  private readonly lastOf = new Map<string, Buffer>();
  private readonly highestIds = new Map<string, number>();
  private readonly closing = new AbortController();
  private readonly waiting = new Set<() => void>();
  private taken = 0;
  private played = 0;

  constructor(options: ModelServerOptions) {
    this.options = options;
    const { script, profile = "openai" } = options;
    this.replies = [];
    if (typeof script !== "function") this.push(...(script ?? []));
    this.profile = typeof profile === "string" ? profiles[profile] : profile;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => this.http.once("error", reject).listen(port, "127.0.0.1", resolve));
    this.port = (this.http.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.port}`;
  }

  push(...replies: Reply[]): void {
    if (typeof this.options.script === "function") throw new Error("The script is a function: it decides every reply itself.");
    for (const reply of replies) (reply.when === undefined ? this.replies : this.rules).push(reply);
  }

  async waitForRequest(n: number, timeoutMs = 10_000): Promise<RecordedRequest> {
    const late = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = this.requests[n];
      if (found) return found;
      if (late.aborted) throw new Error(`Model request ${n} did not arrive within ${timeoutMs} ms; there were ${this.requests.length}.`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.waiting.delete(wake);
          late.removeEventListener("abort", wake);
          resolve();
        };
        this.waiting.add(wake);
        late.addEventListener("abort", wake);
      });
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    const closed = new Promise<void>((resolve) => this.http.close(() => resolve()));
    this.http.closeAllConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recording = await record({ request, response, wire: this.wireOf(request), closing: this.closing.signal });
    if (recording === null) return;
    const { recorded } = recording;
    try {
      if (recorded.wire === null) {
        recorded.n = this.others.push(recorded) - 1;
        answerOther(recorded, response);
        return;
      }
      await this.answer(recording, wires[recorded.wire], response);
    } catch (error) {
      this.problems.push(`request ${recorded.n}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      if (response.headersSent) response.destroy();
      else send(response, 500, { error: { message: `The scripted server failed: ${String(error)}`, type: "server_error" } });
    }
  }

  private async answer({ recorded: request, gone, dropping }: Recording, wire: WireModule, response: ServerResponse): Promise<void> {
    const problems = this.options.validate === false ? [] : check(request, wire);
    request.problems = problems;
    const conversation = conversationOf(request.wire!, request.body);
    const before = this.lastOf.get(conversation);
    request.prefix = before === undefined ? null : commonPrefix(before, request.raw);
    this.lastOf.set(conversation, request.raw);
    const n = (request.n = this.requests.push(request) - 1);
    void request.ended.then(() => this.options.onEnd?.(request));
    for (const wake of this.waiting) wake();

    if (this.options.key !== undefined && !hasKey(request, this.options.key)) return send(response, 401, wire.errorBody(401, {}));
    if (problems.length > 0) {
      this.problems.push(...problems.map((problem) => `request ${n}: ${problem}`));
      return send(response, 400, wire.errorBody(400, { message: problems.join("; ") }));
    }
    const tokens = Math.ceil(request.raw.length / 4);
    const { maxTokens: most = Infinity, profile = "openai" } = this.options;
    if (tokens > most) {
      request.overflowed = true;
      const { status, body } = overflow(request.wire!, typeof profile === "string" ? profile : "openai", { tokens, most });
      return send(response, status, body);
    }
    const number = this.played;
    const taken = this.take(request);
    if (taken === undefined) {
      const message = `The script has ${this.replies.length} replies; this request needs one more.`;
      this.problems.push(`request ${n}: ${message}`);
      return send(response, 400, wire.errorBody(400, { message }));
    }
    this.played++;
    const reply = await taken;
    const stage: Stage = { reply, response, gone, dropping };
    if (reply.delayMs !== undefined) await pause(reply.delayMs, gone);
    if (reply.hang === true) return untilGone(gone);
    if (reply.drop?.beforeHeaders) return cut(stage);
    if (reply.status !== undefined && reply.status !== 200) {
      return send(response, reply.status, reply.body ?? wire.errorBody(reply.status, reply.error ?? {}), reply.headers);
    }
    const body = typeof request.body === "object" && request.body !== null ? request.body : {};
    const context = { n: number, body, profile: this.profile, freshId: freshIds(request.raw, this.highestIds) };
    if (request.compact) return send(response, 200, compacted(reply, context), reply.headers);
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-request-id": `req_${number}`,
      "request-id": `req_${number}`,
      ...reply.headers,
    });
    await play(reply.raw ?? wire.frames(reply, context), stage);
  }

  private take(request: RecordedRequest): Reply | Promise<Reply> | undefined {
    if (typeof this.options.script === "function") return this.options.script(request, this.played);
    const rule = this.rules.find(({ when }) => fits(when!, request));
    if (rule !== undefined || this.taken === this.replies.length) return rule;
    return this.replies[this.taken++];
  }

  private wireOf(request: IncomingMessage): Wire | null {
    if (request.method !== "POST") return null;
    const path = (request.url ?? "").split("?")[0] ?? "";
    for (const name of Object.keys(wires) as Wire[]) {
      const served = this.options.wire === undefined || this.options.wire === "any" || this.options.wire === name;
      if (served && (path.endsWith(wires[name].path) || (name === "responses" && path.endsWith("/responses/compact")))) return name;
    }
    return null;
  }
}

function fits(when: string | When, { said, toolsOff, compact }: RecordedRequest): boolean {
  const wanted: When = typeof when === "string" ? { said: when } : when;
  return said.includes(wanted.said ?? "") && (wanted.toolsOff ?? toolsOff) === toolsOff && (wanted.compact ?? compact) === compact;
}

/** The validator's findings, and what the API wants outside the body. */
function check(request: RecordedRequest, wire: WireModule): string[] {
  if (request.body === undefined) return ["body: not valid JSON"];
  const problems = request.compact ? validateCompact(request.body) : wire.validate(request.body);
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? "")) problems.push("content-type: must be application/json");
  if (request.wire === "messages" && request.headers["anthropic-version"] === undefined) problems.push("anthropic-version: header is required");
  if (!request.compact && request.body?.stream !== true) problems.push("stream: this server only streams; send true");
  return problems;
}

function hasKey({ headers }: RecordedRequest, key: string): boolean {
  return headers["authorization"] === `Bearer ${key}` || headers["x-api-key"] === key;
}

function send(response: ServerResponse, status: number, body: string | object, headers: Readonly<Record<string, string>> = {}): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": typeof body === "string" ? "text/plain" : "application/json", ...headers });
  response.end(text);
}
