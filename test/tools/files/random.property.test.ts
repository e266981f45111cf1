/** Random arguments, ten thousand of them, over all file tools: nothing is thrown, and nothing on disk changes. */
import fc from "fast-check";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SandboxMode } from "../../../src/protocol/record.ts";
import { allTools, put, run, tree, world } from "./given.ts";

const SEED = 20_260_132;

const place = world({ "a.txt": "one\ntwo\n", "dir/b": "x\0y", "pic.png": Buffer.from("\u0089PNG\r\n\u001a\nrest", "latin1") });
put(join(place.outside, "canary.txt"), "one\n");
symlinkSync("../outside", join(place.cwd, "out"));
symlinkSync("broken", join(place.cwd, "broken"));
const names = allTools(place).map(({ name }) => name);

const path = fc.constantFrom("a.txt", "dir", "dir/b", "pic.png", "out/canary.txt", "../home", "/", "/proc/self/environ", "/etc/shadow", "broken", "nope", "", ".", "a\0b", "\ud800", "x".repeat(5000), "--help", "~", "a.txt/b");
const value = fc.oneof(path, fc.integer(), fc.boolean(), fc.constantFrom(null, undefined, Number.NaN, Infinity, -1, 1.5, "3", 1e300), fc.anything({ maxDepth: 2 }), fc.string({ unit: "binary" }));
/** A path that is there would start a search: those have their own runs. */
const fields = fc.dictionary(fc.constantFrom("path", "file_path", "offset", "limit", "depth", "pattern", "glob", "input", "plan", "explanation", "context", "files_only", "__proto__", "constructor"), value);
const input = fc.oneof({ weight: 4, arbitrary: fields }, { weight: 1, arbitrary: fc.anything() });
const sandbox = fc.constantFrom<SandboxMode>("read-only", "workspace-write");

const searches = new Set(["grep", "glob"]);

test("ten thousand random arguments: nothing thrown, nothing changed", { timeout: 60_000 }, async () => {
  const before = tree(place.top);
  let failed = 0;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), input, sandbox, async (name, given, mode) => {
      const args = searches.has(name) && typeof given === "object" && given !== null ? { ...given, path: "nope" } : given;
      const outcome = await run(name, args, place, { sandbox: mode });
      expect(["done", "failed"]).toContain(outcome.status);
      expect(outcome.output.length).toBeGreaterThan(0);
      if (outcome.status === "failed") failed += 1;
    }),
    { seed: SEED, numRuns: 10_000 },
  );
  expect(tree(place.top)).toEqual(before);
  expect(failed).toBeGreaterThan(1000);
});

test("random searches: nothing thrown, nothing changed", { timeout: 60_000 }, async () => {
  const before = tree(place.top);
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), fc.constantFrom("*", "**", "(", "[", "a|b", "-e", "--", "!", "{a,b", "\\", "one"));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...searches), fc.record({ pattern: text, glob: fc.option(text), path: fc.option(path), context: fc.option(fc.nat(60)), files_only: fc.option(fc.boolean()) }), sandbox, async (name, given, mode) => {
      const at = given.path === "/" ? "dir" : given.path;
      expect(["done", "failed"]).toContain((await run(name, { ...given, path: at }, place, { sandbox: mode })).status);
    }),
    { seed: SEED, numRuns: 100 },
  );
  expect(tree(place.top)).toEqual(before);
});
