/**
 * Open: a Skein in this process, configured as the files and the wish say, and a client of it. Commands, front ends and programs that
 * embed Skein all come in here.
 */
import { hostname } from "node:os";
import { createClient } from "../client/client.ts";
import type { Connected, Wish } from "../client/wish.ts";
import type { Tool } from "../core/tool.ts";
import { createThreads, type Threads } from "../runtime/threads.ts";
import { memoryTransport } from "../server/transports/memory.ts";
import type { SocketServer } from "../server/transports/socket.ts";
import { configure, type Configured } from "./configuration.ts";
import type { DebugLog } from "./debug-log.ts";
import { createHost } from "./host.ts";
import { ownTools } from "./own-tools.ts";
import { createToolbox } from "./toolbox.ts";

export interface OpenOptions extends Partial<Wish> {
  /** Tools of your own, beside those that come with Skein, or in place of those with the same names. */
  tools?: readonly Tool[];
}

/** Homes for which this process has a socket: there is one for each, however often it is opened. */
const answering = new Set<string>();

export async function open({ tools = [], mode = "interactive", overrides = [], ...wish }: OpenOptions = {}): Promise<Connected> {
  const own = ownTools(tools);
  const configured = await configure({ ...wish, mode, overrides });
  const { home, config, settings, problem, changes, warnings } = configured;
  const answers = mode !== "read" && !answering.has(home);
  if (answers) answering.add(home);
  const socketAt = answers ? (await import("../stores/file/socket-path.ts")).socketPath(home, process.pid) : null;
  const toolbox = createToolbox({ home, config: mode === "read" ? { ...config, mcp_servers: {} } : config, waits: mode === "exec", cwd: settings?.cwd ?? process.cwd(), own });
  const host = createHost({ home, socket: socketAt, hostname: hostname(), lasts: mode === "interactive" }, configured, toolbox);
  const threads = createThreads(host);
  const socket = socketAt === null ? null : await listen(threads, socketAt);
  const log = await debugLog(configured);
  const client = createClient(log ? log.tap(memoryTransport(threads)) : memoryTransport(threads));
  return {
    client,
    settings,
    problem,
    changes,
    warnings,
    async close() {
      client.close();
      await threads.closeAll("the process ended");
      await Promise.all([socket?.close(), toolbox.close()]);
      if (answers) answering.delete(home);
      await host.store.close();
      log?.close();
    },
  };
}

async function debugLog({ home, config }: Configured): Promise<DebugLog | null> {
  if (process.env["SKEIN_LOG"] !== "debug") return null;
  const [{ openDebugLog }, { createRedactor }] = await Promise.all([import("./debug-log.ts"), import("../core/redact.ts")]);
  return openDebugLog({ home, redactor: createRedactor(config.history.sensitive_patterns) });
}

/** Others can ask for threads through the socket; where none can be made, they cannot, and everything else works. */
async function listen(threads: Threads, path: string): Promise<SocketServer | null> {
  const { listenOnSocket } = await import("../server/transports/socket.ts");
  return listenOnSocket(threads, path).catch(() => null);
}
