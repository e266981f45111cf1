/** Resources: two tools that list and read what servers have beside tools. They are there only when a server has resources. */
import type { Tool, ToolHost, ToolOutcome } from "../../core/tool.ts";
import { isObject } from "./listing.ts";
import { resourceOutcome, tell } from "./result.ts";
import type { Server } from "./server.ts";
import { assessed } from "./tool.ts";

interface Given {
  /** Those that have resources. */
  servers: readonly Server[];
  outputBytes: number;
}

export function resourceTools(given: Given): Tool[] {
  const names = given.servers.map(({ name }) => name).join(", ");
  return [
    {
      name: "list_mcp_resources",
      description: `Lists the resources (files, records, templates of addresses) that MCP servers offer to be read, as JSON. Servers that have some: ${names}.`,
      parameters: { type: "object", properties: { server: { type: "string", description: "Only those of this server." } }, additionalProperties: false },
      effect: "read",
      run: (input, host) => list(input, host, given),
    },
    {
      name: "read_mcp_resource",
      description: "Reads one resource of an MCP server, as list_mcp_resources gave it.",
      parameters: {
        type: "object",
        properties: { server: { type: "string", description: "The server's name." }, uri: { type: "string", description: "The address of the resource." } },
        required: ["server", "uri"],
        additionalProperties: false,
      },
      effect: "read",
      async assess(input) {
        const server = given.servers.find(({ name }) => isObject(input) && input["server"] === name);
        const mode = server?.config.default_tools_approval_mode ?? "auto";
        const about = assessed({ name: "read_mcp_resource", input, mode, safe: mode === "approve", outside: false, what: `reading resources of the MCP server ${JSON.stringify(server?.name ?? "")}` });
        return { ...about, grant: server ? { keys: [`tool:read_mcp_resource:${server.name}`], text: about.grant!.text } : null };
      },
      run: (input, host) => read(input, host, given),
    },
  ];
}

async function list(input: unknown, host: ToolHost, { servers, outputBytes }: Given): Promise<ToolOutcome> {
  const wanted = isObject(input) && typeof input["server"] === "string" && input["server"] !== "" ? input["server"] : null;
  const chosen = servers.filter(({ name }) => wanted === null || name === wanted);
  if (chosen.length === 0) return unknownServer(wanted ?? "", servers);
  const found = await Promise.all(chosen.map((server) => listOf(server, host)));
  const failed = found.every((each) => "error" in each);
  return { status: failed ? "failed" : "done", ...(await tell([{ text: JSON.stringify(found, null, 1) }], { host, outputBytes })) };
}

async function listOf(server: Server, host: ToolHost): Promise<object> {
  const resources = await server.pages({ method: "resources/list", key: "resources", host });
  if (!resources.ok) return { server: server.name, error: resources.message };
  // Servers need not have templates, nor know the word.
  const templates = await server.pages({ method: "resources/templates/list", key: "resourceTemplates", host });
  return { server: server.name, resources: resources.items.map(brief), templates: templates.ok ? templates.items.map(brief) : [] };
}

function brief(raw: unknown): object {
  const { uri, uriTemplate, name, title, description, mimeType, size } = isObject(raw) ? raw : {};
  return { uri, uriTemplate, name, title, description, mimeType, size };
}

async function read(input: unknown, host: ToolHost, { servers, outputBytes }: Given): Promise<ToolOutcome> {
  if (!isObject(input) || typeof input["server"] !== "string" || typeof input["uri"] !== "string") return { status: "failed", output: "Not run: `server` and `uri` must be texts." };
  const server = servers.find(({ name }) => name === input["server"]);
  if (!server) return unknownServer(input["server"], servers);
  const answer = await server.request({ method: "resources/read", params: { uri: input["uri"] }, host });
  return answer.ok ? resourceOutcome(answer.result, { host, outputBytes }) : { status: "failed", output: answer.message };
}

function unknownServer(name: string, servers: readonly Server[]): ToolOutcome {
  return { status: "failed", output: `Not run: there is no MCP server ${JSON.stringify(name)} with resources. There are: ${servers.map((server) => server.name).join(", ")}.` };
}
