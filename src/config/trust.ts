/**
 * Trust: what the user has said yes to in interactive use, kept in `trust.json` of the home:
 *
 *   {"version":1,"projects":{"/real/root":{"config":"<sha256 of its config, or null>","servers":["<hash of an MCP server>"]}}}
 *
 * - A project is trusted while its config has the hash that was recorded; a server of a project while it is started in the very same way.
 * - A file that cannot be understood is reported and means that nothing is trusted. The next yes puts it aside, beside the new one.
 * - The file is 0600 and is replaced whole, so a reader never sees half of it. Of two processes that write at once one may lose its
 *   answer, which is then asked for again.
 *
 * exec never looks here: it trusts only what `[projects]` in the config of the home names.
 */
import { closeSync, fchmodSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { McpServer } from "./config.ts";

export interface TrustedProject {
  /** Null: only servers were said yes to. */
  readonly config: string | null;
  readonly servers: readonly string[];
}
/** By the real path of the project's root. */
export type Trust = ReadonlyMap<string, TrustedProject>;

const VERSION = 1;
const LARGEST = 1_000_000;
const HASH = /^[0-9a-f]{64}$/u;

export interface TrustRead {
  trust: Trust;
  /** What is wrong with the file, for people; null: nothing. */
  problem: string | null;
}

export function readTrust(home: string): TrustRead {
  const file = fileOf(home);
  const broken = (why: string): TrustRead => ({ trust: new Map(), problem: `${file}: ${why}. Nothing is trusted because of it; \`skein trust\` puts it aside and starts a new one.` });
  let text: string;
  try {
    if (statSync(file).size > LARGEST) return broken(`it has more than ${LARGEST} bytes`);
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? { trust: new Map(), problem: null } : broken(`it cannot be read (${message})`);
  }
  const trust = decode(text);
  return trust ? { trust, problem: null } : broken("it is not what Skein wrote");
}

export function isTrusted(trust: Trust, project: { root: string; hash: string }): boolean {
  return trust.get(project.root)?.config === project.hash;
}

export function isServerTrusted(trust: Trust, server: { root: string; hash: string }): boolean {
  return trust.get(server.root)?.servers.includes(server.hash) ?? false;
}

/** What was put aside, or null. */
export interface Recorded {
  aside: string | null;
}

/** Servers that were said yes to before stay so. */
export function trustProject(home: string, project: { root: string; hash: string }): Recorded {
  return change(home, (trust) => trust.set(project.root, { servers: trust.get(project.root)?.servers ?? [], config: project.hash }));
}

export function trustServer(home: string, server: { root: string; hash: string }): Recorded {
  return change(home, (trust) => {
    const { config = null, servers = [] } = trust.get(server.root) ?? {};
    trust.set(server.root, { config, servers: [...new Set([...servers, server.hash])] });
  });
}

/** The project and its servers. False: there was nothing to forget. */
export function forgetProject(home: string, root: string): boolean {
  if (!readTrust(home).trust.has(root)) return false;
  change(home, (trust) => trust.delete(root));
  return true;
}

export type StartedServer = Pick<McpServer, "command" | "args" | "env" | "env_vars" | "cwd" | "url" | "http_headers" | "bearer_token_env_var">;

/** Of all that decides what is started, or who is spoken to and with what. */
export async function serverHash(server: StartedServer): Promise<string> {
  const { createHash } = await import("node:crypto");
  const sorted = (table: Readonly<Record<string, string>>) => Object.entries(table).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const what =
    server.url === undefined
      ? ["command", server.command ?? null, server.args, sorted(server.env), server.env_vars ?? [], server.cwd ?? null]
      : ["url", server.url, sorted(server.http_headers), server.bearer_token_env_var ?? null];
  return createHash("sha256").update(JSON.stringify(what)).digest("hex");
}

function fileOf(home: string): string {
  return join(home, "trust.json");
}

function change(home: string, apply: (trust: Map<string, TrustedProject>) => void): Recorded {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const { trust, problem } = readTrust(home);
  const file = fileOf(home);
  const aside = problem === null ? null : `${file}.broken-${Date.now()}`;
  if (aside !== null) renameSync(file, aside);
  const next = new Map(trust);
  apply(next);
  replace(file, `${JSON.stringify({ version: VERSION, projects: Object.fromEntries(next) })}\n`);
  return { aside };
}

function replace(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.new`;
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, "wx", 0o600);
  try {
    fchmodSync(fd, 0o600);
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

function decode(text: string): Trust | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isTable(value) || value["version"] !== VERSION || !isTable(value["projects"])) return null;
  const trust = new Map<string, TrustedProject>();
  for (const [root, project] of Object.entries(value["projects"])) {
    if (!isAbsolute(root) || !isTable(project)) return null;
    const { config, servers } = project;
    if (!(config === null || isHash(config)) || !Array.isArray(servers) || !servers.every(isHash)) return null;
    trust.set(root, { config, servers });
  }
  return trust;
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isHash(value: unknown): value is string {
  return typeof value === "string" && HASH.test(value);
}
