/** Tool: one tool of a server, as the runtime runs it. What the server said of it when it was listed counts until it is listed again. */
import type { Json } from "../../protocol/json.ts";
import type { Assessment, Tool, ToolHost } from "../../core/tool.ts";
import { approvalMode, type ApprovalMode } from "./config.ts";
import type { Progress } from "./connect.ts";
import { isObject, type ListedTool } from "./listing.ts";
import { toolOutcome } from "./result.ts";
import type { Server } from "./server.ts";

/** Of progress that is shown. */
const SHOWN_BYTES = 100_000;

interface Given {
  /** How the model calls it. */
  name: string;
  server: Server;
  listed: ListedTool;
  outputBytes: number;
}

export function mcpTool({ name, server, listed, outputBytes }: Given): Tool {
  const mode = approvalMode(server.config, listed.name);
  const safe = mode === "approve" || (mode === "auto" && listed.readOnly && !listed.openWorld);
  const what = `the tool ${JSON.stringify(listed.name)} of the MCP server ${JSON.stringify(server.name)}`;
  return {
    name,
    description: listed.description,
    parameters: listed.parameters,
    effect: listed.readOnly ? "read" : "exec",
    assess: (input, { sandbox }) => Promise.resolve(assessed({ name, input, mode, safe, what, outside: !listed.readOnly && sandbox === "read-only" })),
    async run(input, host) {
      if (!isObject(input)) return { status: "failed", output: "Not run: the arguments must be an object." };
      const params = { name: listed.name, arguments: input };
      const answer = await server.request({ method: "tools/call", params, host, onProgress: progressTo(host) });
      return answer.ok ? toolOutcome(answer.result, { host, outputBytes }) : { status: "failed", output: answer.message };
    },
  };
}

const RULES = { approve: "allow", prompt: "ask", auto: null } as const;

interface Assessing {
  name: string;
  input: unknown;
  mode: ApprovalMode;
  safe: boolean;
  what: string;
  /** It may change something, where nothing may be changed: a server knows nothing of our sandbox. */
  outside: boolean;
}

export function assessed({ name, input, mode, safe, what, outside }: Assessing): Assessment {
  return {
    safe,
    rule: RULES[mode],
    outside: outside ? "the server is not bound by it, and the tool does not say that it only reads" : null,
    shown: { kind: "tool", tool: name, arguments: input as Json },
    grant: { keys: [`tool:${name}`], text: what },
  };
}

function progressTo(host: ToolHost): (progress: Progress) => void {
  let room = SHOWN_BYTES;
  return ({ progress, total, message }) => {
    const text = `[${progress}${total === undefined ? "" : `/${total}`}]${message === undefined ? "" : ` ${message.slice(0, 1000)}`}\n`;
    if (room <= 0) return;
    room -= text.length;
    host.emit({ stream: "stdout", text: room > 0 ? text : "[more progress is not shown]\n" });
  };
}
