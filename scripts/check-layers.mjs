// node scripts/check-layers.mjs [ROOT]: fails on an import against the arrows of docs/architecture.md.
//
// The rule: a file may import from its own folder and from the folders that MAY_IMPORT lists for it, and from nowhere
// else in the repository; an import of a type counts like any other. A folder that is not listed has no place yet, so
// it fails until the table says where it stands. main.ts may import everything and is imported by nothing.

import { isBuiltin } from "node:module";
import { readSources, resolveRelative } from "./import-graph.mjs";
import { rootArgument } from "./root-argument.mjs";

/** @type {Record<string, string[]>} */
const MAY_IMPORT = {
  protocol: [],
  core: ["protocol"],

  runtime: ["core", "protocol"],
  server: ["runtime", "core", "protocol"],

  net: [],
  stores: ["core", "protocol"],
  providers: ["net", "core", "protocol"],
  tools: ["net", "core", "protocol"],
  workspace: ["core", "protocol"],
  context: ["core", "protocol"],
  library: ["core", "protocol"],
  config: ["core", "protocol"],

  embed: ["client", "config", "context", "core", "library", "net", "protocol", "providers", "runtime", "server", "stores", "tools"],

  client: ["core", "protocol"],
  cli: ["client", "core", "protocol"],
  tui: ["client", "core", "protocol"],
  web: ["client", "core", "protocol"],
};

/**
 * What a folder may not import from outside the repository, and why.
 * @type {Record<string, { forbids: (specifier: string) => boolean, because: string }>}
 */
const OUTSIDE = {
  protocol: { forbids: () => true, because: "protocol runs anywhere: no Node modules and no packages" },
  core: { forbids: () => true, because: "core is pure: no Node modules and no packages" },
  runtime: { forbids: (specifier) => /^(?:node:)?fs(?:\/|$)/u.test(specifier), because: "runtime reaches files through the ports of core only" },
};

const root = rootArgument();
const violations = readSources(root).flatMap(({ path, references }) => {
  const folder = folderOf(path);
  if (folder !== "main.ts" && MAY_IMPORT[folder] === undefined) {
    return [`${path}: src/${folder} has no place in the layers — add it to MAY_IMPORT in scripts/check-layers.mjs`];
  }
  return references.flatMap(({ specifier, line }) => {
    const complaint = specifier === undefined ? judgeComputed(folder) : judge(path, specifier);
    return complaint === undefined ? [] : [`${path}:${line} ${complaint}`];
  });
});

if (violations.length > 0) {
  process.stdout.write(`${violations.join("\n")}\n`);
  process.exitCode = 1;
}

/** @param {string} from @param {string} specifier */
function judge(from, specifier) {
  const folder = folderOf(from);
  if (!specifier.startsWith(".")) return judgeOutside(folder, specifier);
  const target = resolveRelative({ root, from, specifier });
  if (!target.startsWith("src/")) return `imports ${target} — sources import only from src/`;
  const targetFolder = folderOf(target);
  if (targetFolder === folder) return undefined;
  if (targetFolder === "main.ts") return "imports main.ts — nothing imports main.ts";
  if (folder === "main.ts" || MAY_IMPORT[folder]?.includes(targetFolder)) return undefined;
  return `imports ${target.slice("src/".length)} — ${folder} may import: ${MAY_IMPORT[folder]?.join(", ") || "nothing"}`;
}

/** @param {string} folder @param {string} specifier */
function judgeOutside(folder, specifier) {
  if (/^skein(?:\/|$)/u.test(specifier)) return `imports ${specifier} — inside src, import by relative path`;
  const rule = OUTSIDE[folder];
  if (!rule?.forbids(specifier)) return undefined;
  return `imports ${isBuiltin(specifier) ? "" : "the package "}${specifier} — ${rule.because}`;
}

/** @param {string} folder */
function judgeComputed(folder) {
  return OUTSIDE[folder] === undefined ? undefined : `imports a computed name — in ${folder} every import is a literal, so that it can be checked`;
}

/** @param {string} path relative to the root */
function folderOf(path) {
  return path.split("/")[1] ?? "";
}
