/**
 * Servers: `[mcp_servers.NAME]` as people see and change it. A change is made in the text, so that comments and order stay, and is written
 * only when the text then says exactly what it said before, with that one server more or less.
 */
import { isDeepStrictEqual } from "node:util";
import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { check } from "./check.ts";
import { originText, type Config, type McpServer, type Origin } from "./config.ts";
import { formatPath, quoted, scanPath, skipBlanks } from "./keys.ts";
import { parseConfig, readConfigFile } from "./read.ts";

export type Edited = { ok: true; text: string } | { ok: false; missing?: boolean; message: string };
export type NewServer = Pick<McpServer, "command" | "url" | "bearer_token_env_var"> & { args?: readonly string[]; env?: Readonly<Record<string, string>> };

export interface ServerRow {
  name: string;
  transport: "stdio" | "http";
  /** The command line, or the address. */
  target: string;
  enabled: boolean;
  origin: string;
}

/** What is configured, and how it is changed: in the config of the home. */
export function configuredServers({ home, config, origins }: { home: string; config: Config; origins: ReadonlyMap<string, Origin> }) {
  const file = join(home, "config.toml");
  return {
    file,
    servers: serverRows(config, origins),
    add: (name: string, server: NewServer) => editConfig(file, (text) => addServer(text, { file, name, server })),
    remove: (name: string) => editConfig(file, (text) => removeServer(text, { file, name })),
  };
}

function serverRows(config: Config, origins: ReadonlyMap<string, Origin>): ServerRow[] {
  return Object.entries(config.mcp_servers).map(([name, { command, args, url, enabled }]) => {
    const origin = origins.get(formatPath(["mcp_servers", name, command === undefined ? "url" : "command"]));
    return { name, transport: command === undefined ? "http" : "stdio", target: command === undefined ? url! : [command, ...args].join(" "), enabled, origin: origin ? originText(origin) : "" };
  });
}

export async function addServer(text: string, { file, name, server }: { file: string; name: string; server: NewServer }): Promise<Edited> {
  const before = await tableOf(file, text);
  if (!before.ok) return before;
  if (Object.hasOwn(before.servers, name)) return { ok: false, message: `${file} has an MCP server ${quoted(name)} already. Remove it first, or choose another name.` };
  const gap = text === "" || text.endsWith("\n\n") ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  const added = `${text}${gap}${sectionOf(name, server)}`;
  const after = await tableOf(file, added);
  if (!after.ok || !isDeepStrictEqual(without(after.table, name), without(before.table, name))) return byHand(file, "add", name);
  const origin = (): Origin => ({ layer: "home", file });
  const wrong = check({ mcp_servers: { [name]: after.servers[name] } }, { origin, absolute: (path) => path }).problems.find(({ severity }) => severity === "error");
  return wrong ? { ok: false, message: `Nothing was changed: ${wrong.text}` } : { ok: true, text: added };
}

export async function removeServer(text: string, { file, name }: { file: string; name: string }): Promise<Edited> {
  const before = await tableOf(file, text);
  if (!before.ok) return before;
  if (!Object.hasOwn(before.servers, name)) return { ok: false, missing: true, message: `${file} has no MCP server ${quoted(name)}.` };
  const removed = withoutSections(text, name);
  const after = await tableOf(file, removed);
  const isGone = after.ok && !Object.hasOwn(after.servers, name) && isDeepStrictEqual(without(after.table, name), without(before.table, name));
  return isGone ? { ok: true, text: removed } : byHand(file, "remove", name);
}

/** Changes a file by its text, all of it or nothing. A link stays one. Only the user may read the result: it may hold keys. */
export async function editConfig(file: string, edit: (text: string) => Promise<Edited>): Promise<Edited> {
  const read = readConfigFile(file);
  if (!read.ok) return { ok: false, message: `Nothing was changed: ${read.message}` };
  const edited = await edit(read.bytes === null ? "" : Buffer.from(read.bytes).toString("utf8"));
  if (!edited.ok) return edited;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const target = read.bytes === null ? file : realpathSync(file);
  const unfinished = `${target}.${process.pid}.unfinished`;
  const descriptor = openSync(unfinished, "w", 0o600);
  try {
    writeFileSync(descriptor, edited.text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(unfinished, target);
  return edited;
}

type Table = Readonly<Record<string, unknown>>;

async function tableOf(file: string, text: string): Promise<{ ok: true; table: Table; servers: Table } | { ok: false; message: string }> {
  const parsed = await parseConfig(file, Buffer.from(text));
  if (!parsed.ok) return { ok: false, message: `Nothing was changed: ${parsed.message}` };
  return { ok: true, table: parsed.table, servers: (parsed.table["mcp_servers"] ?? {}) as Table };
}

/** A table of servers that is left empty counts as none. */
function without(table: Table, name: string): Table {
  const { mcp_servers: all, ...rest } = table;
  const { [name]: _, ...others } = (all ?? {}) as Table;
  return Object.keys(others).length === 0 ? rest : { ...rest, mcp_servers: others };
}

function sectionOf(name: string, { command, args = [], env = {}, url, bearer_token_env_var: variable }: NewServer): string {
  const list = (values: readonly string[]) => `[${values.map(quoted).join(", ")}]`;
  const pairs = Object.entries(env).map(([key, value]) => `${formatPath([key])} = ${quoted(value)}`);
  return [
    `[${formatPath(["mcp_servers", name])}]`,
    ...(command === undefined ? [] : [`command = ${quoted(command)}`]),
    ...(args.length === 0 ? [] : [`args = ${list(args)}`]),
    ...(pairs.length === 0 ? [] : [`env = { ${pairs.join(", ")} }`]),
    ...(url === undefined ? [] : [`url = ${quoted(url)}`]),
    ...(variable === undefined ? [] : [`bearer_token_env_var = ${quoted(variable)}`]),
    "",
  ].join("\n");
}

/** Each section goes from its header to the last line of it that says something: comments before the next header are the next one's. */
function withoutSections(text: string, name: string): string {
  const lines = text.split(/(?<=\n)/u);
  const kept: string[] = [];
  let held: string[] = [];
  let inside = false;
  for (const line of lines) {
    const path = headerOf(line);
    const wasInside = inside;
    if (path !== null) inside = path[0] === "mcp_servers" && path[1] === name;
    if (!inside) {
      kept.push(...(wasInside ? withoutLeadingBlanks(held) : held), line);
      held = [];
    } else if (path !== null && !wasInside) held = [];
    else if (/^\s*(?:#|$)/u.test(line)) held.push(line);
    else held = [];
  }
  kept.push(...(inside ? withoutLeadingBlanks(held) : held));
  const left = kept.join("");
  return inside ? left.replace(/\n{2,}$/u, "\n") : left;
}

function headerOf(line: string): readonly string[] | null {
  const at = skipBlanks(line, 0);
  if (line[at] !== "[") return null;
  const key = scanPath(line, line[at + 1] === "[" ? at + 2 : at + 1);
  return key !== null && line[key.end] === "]" ? key.path : null;
}

function withoutLeadingBlanks(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first);
}

function byHand(file: string, what: "add" | "remove", name: string): Edited {
  const how = what === "add" ? `mcp_servers is not written as tables of its own there` : `it is not written as a table ${formatPath(["mcp_servers", name])} of its own there`;
  return { ok: false, message: `${file} was not changed: ${how}. ${what === "add" ? "Add" : "Remove"} the server ${quoted(name)} by hand.` };
}
