/** Merge: layers, weakest first → one value for each key with its origin → Config. Rules add up; everything else replaces, key by key. */
import type { Config, Leaf, Origin, Problem, Rule } from "./config.ts";
import { flatten, PROVIDER_DEFAULTS, REPLAY, SERVER_DEFAULTS } from "./defaults.ts";
import { formatPath, nearest, quoted } from "./keys.ts";

export type Merged = Map<string, Leaf>;

export function overlay(merged: Merged, leaves: readonly Leaf[]): Merged {
  for (const leaf of leaves) {
    if (leaf.path[0] === "rules") append(merged, leaf);
    else merged.set(formatPath(leaf.path), leaf);
  }
  // Beside a table of its own, `openai_base_url` is the newer and more particular word of the same layer.
  for (const leaf of leaves) {
    if (leaf.path[0] !== "openai_base_url") continue;
    const path = ["model_providers", "openai", "base_url"];
    merged.set(formatPath(path), { ...leaf, path });
  }
  return merged;
}

function append(merged: Merged, leaf: Leaf): void {
  let index = 0;
  while (merged.has(`rules.${index}`)) index += 1;
  merged.set(`rules.${index}`, { ...leaf, path: ["rules", String(index)] });
}

/** The names in a table whose keys people choose. */
export function namesIn(merged: Merged, table: string): Set<string> {
  const names = new Set<string>();
  for (const { path } of merged.values()) if (path[0] === table && path[1] !== undefined) names.add(path[1]);
  return names;
}

/** Fills in what each provider and server did not say. */
export function complete(merged: Merged): void {
  const fill = (leaf: Leaf) => {
    const key = formatPath(leaf.path);
    const inside = typeof leaf.value === "object" && [...merged.keys()].some((other) => other.startsWith(`${key}.`));
    if (!merged.has(key) && !inside) merged.set(key, leaf);
  };
  for (const name of namesIn(merged, "model_providers")) flatten({ name, ...PROVIDER_DEFAULTS }, ["model_providers", name]).forEach(fill);
  for (const name of namesIn(merged, "mcp_servers")) flatten(SERVER_DEFAULTS, ["mcp_servers", name]).forEach(fill);
}

/** What only the whole can show. */
export function contradictions(merged: Merged): Problem[] {
  const problems: Problem[] = [];
  const providers = namesIn(merged, "model_providers");
  const placeOf = (table: string, name: string): Origin => [...merged.values()].find(({ path }) => path[0] === table && path[1] === name)!.origin;
  const error = (at: Origin, text: string) => void problems.push({ severity: "error", at, text });

  const chosen = merged.get("model_provider");
  if (chosen && chosen.value !== REPLAY && !providers.has(chosen.value as string)) {
    const meant = nearest(chosen.value as string, [...providers, REPLAY]);
    const hint = meant === null ? ` There are: ${[...providers, REPLAY].map((name) => quoted(name)).join(", ")}.` : ` Did you mean ${quoted(meant)}?`;
    error(chosen.origin, `there is no model provider ${quoted(chosen.value as string)}; describe it in ${formatPath(["model_providers", chosen.value as string])}.${hint}`);
  }
  for (const name of providers) {
    const path = formatPath(["model_providers", name]);
    if (name === REPLAY) error(placeOf("model_providers", name), `the provider "${REPLAY}" plays recordings and has no server; choose another name for ${path}.`);
    else if (!merged.has(`${path}.base_url`)) error(placeOf("model_providers", name), `${path} has no base_url: Skein does not know where that provider is.`);
  }
  for (const name of namesIn(merged, "mcp_servers")) {
    const path = formatPath(["mcp_servers", name]);
    const [command, url] = [merged.get(`${path}.command`), merged.get(`${path}.url`)];
    if (command && url) error(url.origin, `${path} has both command and url; a server is either started here or reached by address.`);
    if (!command && !url) error(placeOf("mcp_servers", name), `${path} has neither command (to start a server here) nor url (to reach one).`);
  }
  for (const name of namesIn(merged, "projects")) {
    const path = formatPath(["projects", name]);
    if (!merged.has(`${path}.trust_level`)) error(placeOf("projects", name), `${path} has no trust_level; it is "trusted" or "untrusted".`);
  }
  return problems;
}

export function build(merged: Merged, profiles: Iterable<string>): { config: Config; origins: Map<string, Origin> } {
  const root = bare();
  const origins = new Map<string, Origin>();
  const rules: Rule[] = [];
  for (const [key, { path, value, origin }] of merged) {
    if (path[0] === "rules") rules.push(value as Rule);
    else place(root, path, value);
    if (!isEmptyTable(value)) origins.set(key, origin);
  }
  root["rules"] = rules;
  root["profiles"] = [...profiles];
  return { config: root as unknown as Config, origins };
}

function place(root: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let table = root;
  for (const part of path.slice(0, -1)) table = (table[part] ??= bare()) as Record<string, unknown>;
  const last = path.at(-1)!;
  if (isEmptyTable(value)) table[last] ??= bare();
  else table[last] = Array.isArray(value) ? [...(value as string[])] : value;
}

const bare = () => Object.create(null) as Record<string, unknown>;

function isEmptyTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
