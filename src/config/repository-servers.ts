/**
 * The MCP servers that a repository's config names and the user's own does not. Each is bound by a hash of all that decides what is
 * started, or who is spoken to and with what: only one that the user said yes to is taken from the config.
 */
import type { Leaf, McpServer } from "./config.ts";
import { quoted } from "./keys.ts";
import { serverHash, type StartedServer } from "./trust.ts";

export interface RepositoryServer {
  name: string;
  /** In words. */
  what: string;
  hash: string;
}

export async function repositoryServers(leaves: readonly Leaf[], isKnown: (name: string) => boolean): Promise<RepositoryServer[]> {
  const names = new Set(leaves.flatMap(({ path: [first, name] }) => (first === "mcp_servers" && name !== undefined && !isKnown(name) ? [name] : [])));
  return Promise.all(
    [...names].map(async (name) => {
      const server = serverOf(leaves.filter(({ path }) => path[0] === "mcp_servers" && path[1] === name));
      return { name, what: describe(server), hash: await serverHash(server) };
    }),
  );
}

function serverOf(leaves: readonly Leaf[]): StartedServer {
  const server: StartedServer & Pick<McpServer, "args" | "env" | "http_headers"> = { args: [], env: {}, http_headers: {} };
  for (const { path, value } of leaves) {
    const [, , key, name] = path;
    if (key === "args" || key === "env_vars") server[key] = [...(value as readonly string[])];
    else if ((key === "env" || key === "http_headers") && name !== undefined) server[key][name] = value as string;
    else if (key === "command" || key === "cwd" || key === "url" || key === "bearer_token_env_var") server[key] = value as string;
  }
  return server;
}

function describe({ command, args, env, env_vars = [], url, http_headers, bearer_token_env_var }: StartedServer): string {
  const names = [...Object.keys(env), ...env_vars];
  const variables = names.length > 0 ? ` with ${names.join(", ")}` : "";
  if (url === undefined) return `runs ${[command ?? "", ...args].map((word) => quoted(word)).join(" ")}${variables}`;
  const sent = [...Object.keys(http_headers), ...(bearer_token_env_var === undefined ? [] : [`the token in ${bearer_token_env_var}`])];
  return `speaks to ${quoted(url)}${sent.length > 0 ? ` and sends ${sent.join(", ")}` : ""}`;
}
