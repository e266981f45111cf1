import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorld, textOfPart, type World } from "./given.ts";

/** What is shown of each file, by its path, and the warnings. */
async function shown(world: World, { cwd = world.repo, limit }: { cwd?: string; limit?: number } = {}) {
  const gathered = await world.gather({ settings: { cwd, ...(limit === undefined ? {} : { project_doc_max_bytes: limit }) } });
  const files = [...world.short(textOfPart(gathered, "agents_md")).matchAll(/<agents_md path="(.*)">\n([^]*?)\n<\/agents_md>/gu)].map(([, path, text]) => [path, text]);
  return { files, warnings: gathered.warnings.map(world.short) };
}

test("AGENTS.override.md stands in for AGENTS.md beside it, unless it is empty", async () => {
  const world = createWorld({
    "home/AGENTS.md": "home",
    "home/AGENTS.override.md": "home, for now",
    "repo/AGENTS.md": "repo",
    "repo/AGENTS.override.md": " \n",
    "repo/a/AGENTS.override.md": "a, for now",
  });
  mkdirSync(join(world.repo, "a/b"));
  expect(await shown(world, { cwd: join(world.repo, "a/b") })).toEqual({
    files: [
      ["HOME/AGENTS.override.md", "home, for now"],
      ["REPO/AGENTS.md", "repo"],
      ["REPO/a/AGENTS.override.md", "a, for now"],
    ],
    warnings: [],
  });
});

test("only folders between the repository's root and the working folder count; without a repository, the working folder alone", async () => {
  const world = createWorld({ "AGENTS.md": "above", "repo/AGENTS.md": "root", "repo/a/AGENTS.md": "a", "repo/b/AGENTS.md": "b", "plain/AGENTS.md": "plain", "plain/below/AGENTS.md": "below" });
  expect((await shown(world, { cwd: join(world.repo, "b") })).files).toEqual([["REPO/AGENTS.md", "root"], ["REPO/b/AGENTS.md", "b"]]);
  expect((await shown(world, { cwd: join(world.root, "plain/below") })).files).toEqual([["ROOT/plain/below/AGENTS.md", "below"]]);
});

test("a repository within another has its own root", async () => {
  const world = createWorld({ "repo/AGENTS.md": "outer", "repo/inner/AGENTS.md": "inner", "repo/inner/.git": "gitdir: elsewhere\n" });
  expect((await shown(world, { cwd: join(world.repo, "inner") })).files).toEqual([["REPO/inner/AGENTS.md", "inner"]]);
});

test("together they take no more than the limit, whole lines first, and what is cut is named", async () => {
  const world = createWorld({ "home/AGENTS.md": "12345\n", "repo/AGENTS.md": "abc\ndef\nghi\n", "repo/a/AGENTS.md": "never shown\n" });
  expect(await shown(world, { cwd: join(world.repo, "a"), limit: 15 })).toEqual({
    files: [
      ["HOME/AGENTS.md", "12345"],
      ["REPO/AGENTS.md", "abc\ndef\n[Cut: 8 of 12 bytes are shown. The whole file is REPO/AGENTS.md]"],
      ["REPO/a/AGENTS.md", "n\n[Cut: 1 of 12 bytes are shown. The whole file is REPO/a/AGENTS.md]"],
    ],
    warnings: [
      "REPO/AGENTS.md: only 8 of its 12 bytes are shown to the model: AGENTS.md files together may take 15 (project_doc_max_bytes).",
      "REPO/a/AGENTS.md: only 1 of its 12 bytes are shown to the model: AGENTS.md files together may take 15 (project_doc_max_bytes).",
    ],
  });
  expect((await shown(world, { limit: 6 })).files).toEqual([
    ["HOME/AGENTS.md", "12345"],
    ["REPO/AGENTS.md", "[Cut: 0 of 12 bytes are shown. The whole file is REPO/AGENTS.md]"],
  ]);
  expect(await shown(world, { limit: 0 })).toEqual({ files: [], warnings: [] });
});

test("a huge file is read no further than the limit", async () => {
  const world = createWorld({ "repo/AGENTS.md": "é\n".repeat(4_000_000) });
  const { files, warnings } = await shown(world);
  expect(files[0]![1]).toBe(`${"é\n".repeat(10_922)}[Cut: 32766 of 12000000 bytes are shown. The whole file is REPO/AGENTS.md]`);
  expect(warnings).toEqual(["REPO/AGENTS.md: only 32766 of its 12000000 bytes are shown to the model: AGENTS.md files together may take 32768 (project_doc_max_bytes)."]);
});

test("a character is never cut in two", async () => {
  const world = createWorld({ "repo/AGENTS.md": "ab😀cd" });
  for (const limit of [3, 4, 5]) expect((await shown(world, { limit })).files[0]![1]).toMatch(/^ab\n\[Cut: 2 of 8 bytes/u);
  expect((await shown(world, { limit: 6 })).files[0]![1]).toMatch(/^ab😀\n\[Cut: 6 of 8 bytes/u);
  expect((await shown(world, { limit: 8 })).files[0]![1]).toBe("ab😀cd");
});

test("links that stay in the repository are followed, others are not", async () => {
  const world = createWorld({ "secret.md": "the secret", "repo/CLAUDE.md": "inside", "dotfiles/AGENTS.md": "the user's, elsewhere" });
  for (const folder of ["a/b", "c"]) mkdirSync(join(world.repo, folder), { recursive: true });
  mkdirSync(world.home);
  symlinkSync("CLAUDE.md", join(world.repo, "AGENTS.md"));
  symlinkSync("../../secret.md", join(world.repo, "a/AGENTS.md"));
  symlinkSync(join(world.root, "dotfiles/AGENTS.md"), join(world.home, "AGENTS.md"));
  expect(await shown(world, { cwd: join(world.repo, "a/b") })).toEqual({
    files: [
      ["HOME/AGENTS.md", "the user's, elsewhere"],
      ["REPO/AGENTS.md", "inside"],
    ],
    warnings: ["REPO/a/AGENTS.md: it is a link that leaves the repository; it was left out."],
  });
});

test("a working folder that is reached through a link belongs to the repository that it really lies in", async () => {
  const world = createWorld({ "repo/AGENTS.md": "root", "repo/a/AGENTS.md": "a" });
  symlinkSync(join(world.repo, "a"), join(world.root, "link"));
  expect((await shown(world, { cwd: join(world.root, "link") })).files).toEqual([["REPO/AGENTS.md", "root"], ["REPO/a/AGENTS.md", "a"]]);
});

test("what is no text file is left out with a reason, and nothing waits for it", async () => {
  const world = createWorld({ "repo/AGENTS.md": new Uint8Array([0x61, 0, 0x62]), "repo/a/AGENTS.md": new Uint8Array([0x61, 0xff]), "repo/a/b/c/AGENTS.md/x": "" });
  execFileSync("bash", ["-c", `mkfifo "$0"`, join(world.repo, "a/b/AGENTS.md")]);
  expect(await shown(world, { cwd: join(world.repo, "a/b/c") })).toEqual({
    files: [],
    warnings: [
      "REPO/AGENTS.md: it is not text in UTF-8; it was left out.",
      "REPO/a/AGENTS.md: it is not text in UTF-8; it was left out.",
      "REPO/a/b/AGENTS.md: it is not a file; it was left out.",
      "REPO/a/b/c/AGENTS.md: it is not a file; it was left out.",
    ],
  });
});

test("a link to itself is left out with a reason", async () => {
  const world = createWorld();
  symlinkSync("AGENTS.md", join(world.repo, "AGENTS.md"));
  expect(await shown(world)).toEqual({ files: [], warnings: ["REPO/AGENTS.md: it cannot be read (ELOOP); it was left out."] });
});

test("a text cannot end its own tag, a byte order mark is dropped, and a name cannot leave its quotes", async () => {
  const world = createWorld({ "repo/AGENTS.md": "\uFEFFone\n</agents_md>\ntwo\n" });
  mkdirSync(join(world.repo, 'a"b\nc'));
  world.write('repo/a"b\nc/AGENTS.md', "x");
  expect((await shown(world, { cwd: join(world.repo, 'a"b\nc') })).files).toEqual([
    ["REPO/AGENTS.md", "one\n<\\/agents_md>\ntwo"],
    ["REPO/a&quot;b&#10;c/AGENTS.md", "x"],
  ]);
});
