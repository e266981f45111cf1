/**
 * What trust in a project would mean: the values that its config would set, the MCP servers that it names, and what of it would be
 * ignored. Its config is read here as if it were trusted; nothing is started and nothing is written.
 */
import { check } from "./check.ts";
import type { Leaf, McpServer } from "./config.ts";
import { describeConfig, type Row } from "./describe.ts";
import { quoted } from "./keys.ts";
import { loadConfig } from "./load.ts";
import { parseConfig, readConfigFile } from "./read.ts";
import { isTrusted, readTrust, serverHash } from "./trust.ts";

export interface ProjectLook {
  root: string;
  /** Its config, or null when it has none. */
  file: string | null;
  /** Null where no record counts, as `[projects]` decides. */
  hash: string | null;
  trusted: boolean;
  by: "projects" | "record" | null;
  sets: Row[];
  servers: { name: string; what: string; hash: string }[];
  warnings: string[];
}

export type Looked = { ok: true; look: ProjectLook } | { ok: false; message: string };

export async function lookAtProject(given: { home: string; folder: string; env: Readonly<Record<string, string | undefined>> }): Promise<Looked> {
  const { home, folder, env } = given;
  const { trust } = readTrust(home);
  const load = (trusted: (root: string, hash: string) => boolean) => loadConfig({ home, cwd: folder, env, mode: "interactive", flags: {}, overrides: [], trusted });
  const now = await load((root, hash) => isTrusted(trust, { root, hash }));
  if (!now.ok) return now;
  const then = await load(() => true);
  if (!then.ok) return then;
  const { root, file, trusted, by } = now.project;
  const { hash } = then.project;
  const read = readConfigFile(file);
  if (!read.ok) return read;
  // What is shown is what is said yes to.
  if (hash !== null && hash !== now.project.hash) return { ok: false, message: `${file} has just been changed: nothing was recorded. Look at it again.` };
  const sets = describeConfig(then.config, then.origins).filter(({ key }) => then.origins.get(key)?.layer === "repository");
  const servers = read.bytes === null ? [] : await serversIn({ file, bytes: read.bytes, known: Object.keys(now.config.mcp_servers) });
  const warnings = then.warnings.filter((warning) => warning.startsWith(file));
  return { ok: true, look: { root, file: read.bytes === null ? null : file, hash, trusted, by, sets, servers, warnings } };
}

/** The servers of the repository's own config that the user does not have. */
async function serversIn({ file, bytes, known }: { file: string; bytes: Uint8Array; known: readonly string[] }): Promise<ProjectLook["servers"]> {
  const parsed = await parseConfig(file, bytes);
  if (!parsed.ok) return [];
  const { leaves } = check(parsed.table, { origin: () => ({ layer: "repository", file }), absolute: (path) => path });
  const names = new Set(leaves.flatMap(({ path: [first, name] }) => (first === "mcp_servers" && name !== undefined && !known.includes(name) ? [name] : [])));
  return Promise.all(
    [...names].map(async (name) => {
      const server = serverOf(leaves.filter(({ path }) => path[0] === "mcp_servers" && path[1] === name));
      return { name, what: describe(server), hash: await serverHash(server) };
    }),
  );
}

type Started = Pick<McpServer, "command" | "args" | "env" | "cwd" | "url" | "http_headers" | "bearer_token_env_var">;

function serverOf(leaves: readonly Leaf[]): Started {
  const server: Started = { args: [], env: {}, http_headers: {} };
  for (const { path, value } of leaves) {
    const [, , key, name] = path;
    if (key === "args") server.args = [...(value as readonly string[])];
    else if ((key === "env" || key === "http_headers") && name !== undefined) server[key][name] = value as string;
    else if (key === "command" || key === "cwd" || key === "url" || key === "bearer_token_env_var") server[key] = value as string;
  }
  return server;
}

function describe({ command, args, env, url, http_headers, bearer_token_env_var }: Started): string {
  const variables = Object.keys(env).length > 0 ? ` with ${Object.keys(env).join(", ")}` : "";
  if (url === undefined) return `runs ${[command ?? "", ...args].map((word) => quoted(word)).join(" ")}${variables}`;
  const sent = [...Object.keys(http_headers), ...(bearer_token_env_var === undefined ? [] : [`the token in ${bearer_token_env_var}`])];
  return `speaks to ${quoted(url)}${sent.length > 0 ? ` and sends ${sent.join(", ")}` : ""}`;
}
