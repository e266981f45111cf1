/**
 * Server: the life of one configured MCP server.
 *
 *   starting → ready → (it ends unexpectedly) → starting → ready …
 *            ↘ failed                         ↘ failed, when it does so twice within RESTART_MS
 *
 * A request that was under way when the server ended is never sent again: whether it did anything is unknown, and that is its answer.
 */
import { pathToFileURL } from "node:url";
import type { ToolHost } from "../../core/tool.ts";
import { isToolEnabled, type ServerConfig } from "./config.ts";
import type { Peer, Progress, Wants } from "./connect.ts";
import { createDeadline } from "./deadline.ts";
import { elicit, type Running } from "./elicit.ts";
import { collectPages, readListing, type Answer, type ListedTool } from "./listing.ts";
import { late, open, quote, type Surroundings } from "./open.ts";

const RESTART_MS = 10 * 60_000;
const REFRESH_MS = 2000;
/** For a start that is given up. */
const GIVE_UP_MS = 2000;

export interface ServerStatus {
  name: string;
  state: "starting" | "ready" | "failed" | "disabled";
  /** The names of its tools, as it has them. */
  tools: readonly string[];
  message?: string;
}

export interface Wanted {
  method: string;
  params: Readonly<Record<string, unknown>>;
  host: ToolHost;
  onProgress?: (progress: Progress) => void;
}

export interface Server {
  readonly name: string;
  readonly config: ServerConfig;
  /** The first start has succeeded or failed. */
  readonly started: Promise<void>;
  status(): ServerStatus;
  /** Asked for again when the server has said that they changed. None unless it is ready. */
  tools(): Promise<readonly ListedTool[]>;
  hasResources(): boolean;
  request(wanted: Wanted): Promise<Answer>;
  /** All elements of a list that comes in pages. */
  pages(list: { method: string; key: string; host: ToolHost }): ReturnType<typeof collectPages>;
  close(): Promise<void>;
}

export function startServer(name: string, config: ServerConfig, around: Surroundings): Server {
  const shown = `The MCP server ${JSON.stringify(name)}`;
  const running = new Set<Running>();
  const end = new AbortController();
  let state: ServerStatus["state"] = config.enabled ? "starting" : "disabled";
  let message: string | undefined;
  let peer: Peer | null = null;
  let listed: readonly ListedTool[] = [];
  let changed = false;
  let restartedAt = Number.NEGATIVE_INFINITY;
  const wants: Wants = {
    toolsChanged: () => void (changed = true),
    elicit: (question) => elicit(name, running, question),
    root: () => pathToFileURL(around.cwd).href,
  };
  let begun: Promise<void> = config.enabled ? begin() : Promise.resolve();
  const started = begun;

  function fail(why: string): void {
    state = "failed";
    message = why;
    listed = [];
    if (!end.signal.aborted) around.warn(`${shown} is not available: ${why}.`);
  }

  async function begin(): Promise<void> {
    state = "starting";
    const deadline = createDeadline(config.startup_timeout_sec * 1000);
    const signal = AbortSignal.any([deadline.signal, end.signal]);
    const opened = await open({ config, around, wants, signal });
    try {
      if (!opened.ok) return fail(opened.message);
      const tools = opened.peer.capabilities.tools ? await list(opened.peer, signal) : [];
      if (opened.peer.why() !== null) throw new Error(opened.peer.why()!);
      peer = opened.peer;
      listed = tools;
      state = "ready";
      message = undefined;
      void peer.closed.then(() => lost(opened.peer, opened.peer.why() ?? "the connection was closed"));
    } catch (error) {
      if (opened.ok) await opened.peer.close();
      const { failureOf } = await import("./connect.ts");
      const why = deadline.signal.aborted ? late(config) : ((opened.ok ? opened.peer.why() : null) ?? failureOf(error).message);
      fail(`its tools could not be listed: ${why}${opened.ok ? quote(opened.peer.lastWords()) : ""}`);
    } finally {
      deadline.clear();
    }
  }

  async function list(from: Peer, signal: AbortSignal): Promise<readonly ListedTool[]> {
    changed = false;
    const raw = await collectPages("tools", async (params) => ({ ok: true, result: await from.request("tools/list", params, { signal }) }));
    if (!raw.ok) throw new Error(raw.message);
    const listing = readListing(raw.items, (tool) => isToolEnabled(config, tool));
    for (const problem of listing.problems) around.warn(`${shown}: ${problem}.`);
    return listing.tools;
  }

  /** Resolves when it is known what became of the server. */
  function lost(which: Peer, why: string): Promise<void> {
    if (peer !== which || end.signal.aborted) return begun;
    peer = null;
    listed = [];
    state = "starting";
    begun = beginAgain(which, why);
    return begun;
  }

  async function beginAgain(which: Peer, why: string): Promise<void> {
    await which.close();
    const said = `${why}${quote(which.lastWords())}`;
    if (around.now() - restartedAt < RESTART_MS) return fail(`it ended for the second time (${said}) and is not started again`);
    restartedAt = around.now();
    around.warn(`${shown} ended unexpectedly (${said}). It is started again.`);
    return begin();
  }

  async function request({ method, params, host, onProgress }: Wanted): Promise<Answer> {
    await unlessAborted(begun, host.signal);
    if (host.signal.aborted) return { ok: false, message: "Not run: interrupted before it was started." };
    const to = peer;
    if (!to) return { ok: false, message: `Not run: ${shown} is not available${message === undefined ? "" : `: ${message}`}.` };
    const deadline = createDeadline(config.tool_timeout_sec * 1000);
    const call: Running = { host, deadline, asking: false };
    running.add(call);
    try {
      return { ok: true, result: await to.request(method, params, { signal: AbortSignal.any([host.signal, deadline.signal]), ...(onProgress ? { onProgress } : {}) }) };
    } catch (error) {
      if (host.signal.aborted) return { ok: false, message: `Interrupted: ${shown} was told to stop. Whether the call did anything is unknown.` };
      if (deadline.signal.aborted) return { ok: false, message: `${shown} did not answer within ${config.tool_timeout_sec} seconds (tool_timeout_sec) and was told to stop. Whether the call did anything is unknown.` };
      const failure = (await import("./connect.ts")).failureOf(error);
      if (!failure.lost) return { ok: false, message: `${shown} refused: ${failure.message}` };
      const why = to.why() ?? failure.message;
      await unlessAborted(lost(to, why), host.signal);
      return { ok: false, message: `${shown} ended during this call (${why}). Whether the call did anything is unknown, and it was not repeated. ${after()}` };
    } finally {
      deadline.clear();
      running.delete(call);
    }
  }

  /** What became of a server that ended. */
  function after(): string {
    if (state === "failed") return `The server is not available any more: ${message}.`;
    return state === "ready" && peer ? "The server was started again; look at what happened before you call it again." : "The server is not available now.";
  }

  return {
    name,
    config,
    started,
    status: () => ({ name, state, tools: listed.map((tool) => tool.name), ...(message === undefined ? {} : { message }) }),
    async tools() {
      const from = peer;
      if (!from || !changed) return listed;
      const fresh = await list(from, AbortSignal.any([AbortSignal.timeout(REFRESH_MS), end.signal])).catch(() => null);
      if (fresh === null) around.warn(`${shown} said that its tools changed and did not list them; those known before are used.`);
      else if (peer === from) listed = fresh;
      return listed;
    },
    hasResources: () => peer?.capabilities.resources !== undefined,
    request,
    pages: ({ method, key, host }) => collectPages(key, (params) => request({ method, params, host })),
    async close() {
      end.abort("closed");
      await unlessAborted(begun, AbortSignal.timeout(GIVE_UP_MS));
      const last = peer;
      peer = null;
      await last?.close();
    },
  };
}

/** Resolves when the promise does, or when somebody gives up waiting. */
function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const give = (): void => resolve();
    signal.addEventListener("abort", give, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
  });
}
