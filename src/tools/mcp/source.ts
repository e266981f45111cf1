/**
 * MCP: tools of other programs. All configured servers are started at once and side by side; one that is late, broken or hostile costs its
 * own tools only. The servers given here are allowed already: whose they are is not this file's question.
 */
import type { Tool, ToolSource } from "../../core/tool.ts";
import { createFetch, type Fetch } from "../../net/fetch.ts";
import type { Variables } from "../environment.ts";
import type { ServerConfig } from "./config.ts";
import { toolNames } from "./names.ts";
import { resourceTools } from "./resources.ts";
import { startServer, type ServerStatus } from "./server.ts";
import { mcpTool } from "./tool.ts";

export interface McpOptions {
  servers: Readonly<Record<string, ServerConfig>>;
  /** Ours: servers see a small part of it. */
  env: Variables;
  /** Where servers run that name no folder, and what they are told when they ask for roots. */
  cwd: string;
  version?: string;
  /** `tool_output_token_limit` */
  outputTokens?: number;
  fetch?: Fetch;
  now?: () => number;
  /** Told of each warning when it comes up. */
  log?: (text: string) => void;
}

export interface McpSource extends ToolSource {
  /** Every server is started, or is not going to be. */
  ready(): Promise<void>;
  status(): ServerStatus[];
  /** What the user should know and was not told yet. */
  warnings(): string[];
}

const OUTPUT_TOKENS = 10_000;
const BYTES_PER_TOKEN = 4;
const MOST_WARNINGS = 100;

export function createMcp({ servers: configured, env, cwd, version = "0", outputTokens = OUTPUT_TOKENS, fetch = createFetch(env), now = Date.now, log }: McpOptions): McpSource {
  const outputBytes = outputTokens * BYTES_PER_TOKEN;
  let untold: string[] = [];
  function warn(text: string): void {
    if (untold.length < MOST_WARNINGS && !untold.includes(text)) untold.push(text);
    log?.(text);
  }
  const around = { env, cwd, version, fetch, now, warn };
  const servers = Object.entries(configured).map(([name, config]) => startServer(name, config, around));

  return {
    async ready() {
      await Promise.all(servers.map(({ started }) => started));
    },
    status: () => servers.map((server) => server.status()),
    warnings() {
      const told = untold;
      untold = [];
      return told;
    },
    async tools() {
      const listed = (await Promise.all(servers.map(async (server) => (await server.tools()).map((tool) => ({ server, tool }))))).flat();
      const names = toolNames(listed.map(({ server, tool }) => ({ server: server.name, tool: tool.name })));
      const tools: Tool[] = listed.map(({ server, tool }, index) => mcpTool({ name: names[index]!, server, listed: tool, outputBytes }));
      const holding = servers.filter((server) => server.hasResources());
      if (holding.length > 0) tools.push(...resourceTools({ servers: holding, outputBytes }));
      return tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    // Servers belong to the process: threads share them.
    closed: () => Promise.resolve(),
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
