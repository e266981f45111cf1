/**
 * Overrides: `-c key=value` → a layer. The key is a dotted path whose parts may be quoted; the value is TOML, and what is not TOML is a
 * string, so that `-c model=o3` needs no quotes. A later one wins over an earlier one.
 */
import { check, type Checked } from "./check.ts";
import type { Origin } from "./config.ts";
import { formatPath, scanPath } from "./keys.ts";
import { parseValue } from "./read.ts";

export async function readOverrides(texts: readonly string[], absolute: (path: string) => string): Promise<Checked> {
  const all: Checked = { leaves: [], problems: [] };
  for (const text of texts) {
    const { leaves, problems } = await readOverride(text, absolute);
    all.leaves.push(...leaves);
    all.problems.push(...problems);
  }
  return all;
}

async function readOverride(text: string, absolute: (path: string) => string): Promise<Checked> {
  const key = scanPath(text, 0);
  if (key === null || text[key.end] !== "=") {
    const at: Origin = { layer: "override", name: "-c" };
    const why = key === null ? "what comes first is not a key" : "there is no = after the key";
    return { leaves: [], problems: [{ severity: "error", at, text: `${why}; it is written -c key=value, for example -c model="gpt-5" or -c history.persistence=none.` }] };
  }
  const at: Origin = { layer: "override", name: `-c ${formatPath(key.path)}` };
  if (key.path[0] === "projects") {
    return { leaves: [], problems: [{ severity: "warning", at, text: "is ignored: which folders are trusted is read from the config file of the home only." }] };
  }
  const raw = text.slice(key.end + 1).trim();
  const parsed = await parseValue(raw);
  const value = parsed === null ? raw.replace(/^["']+|["']+$/gu, "") : parsed.value;
  return check(nest(key.path, value), { origin: () => at, absolute });
}

function nest(path: readonly string[], value: unknown): Record<string, unknown> {
  const root = Object.create(null) as Record<string, unknown>;
  let table = root;
  for (const part of path.slice(0, -1)) table = table[part] = Object.create(null) as Record<string, unknown>;
  table[path.at(-1)!] = value;
  return root;
}
