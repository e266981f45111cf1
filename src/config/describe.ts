/** Describe: the config as `skein config` shows it: each value and where it came from. Values that may be secrets are never shown. */
import { createRedactor } from "../core/redact.ts";
import { originText, type Config, type Origin } from "./config.ts";
import { formatPath, quoted, type Path } from "./keys.ts";
import { CONFIG_KEYS, type Keys, type Kind } from "./schema.ts";

export interface Row {
  key: string;
  /** Null: not set. */
  value: string | number | boolean | readonly string[] | null;
  origin: string;
}

const HIDDEN = "[hidden]";
const NOT_SET = "not set";

export function describeConfig(config: Config, origins: ReadonlyMap<string, Origin>): Row[] {
  const redact = createRedactor(config.history.sensitive_patterns).text;
  const rows: Row[] = [];
  const add = (path: Path, value: Row["value"]) => {
    const key = formatPath(path);
    const origin = origins.get(key);
    rows.push({ key, value, origin: origin ? originText(origin) : value === null ? NOT_SET : originText({ layer: "default" }) });
  };

  function table(value: Readonly<Record<string, unknown>>, keys: Keys, path: Path): void {
    for (const [name, kind] of Object.entries(keys)) if (kind.kind !== "alias") walk(value[name], kind, [...path, name]);
  }

  function walk(value: unknown, kind: Kind, path: Path): void {
    if (path[0] === "profiles") return add(path, (value as string[]).length === 0 ? null : (value as string[]));
    if (kind.kind === "table") return table(value as Record<string, unknown>, kind.keys, path);
    if (kind.kind === "map") {
      for (const [name, each] of Object.entries((value ?? {}) as Record<string, unknown>)) {
        if (kind.secret) add([...path, name], HIDDEN);
        else walk(each, kind.of, [...path, name]);
      }
      return;
    }
    if (kind.kind === "rules") return (value as Config["rules"]).forEach((rule, index) => add([...path, String(index)], [rule.decision, ...rule.argv_prefix.map(redact)]));
    add(path, value === undefined ? null : safe(value as NonNullable<Row["value"]>, kind));
  }

  function safe(value: NonNullable<Row["value"]>, kind: Kind): Row["value"] {
    if (kind.kind === "url") return redact((value as string).replace(/\?.*$/su, `?${HIDDEN}`));
    if (typeof value === "string") return redact(value);
    return typeof value === "object" ? value.map(redact) : value;
  }

  table(config as unknown as Record<string, unknown>, CONFIG_KEYS, []);
  return rows;
}

/** For people: without the tables that nobody has touched and the keys that nobody has set. */
export function configText(rows: readonly Row[]): string {
  const builtIn = originText({ layer: "default" });
  const shown = rows.filter(({ key, value, origin }) => value !== null && !(origin === builtIn && key.startsWith("model_providers.")));
  const cells = shown.map(({ key, value, origin }) => ({ left: `${key} = ${render(value)}`, origin }));
  const width = Math.min(60, Math.max(0, ...cells.map(({ left }) => left.length)));
  return cells.map(({ left, origin }) => `${left.padEnd(width)}  # ${origin}\n`).join("");
}

function render(value: Row["value"]): string {
  if (typeof value === "string") return quoted(value);
  return typeof value === "object" && value !== null ? `[${value.map(quoted).join(", ")}]` : String(value);
}
