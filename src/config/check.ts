/** Check: one parsed table against the schema → its values as leaves, and everything that is wrong with it, each with its place. */
import type { Leaf, Origin, Problem, Rule, Value } from "./config.ts";
import { formatPath, nearest, quoted, type Path } from "./keys.ts";
import { CONFIG_KEYS, type Keys, type Kind } from "./schema.ts";

export interface Given {
  /** Where a key of this layer stands. */
  origin(path: Path): Origin;
  /** A path as written → absolute. */
  absolute(path: string): string;
}

export interface Checked {
  leaves: Leaf[];
  problems: Problem[];
}

type Table = Readonly<Record<string, unknown>>;

export function check(root: Table, given: Given): Checked {
  const leaves: Leaf[] = [];
  const problems: Problem[] = [];
  const say = (severity: Problem["severity"], path: Path, text: string) => void problems.push({ severity, at: given.origin(path), text });

  function table(value: Table, keys: Keys, path: Path): void {
    const before = leaves.length;
    for (const name of Object.keys(value)) {
      const here = [...path, name];
      const kind = Object.hasOwn(keys, name) ? keys[name]! : null;
      if (kind === null) say("unknown", here, unknownKey(name, keys, path));
      else if (kind.kind !== "alias") walk(value[name], kind, { here, path: here });
      else if (Object.hasOwn(value, kind.of)) say("warning", here, `${formatPath(here)} is another name of ${kind.of}, which is set too: ${kind.of} counts.`);
      else walk(value[name], keys[kind.of]!, { here, path: [...path, kind.of] });
    }
    if (leaves.length === before && path.length > 0) leaves.push({ path, value: {}, origin: given.origin(path) });
  }

  /** `here` is where the value stands in the text, `path` what it means; they differ for aliases. */
  function walk(value: unknown, kind: Kind, { here, path, secret = false }: { here: Path; path: Path; secret?: boolean }): void {
    const hidden = secret || kind.kind === "variable" || (kind.kind === "map" && kind.secret === true);
    const wrong = (must: string, hint = "") => say("error", here, `${formatPath(here)} must be ${must}, not ${hidden ? typeOf(value) : describe(value)}.${hint}`);
    if (kind.kind === "table" || kind.kind === "map") {
      if (!isTable(value)) wrong(mustBe(kind));
      else if (kind.kind === "table") table(value, kind.keys, path);
      else if (Object.keys(value).length === 0) leaves.push({ path, value: {}, origin: given.origin(here) });
      else for (const name of Object.keys(value)) walk(value[name], kind.of, { here: [...here, name], path: [...path, name], secret: hidden });
      return;
    }
    if (kind.kind === "rules") {
      if (!Array.isArray(value)) wrong(mustBe(kind));
      else value.forEach((each: unknown, index) => rule(each, kind.keys, [...path, String(index)]));
      return;
    }
    const read = readValue(value, kind, given.absolute);
    if (read.ok) {
      if (kind.kind === "word" && !kind.known.includes(read.value as string)) say("warning", here, `${formatPath(here)} = ${quoted(read.value as string)} is not one of ${kind.known.join(", ")}; it is passed on as it is.`);
      leaves.push({ path, value: read.value, origin: given.origin(here) });
    } else if (read.at !== undefined) say("error", [...here, read.at], `${formatPath(here)} must be ${read.must}; its element ${Number(read.at) + 1} is ${describe((value as unknown[])[Number(read.at)])}.`);
    else {
      const meant = kind.kind === "enum" && typeof value === "string" ? nearest(value, kind.values) : null;
      wrong(read.must, meant === null ? "" : ` Did you mean ${quoted(meant)}?`);
    }
  }

  function rule(value: unknown, keys: Keys, path: Path): void {
    if (!isTable(value)) return say("error", path, `each of [[rules]] must be a table, not ${describe(value)}.`);
    const before = problems.length;
    const mine: Record<string, Value> = {};
    for (const name of Object.keys(value)) {
      const here = [...path, name];
      const kind = Object.hasOwn(keys, name) ? keys[name]! : null;
      if (kind === null) {
        say("unknown", here, unknownKey(name, keys, path));
        continue;
      }
      const read = readValue(value[name], kind, given.absolute);
      if (read.ok) mine[name] = read.value;
      else say("error", here, `${name} of a rule must be ${read.must}, not ${describe(value[name])}.`);
    }
    if (problems.slice(before).some(({ severity }) => severity === "error")) return;
    const { argv_prefix: prefix, decision } = mine as Partial<Rule>;
    if (prefix === undefined || decision === undefined) return say("error", path, `a rule needs argv_prefix and decision; this one has no ${prefix === undefined ? "argv_prefix" : "decision"}.`);
    if (prefix.length === 0 || prefix.includes("")) return say("error", [...path, "argv_prefix"], "argv_prefix of a rule must name at least a program, and no empty words.");
    const spaced = prefix.find((word) => /\s/u.test(word));
    if (spaced !== undefined) say("warning", [...path, "argv_prefix"], `${quoted(spaced)} in argv_prefix is compared with one word of a command. If several are meant, write ${spaced.trim().split(/\s+/u).map(quoted).join(", ")}.`);
    leaves.push({ path, value: { argv_prefix: prefix, decision }, origin: given.origin(path) });
  }

  table(root, CONFIG_KEYS, []);
  return { leaves, problems };
}

type Read = { ok: true; value: Value } | { ok: false; must: string; at?: string };

/** Kinds that hold one value. */
function readValue(value: unknown, kind: Kind, absolute: (path: string) => string): Read {
  const refused: Read = { ok: false, must: mustBe(kind) };
  switch (kind.kind) {
    case "string":
    case "word":
      return typeof value === "string" && value.trim() !== "" ? { ok: true, value } : refused;
    case "text":
      return typeof value === "string" ? { ok: true, value } : refused;
    case "variable":
      return typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/u.test(value) ? { ok: true, value } : refused;
    case "path":
      return typeof value === "string" && value !== "" ? { ok: true, value: absolute(value) } : refused;
    case "url":
      return typeof value === "string" && isUrl(value) ? { ok: true, value } : refused;
    case "enum":
      return typeof value === "string" && kind.values.includes(value) ? { ok: true, value } : refused;
    case "boolean":
      return typeof value === "boolean" ? { ok: true, value } : refused;
    case "integer":
      return typeof value === "number" && Number.isInteger(value) && value >= kind.min && value <= kind.max ? { ok: true, value } : refused;
    case "number":
      return typeof value === "number" && value >= kind.min && value <= kind.max ? { ok: true, value } : refused;
    case "strings":
    case "paths": {
      if (!Array.isArray(value)) return refused;
      const odd = value.findIndex((each) => typeof each !== "string" || (kind.kind === "paths" && each === ""));
      if (odd >= 0) return { ...refused, at: String(odd) };
      return { ok: true, value: kind.kind === "paths" ? (value as string[]).map(absolute) : (value as string[]) };
    }
    default:
      return refused;
  }
}

function isUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

function mustBe(kind: Kind): string {
  switch (kind.kind) {
    case "string":
    case "word":
      return "a string that is not empty";
    case "text":
      return "a string";
    case "variable":
      return "the name of an environment variable (never the key itself)";
    case "path":
      return "a path";
    case "url":
      return "an http or https address without a user name or password";
    case "enum":
      return `one of ${kind.values.map(quoted).join(", ")}`;
    case "integer":
    case "number": {
      const what = kind.kind === "integer" ? "a whole number" : "a number";
      return kind.max < Number.MAX_SAFE_INTEGER ? `${what} from ${kind.min} to ${kind.max}` : `${what} of at least ${kind.min}`;
    }
    case "boolean":
      return "true or false, without quotes";
    case "strings":
      return "a list of strings";
    case "paths":
      return "a list of paths";
    case "rules":
      return "a list of tables, written [[rules]]";
    case "table":
    case "map":
      return "a table";
    case "alias":
      return `what ${kind.of} is`;
  }
}

function typeOf(value: unknown): string {
  if (typeof value === "string") return "a string";
  if (typeof value === "number" || typeof value === "bigint") return "a number";
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return "a list";
  return isTable(value) ? "a table" : "a date";
}

function describe(value: unknown): string {
  if (typeof value === "string") return quoted(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  return typeof value === "number" || typeof value === "bigint" ? String(value) : typeOf(value);
}

function unknownKey(name: string, keys: Keys, path: Path): string {
  const shown = formatPath([...path, name]);
  const top = path.length > 0 && Object.hasOwn(CONFIG_KEYS, name) ? CONFIG_KEYS[name]! : null;
  if (top !== null) return `unknown key ${shown}: ${name} is not part of a table${top.kind === "table" || top.kind === "map" || top.kind === "rules" ? "" : ", so it goes above the first [table]"}.`;
  const meant = nearest(name, Object.keys(keys));
  if (meant !== null) return `unknown key ${shown}. Did you mean ${formatPath([...path, meant])}?`;
  const home = Object.entries(CONFIG_KEYS).find(([, kind]) => kind.kind === "table" && Object.hasOwn(kind.keys, name));
  return home && home[0] !== path[0] ? `unknown key ${shown}. Did you mean ${home[0]}.${name}?` : `unknown key ${shown}.`;
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
