// node scripts/check-cycles.mjs [ROOT]: fails when files of src/ import each other in a circle.
//
// An import of a type counts: a circle of types is a circle for whoever reads the code. Every file that lies on a circle
// is named, the first of each by the shortest circle through it.

import { readSources, resolveRelative } from "./import-graph.mjs";
import { rootArgument } from "./root-argument.mjs";

/** @typedef {Map<string, Set<string>>} Graph file → the files it imports */

const graph = readGraph(rootArgument());
const reported = new Set();
for (const file of graph.keys()) {
  if (reported.has(file)) continue;
  const circle = shortestCircle(file);
  if (circle === undefined) continue;
  for (const member of circle) reported.add(member);
  process.stdout.write(`import cycle: ${[...circle, file].join(" → ")}\n`);
  process.exitCode = 1;
}

/** @param {string} root @returns {Graph} */
function readGraph(root) {
  const sources = readSources(root);
  const known = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, references }) => {
      const targets = references.flatMap(({ specifier }) => (specifier?.startsWith(".") ? [resolveRelative({ root, from: path, specifier })] : []));
      return [path, new Set(targets.filter((target) => known.has(target)))];
    }),
  );
}

/** Breadth first from `start` until `start` is reached again. @param {string} start */
function shortestCircle(start) {
  /** @type {Map<string, string>} */
  const reachedFrom = new Map();
  const queue = [start];
  for (const file of queue) {
    for (const next of graph.get(file) ?? []) {
      if (next === start) return pathBack(reachedFrom, file);
      if (reachedFrom.has(next)) continue;
      reachedFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

/** @param {Map<string, string>} reachedFrom @param {string} last */
function pathBack(reachedFrom, last) {
  const path = [last];
  for (let file = reachedFrom.get(last); file !== undefined; file = reachedFrom.get(file)) path.unshift(file);
  return path;
}
