/**
 * Random and mutated patches, ten thousand of them, in a workspace full of traps. Whatever they say: nothing is thrown, nothing outside of
 * the workspace changes, a patch that fails leaves every byte as it was, and one that succeeds tells the truth.
 */
import fc from "fast-check";
import { lstatSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assess, patch, put, run, sha256, tree, world, type World } from "../files/given.ts";

const SEED = 20_260_131;

const FILES: Readonly<Record<string, string | Buffer>> = {
  "a.txt": "one\ntwo\nthree\none\n",
  "b.txt": "  one\r\ntwo \r\nkey = sk-secret\r\n\u201Cthree\u201D",
  "dir/c.txt": "\uFEFFtwo\n\n\none\n",
  "dir/empty": "",
  "bin": "one\0two\n",
  "latin": Buffer.from("one\xe9\n", "latin1"),
};

function fill({ cwd, outside, home }: World): void {
  rmSync(cwd, { recursive: true, force: true });
  for (const [name, content] of Object.entries(FILES)) put(join(cwd, name), content);
  put(join(cwd, ".git/config"), "one\n");
  put(join(outside, "canary.txt"), "one\ntwo\n");
  put(join(home, "config.toml"), "one\n");
  symlinkSync("../outside", join(cwd, "out"));
  symlinkSync("../outside/canary.txt", join(cwd, "canary"));
  symlinkSync("a.txt", join(cwd, "link"));
  symlinkSync("dir", join(cwd, "folder"));
  symlinkSync("nowhere", join(cwd, "broken"));
  symlinkSync("/", join(cwd, "root"));
}

const line = fc.constantFrom("one", "two", "three", "", "  one", "two ", '"three"', "key = [REDACTED:pattern]", "[REDACTED:pattern]", "*** End Patch", "@@", "new", "é\u2014", "x".repeat(300));
const path = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a.txt", "b.txt", "dir/c.txt", "dir/empty", "bin", "latin", "link", "folder/c.txt", "new", "new/er/file", "dir") },
  {
    weight: 4,
    arbitrary: fc.constantFrom("out/x", "out/canary.txt", "canary", "../outside/canary.txt", "../outside/new", "../home/config.toml", ".git/config", ".git/hooks/x", ".GIT/x", ".skein/x", "broken", "root/etc/skein-x", "/etc/skein-x", "a.txt/x", ".", "..", "/", "./a.txt", "dir//c.txt", "dir/../../outside/y", "/proc/self/environ", "n".repeat(300), "a\u0000b"),
  },
);
const added = line.map((text) => `+${text}`);
const hunk = fc
  .tuple(fc.option(fc.oneof(line, fc.constant("")), { nil: null }), fc.array(fc.tuple(fc.constantFrom(" ", "-", "+"), line), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([header, lines, atEnd]) => [...(header === null ? [] : [`@@ ${header}`.trimEnd()]), ...lines.map(([sign, text]) => sign + text), ...(atEnd ? ["*** End of File"] : [])]);
const section = fc.oneof(
  fc.tuple(path, fc.array(added, { maxLength: 4 })).map(([name, lines]) => [`*** Add File: ${name}`, ...lines]),
  path.map((name) => [`*** Delete File: ${name}`]),
  fc.tuple(path, fc.option(path, { nil: null, freq: 4 }), fc.array(hunk, { maxLength: 3 })).map(([name, to, hunks]) => [`*** Update File: ${name}`, ...(to === null ? [] : [`*** Move to: ${to}`]), ...hunks.flat()]),
);
const whole = fc.array(section, { minLength: 1, maxLength: 4 }).map((sections) => patch(...sections.flat()).input);

/** Characters or lines taken out, doubled, replaced. */
const mutated = fc.tuple(whole, fc.array(fc.tuple(fc.nat(), fc.constantFrom("cut", "double", "replace", "line"), fc.string({ maxLength: 3, unit: "binary" })), { maxLength: 3 })).map(([text, changes]) =>
  changes.reduce((now, [where, kind, by]) => {
    const at = now.length === 0 ? 0 : where % now.length;
    if (kind === "cut") return now.slice(0, at) + now.slice(at + 1 + (where % 7));
    if (kind === "double") return now.slice(0, at) + now.slice(Math.max(0, at - 10));
    if (kind === "replace") return now.slice(0, at) + by + now.slice(at + 1);
    return now.split("\n").filter((_, index) => index !== where % 9).join("\n");
  }, text),
);

test("ten thousand random patches: nothing thrown, nothing outside, all or nothing, and the truth", { timeout: 60_000 }, async () => {
  const place = world();
  fill(place);
  const fresh = tree(place.top);
  const expected = Object.fromEntries(Object.entries(fresh).filter(([name]) => !name.startsWith("workspace/") || name.startsWith("workspace/.git/")));
  // Whatever is written, made or removed changes a time: then everything is compared.
  const stamps = (): string => Object.keys(fresh).map((name) => lstatSync(join(place.top, name), { bigint: true }).ctimeNs).join();
  let untouched = stamps();
  const outcomes = { done: 0, failed: 0 };
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: whole }, { weight: 2, arbitrary: mutated }), fc.boolean(), async (text, assessed) => {
      if (assessed) await assess("apply_patch", { input: text }, place);
      const ran = await run("apply_patch", { input: text }, place);
      outcomes[ran.status] += 1;
      if (ran.status === "failed" && stamps() === untouched) return;
      if (ran.status === "failed") {
        expect(tree(place.top)).toEqual(fresh);
        untouched = stamps();
        return;
      }
      expect(tree(place.top)).toMatchObject(expected);
      for (const { path: changed, after } of ran.changes ?? []) {
        const stat = lstatSync(changed as string, { throwIfNoEntry: false });
        const there = stat ? { kind: "file", hash: sha256(readFileSync(changed as string)), mode: stat.mode & 0o7777 } : { kind: "absent" };
        expect(after).toEqual(there);
      }
      fill(place);
      untouched = stamps();
    }),
    { seed: SEED, numRuns: 10_000 },
  );
  // Enough of both for the property to mean something.
  expect(outcomes.done).toBeGreaterThan(300);
  expect(outcomes.failed).toBeGreaterThan(3000);
});

test("a hunk over the whole file gives exactly the lines that it says, and every kept line keeps its bytes", () => {
  const kept = fc.record({ text: fc.constantFrom("a", "b", "", " c", "d "), end: fc.constantFrom("\n", "\r\n") });
  const step = fc.record({ kind: fc.constantFrom("context" as const, "delete" as const), line: kept, before: fc.array(fc.constantFrom("n", "", "+m"), { maxLength: 2 }) });
  return fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.boolean(), async (steps, open) => {
      const expected = steps.flatMap(({ kind, line: { text, end }, before }) => [...before.map((each) => ({ text: each, end: null })), ...(kind === "context" ? [{ text, end }] : [])]);
      // An empty last line without an end is no line at all.
      fc.pre(!open || (steps.at(-1)!.line.text !== "" && expected.at(-1)?.text !== ""));
      const place = world({ "f": steps.map(({ line: { text, end } }, index) => text + (open && index === steps.length - 1 ? "" : end)).join("") });
      const lines = steps.flatMap(({ kind, line: { text }, before }) => [...before.map((each) => `+${each}`), `${kind === "context" ? " " : "-"}${text}`]);
      const ran = await run("apply_patch", patch("*** Update File: f", ...lines, "*** End of File"), place);
      expect(ran.status).toBe("done");
      const after = readFileSync(join(place.cwd, "f"), "utf8");
      const found = after === "" ? [] : after.replace(/\r?\n$/u, "").split("\n");
      expect(found.map((each) => each.replace(/\r$/u, ""))).toEqual(expected.map(({ text }) => text));
      for (const [index, { end }] of expected.entries()) if (end !== null && index < expected.length - 1) expect(found[index]!.endsWith("\r")).toBe(end === "\r\n");
      if (expected.length > 0) expect(after.endsWith("\n")).toBe(!open);
    }),
    { seed: SEED, numRuns: 300 },
  );
});
