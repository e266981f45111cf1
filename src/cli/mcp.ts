/** `skein mcp`: lists the MCP servers that are configured, adds and removes them in the config of the home, and tries them out. */
import { EXIT, UserError, type McpServers, type NewMcpServer, type Shell, type Wish } from "./shell.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;
interface Given {
  wish: Wish;
  words: readonly string[];
  values: Values;
}

export async function mcp({ wish, words, values }: Given, shell: Shell): Promise<number> {
  const [verb = "list", ...rest] = words;
  const json = values["json"] === true;
  switch (verb) {
    case "list":
      if (rest.length > 0) throw usage(`"${visible(rest[0]!)}" is a word too many. usage: skein mcp list`);
      return list(await open(wish, shell), { json, shell });
    case "add": {
      const [name, ...argv] = rest;
      const server = newServer(name, argv, values);
      return change(await shell.mcp(wish), { name: name!, server, shell });
    }
    case "remove": {
      const name = rest[0];
      if (name === undefined || rest.length > 1) throw usage("Which one? skein mcp remove NAME");
      return change(await shell.mcp(wish), { name, server: null, shell });
    }
    case "test":
      return test(await open(wish, shell), { names: rest, json, shell });
    default:
      throw usage(`There is no \`skein mcp ${verb}\`: it is list, add, remove or test.`);
  }
}

async function open(wish: Wish, shell: Shell): Promise<McpServers> {
  const found = await shell.mcp(wish);
  for (const warning of found.warnings) shell.stderr.write(`! ${warning}\n`);
  return found;
}

function list({ servers }: McpServers, { json, shell }: { json: boolean; shell: Shell }): number {
  const width = Math.max(0, ...servers.map(({ name }) => name.length));
  for (const server of servers) {
    const state = server.enabled ? "enabled " : "disabled";
    shell.stdout.write(json ? `${JSON.stringify(server)}\n` : `${visible(server.name.padEnd(width))}  ${state}  ${server.transport.padEnd(5)}  ${visible(server.target)}  # ${visible(server.origin)}\n`);
  }
  if (servers.length === 0 && !json) shell.stderr.write("No MCP servers are configured. `skein mcp add --help` shows how to add one.\n");
  return EXIT.done;
}

async function change(found: McpServers, { name, server, shell }: { name: string; server: NewMcpServer | null; shell: Shell }): Promise<number> {
  const edited = server ? await found.add(name, server) : await found.remove(name);
  if (!edited.ok) throw new UserError(edited.message, edited.missing ? EXIT.notFound : EXIT.failed);
  shell.stderr.write(server ? `${visible(name)} was added to ${found.file}. \`skein mcp test ${asWord(visible(name))}\` starts it to see whether it works.\n` : `${visible(name)} was removed from ${found.file}.\n`);
  return EXIT.done;
}

async function test(found: McpServers, { names, json, shell }: { names: readonly string[]; json: boolean; shell: Shell }): Promise<number> {
  const unknown = names.find((name) => !found.servers.some((server) => server.name === name));
  if (unknown !== undefined) throw new UserError(`There is no MCP server "${visible(unknown)}". \`skein mcp list\` shows those that there are.`, EXIT.notFound);
  const tested = await found.test(names.length > 0 ? names : found.servers.map(({ name }) => name));
  for (const result of tested) {
    if (json) shell.stdout.write(`${JSON.stringify(result)}\n`);
    else if (result.state === "ready") shell.stdout.write(`${visible(result.name)}: ready, ${count(result.tools.length)}${result.tools.map((tool) => `\n  ${visible(tool)}`).join("")}\n`);
    else shell.stdout.write(`${visible(result.name)}: ${result.state}${result.message === undefined ? "" : `: ${visible(result.message)}`}\n`);
  }
  if (tested.length === 0 && !json) shell.stderr.write("No MCP servers are configured.\n");
  return tested.some(({ state }) => state === "failed") ? EXIT.failed : EXIT.done;
}

function newServer(name: string | undefined, [command, ...args]: readonly string[], values: Values): NewMcpServer {
  const { url, env, "bearer-token-env-var": variable } = values;
  if (name === undefined || (command === undefined) === (url === undefined)) throw usage("What is to be added? skein mcp add NAME -- COMMAND [ARG]..., or skein mcp add NAME --url URL");
  if (typeof url === "string") {
    if (env !== undefined) throw usage("--env goes with a command: a server at an address has an environment of its own.");
    return { url, ...(typeof variable === "string" ? { bearer_token_env_var: variable } : {}) };
  }
  if (variable !== undefined) throw usage("--bearer-token-env-var goes with --url.");
  return { command: command!, args, env: Object.fromEntries(((env ?? []) as string[]).map(variableOf)) };
}

function variableOf(text: string): [string, string] {
  const at = text.indexOf("=");
  // A value may be a secret.
  if (at < 1) throw usage(`--env takes NAME=VALUE, not "${at < 0 ? visible(text) : "=…"}".`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** As one would type it. */
function asWord(name: string): string {
  return /^[\w.-]+$/u.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function count(tools: number): string {
  return tools === 1 ? "one tool" : `${tools} tools`;
}

/** What a terminal would act upon is shown as a question mark; lines stay lines. */
function visible(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, "?");
}

function usage(message: string): UserError {
  return new UserError(message, EXIT.usage);
}
