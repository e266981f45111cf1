/**
 * Listing: what a server says of its tools, read leniently: a tool that makes no sense is left out and told of, the others stay. All of it
 * is bounded, because all of it goes to the model.
 */
import { stripVTControlCharacters } from "node:util";
import type { Json } from "../../protocol/json.ts";

const MOST_PAGES = 100;
/** A server's tools that a model is told of. */
const MOST_TOOLS = 256;
const LONGEST_NAME = 256;
const LONGEST_DESCRIPTION = 4000;
const LARGEST_SCHEMA = 50_000;
const DEEPEST_SCHEMA = 40;

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
  /** What the server promises of it. */
  readonly readOnly: boolean;
  /** It talks to others than the server. What is not said counts as yes. */
  readonly openWorld: boolean;
}

export interface Listing {
  readonly tools: readonly ListedTool[];
  /** What was left out or changed, and why. */
  readonly problems: readonly string[];
}

export function readListing(raw: readonly unknown[], isWanted: (name: string) => boolean): Listing {
  const problems: string[] = [];
  const found = new Map<string, ListedTool>();
  let nameless = 0;
  let twice = 0;
  for (const each of raw) {
    const name = isObject(each) ? each["name"] : undefined;
    if (!isObject(each) || typeof name !== "string" || name === "" || name.length > LONGEST_NAME) nameless += 1;
    else if (found.has(name)) twice += 1;
    else if (isWanted(name)) found.set(name, readTool(name, each));
  }
  const vague = [...found.values()].filter(({ parameters }) => parameters === ANYTHING).map(({ name }) => JSON.stringify(name.slice(0, 60))).toSorted();
  if (vague.length > 0) problems.push(`the arguments of ${vague.slice(0, 5).join(", ")}${vague.length > 5 ? " and others" : ""} are not described in a form that models take; they are told that any are taken`);
  if (nameless > 0) problems.push(`${count(nameless)} without a usable name left out`);
  if (twice > 0) problems.push(`${count(twice)} left out because of a name that another has`);
  const tools = [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (tools.length <= MOST_TOOLS) return { tools, problems };
  return { tools: tools.slice(0, MOST_TOOLS), problems: [...problems, `${count(tools.length - MOST_TOOLS)} left out because there are more than ${MOST_TOOLS}: choose with enabled_tools`] };
}

export type Answer = { ok: true; result: unknown } | { ok: false; message: string };

/** The elements of a list that comes in pages. */
export async function collectPages(key: string, ask: (params: { cursor?: string }) => Promise<Answer>): Promise<{ ok: true; items: unknown[] } | { ok: false; message: string }> {
  const items: unknown[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await ask(cursor === null ? {} : { cursor });
    if (!answer.ok) return answer;
    const { result } = answer;
    if (!isObject(result) || !Array.isArray(result[key])) return { ok: false, message: "its answer is not in the form that MCP has" };
    for (const item of result[key]) items.push(item);
    const next = result["nextCursor"];
    if (typeof next !== "string" || next === "" || next === cursor) break;
    cursor = next;
  }
  return { ok: true, items };
}

const ANYTHING = { type: "object", properties: {} };

function readTool(name: string, raw: Readonly<Record<string, unknown>>): ListedTool {
  const notes = isObject(raw["annotations"]) ? raw["annotations"] : {};
  const title = [raw["title"], notes["title"]].find((text) => typeof text === "string" && text !== "") as string | undefined;
  const described = typeof raw["description"] === "string" && raw["description"] !== "" ? raw["description"] : (title ?? name);
  return {
    name,
    description: described.length > LONGEST_DESCRIPTION ? `${described.slice(0, LONGEST_DESCRIPTION)}…` : described,
    parameters: readSchema(raw["inputSchema"]) ?? ANYTHING,
    readOnly: notes["readOnlyHint"] === true,
    openWorld: notes["openWorldHint"] !== false,
  };
}

/** An object schema, or null. */
function readSchema(raw: unknown): Json | null {
  if (!isObject(raw) || (raw["type"] !== undefined && raw["type"] !== "object") || !isShallow(raw, DEEPEST_SCHEMA)) return null;
  if (JSON.stringify(raw).length > LARGEST_SCHEMA) return null;
  const { $schema: _, ...rest } = raw;
  return { ...rest, type: "object", properties: isObject(raw["properties"]) ? raw["properties"] : {} } as Json;
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}

/** What a server says, for a terminal: without colours and whatever else a terminal would act upon. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{Cc}\n\t]/gu, "");
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function count(tools: number): string {
  return tools === 1 ? "one tool" : `${tools} tools`;
}
