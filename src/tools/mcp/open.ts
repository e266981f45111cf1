/** Open: a connection to a configured server, within the time that `signal` gives; or why there is none, with the server's last words. */
import type { Fetch } from "../../net/fetch.ts";
import { shellEnvironment, type Variables } from "../environment.ts";
import type { ServerConfig } from "./config.ts";
import type { Peer, Wants } from "./connect.ts";
import { plain } from "./listing.ts";
import { startStdio, type Connecting } from "./stdio.ts";

export interface Surroundings {
  env: Variables;
  /** Where servers run that name no folder of their own. */
  cwd: string;
  version: string;
  fetch: Fetch;
  now(): number;
  warn(text: string): void;
}

export type Opened = { ok: true; peer: Peer } | { ok: false; message: string };

export async function open(given: { config: ServerConfig; around: Surroundings; wants: Wants; signal: AbortSignal }): Promise<Opened> {
  const { config, around, signal } = given;
  const headers: Record<string, string> = { ...config.http_headers };
  if (config.bearer_token_env_var !== undefined) {
    const token = around.env[config.bearer_token_env_var];
    if (!token) return { ok: false, message: `the variable ${config.bearer_token_env_var}, which should hold its key (bearer_token_env_var), is not set` };
    headers["authorization"] = `Bearer ${token}`;
  }
  // A process starts while the library is loaded.
  let first: Connecting | null = config.command === undefined ? null : startStdio(processOf(config.command, given));
  const [{ connect, failureOf }, { createHttp }] = await Promise.all([import("./connect.ts"), import("./http.ts")]);
  let last: Connecting | null = first;
  const openNext = (): Connecting => {
    last = first ?? (config.command === undefined ? createHttp({ url: config.url!, headers, fetch: around.fetch }) : startStdio(processOf(config.command, given)));
    first = null;
    return last;
  };
  try {
    return { ok: true, peer: await connect({ open: openNext, version: around.version, signal, wants: given.wants }) };
  } catch (error) {
    const why = signal.reason === "timed out" ? late(config) : signal.aborted ? "it was closed" : `it could not be ${config.command === undefined ? "reached" : "started"}: ${last?.why() ?? failureOf(error).message}`;
    return { ok: false, message: `${why}${quote(last?.lastWords() ?? "")}` };
  }
}

function processOf(command: string, { config, around }: { config: ServerConfig; around: Surroundings }) {
  const handed = Object.fromEntries((config.env_vars ?? []).flatMap((name) => (around.env[name] === undefined ? [] : [[name, around.env[name]]])));
  return { command, args: config.args, cwd: config.cwd ?? around.cwd, env: { ...shellEnvironment(around.env, { inherit: "core" }), ...handed, ...config.env } };
}

export function late({ startup_timeout_sec: seconds }: ServerConfig): string {
  return `it did not answer within ${seconds} seconds (startup_timeout_sec)`;
}

/** The server's last words, after what is known of its end. */
export function quote(words: string): string {
  return words === "" ? "" : `; it wrote: ${plain(words)}`;
}
