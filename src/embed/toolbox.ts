/** Toolbox: the tools that threads of this process have: those that come with Skein, those of MCP servers, and an embedder's own. */
import type { Config } from "../config/config.ts";
import type { Tool } from "../core/tool.ts";
import type { Settings, ThreadId } from "../protocol/record.ts";
import type { McpSource } from "../tools/mcp/source.ts";
import type { Processes } from "../tools/processes.ts";

export interface Toolbox {
  tools(settings: Settings): Promise<readonly Tool[]>;
  /** What the user should know and was not told yet. */
  warnings(): string[];
  closed(thread: ThreadId): Promise<void>;
  close(): Promise<void>;
}

interface Given {
  home: string;
  config: Config;
  /** Late servers are waited for: there is no later turn that they could join. */
  waits: boolean;
  cwd: string;
  /** One with the name of a tool that comes with Skein takes its place. */
  own: readonly Tool[];
}

export function createToolbox({ home, config, waits, cwd, own }: Given): Toolbox {
  let processes: Processes | null = null;
  let servers: Promise<McpSource> | null = null;
  let mcp: McpSource | null = null;
  const outputTokens = config.tool_output_token_limit;

  async function startServers(): Promise<McpSource> {
    const { createMcp } = await import("../tools/mcp/source.ts");
    mcp = createMcp({ servers: config.mcp_servers, env: process.env, cwd, outputTokens });
    return mcp;
  }
  const hasServers = Object.values(config.mcp_servers).some(({ enabled }) => enabled);
  if (hasServers) servers = startServers();

  return {
    async tools(settings) {
      const [{ builtinTools }, { createProcesses }] = await Promise.all([import("../tools/builtin.ts"), import("../tools/processes.ts")]);
      processes ??= createProcesses();
      // What the thread was started with counts, not what the files say by now.
      const { writable_roots: writableRoots, network_access: network } = { ...config.sandbox_workspace_write, ...(settings["sandbox_workspace_write"] as object | undefined) };
      const builtin = builtinTools({
        home,
        env: process.env,
        platform: process.platform,
        sandbox: { writableRoots, network },
        environment: config.shell_environment_policy,
        outputTokens,
        processes,
        rules: config.rules,
      });
      const source = await servers;
      if (waits) await source?.ready();
      return [...builtin.filter(({ name }) => !own.some((tool) => tool.name === name)), ...own, ...((await source?.tools()) ?? [])];
    },
    warnings: () => mcp?.warnings() ?? [],
    async closed(thread) {
      await Promise.all([processes?.closed(thread), mcp?.closed(thread)]);
    },
    async close() {
      await Promise.all([processes?.close(), servers?.then((source) => source.close())]);
    },
  };
}
