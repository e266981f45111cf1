/** Folders that are gone, or are none, or take nothing: each is said in a sentence, by every command. */
import { describe, expect, it } from "vitest";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scene } from "./scene.ts";
import { BIN, jsonLines, run, type World } from "./skein.ts";

const NOWHERE = { SKEIN_HOME: "/dev/null/home" };
const isSentence = (stderr: string): boolean => /^skein: [^\n]+\n$/u.test(stderr);

function inDeletedFolder(world: World, args: readonly string[]) {
  const words = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(" ");
  const { status, stdout, stderr } = spawnSync("bash", ["-c", `mkdir gone && cd gone && rmdir ../gone && exec ${words}`], { cwd: world.root, env: world.env, input: "", encoding: "utf8" });
  return { code: status, stdout, stderr };
}

describe("a folder that was deleted under one's feet", () => {
  it("is said by every command that needs one", async () => {
    const { world } = await scene([]);
    const said = "The folder that this was started in is gone. Change to one that exists, and run it again.\n";
    for (const args of [["list"], ["config"], ["skills"], ["usage", "--cwd", "."], ["exec", "hi"], ["trust"], ["mcp", "list"]]) {
      const { code, stderr } = inDeletedFolder(world, args);
      expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: `skein: ${said}` });
    }
    expect(inDeletedFolder(world, ["tour"])).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(`\nskein: ${said}$`, "u")) });
    expect(inDeletedFolder(world, ["doctor"])).toMatchObject({ code: 1, stdout: expect.stringContaining(said.trim()), stderr: "" });
  });

  it("ends exec --json with its one line; help needs no folder", async () => {
    const { world } = await scene([]);
    expect(jsonLines(inDeletedFolder(world, ["exec", "--json", "hi"]).stdout)).toMatchObject([{ type: "error", message: expect.stringContaining("is gone") }]);
    expect(inDeletedFolder(world, ["--help"])).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("a home", () => {
  it("that is a file, or is not a whole path, is refused by every command", async () => {
    const { world } = await scene([]);
    writeFileSync(join(world.root, "file"), "");
    for (const home of [join(world.root, "file"), "relative"]) {
      for (const args of [["list"], ["exec", "hi"], ["trust", "--yes"], ["mcp", "add", "x", "--", "true"]]) {
        const { code, stderr } = await run(world, args, { env: { SKEIN_HOME: home } });
        expect({ args, code, sentence: isSentence(stderr) }).toEqual({ args, code: 2, sentence: true });
      }
    }
    expect(readdirSync(world.project)).toEqual([".git"]);
  });

  it("that takes nothing is said by what would be written there, and how to do without", async () => {
    const { world } = await scene([]);
    const told = await run(world, ["exec", "hi"], { env: NOWHERE });
    expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining("make it a folder that you can write to") });
    for (const args of [["trust", "--yes"], ["mcp", "add", "x", "--", "true"]]) {
      expect(await run(world, args, { env: NOWHERE })).toMatchObject({ code: 1, stderr: expect.stringMatching(/^skein: \/dev\/null\/home\S* cannot be used: .*\n$/mu) });
    }
  });
});

describe("the tour", () => {
  it("keeps nothing where nothing can be kept, and leaves no folder behind", async () => {
    const { world } = await scene([]);
    const scratch = join(world.root, "tmp");
    mkdirSync(scratch);
    const result = await run(world, ["tour"], { env: { ...NOWHERE, TMPDIR: scratch } });
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining("The test passes now.") });
    expect(result.stderr).not.toContain("resume");
    expect(readdirSync(scratch)).toEqual([]);
  });

  it("says where it stays and what for, and that it needs a scratch folder", async () => {
    const { world } = await scene([]);
    const result = await run(world, ["tour"], { env: { TMPDIR: world.root } });
    const folder = readdirSync(world.root).find((name) => name.startsWith("skein-tour-"))!;
    expect(result.stderr).toContain(`With a model it goes on, in ${join(world.root, folder)}, which stays for that:`);
    const nowhere = await run(world, ["tour"], { env: { TMPDIR: "/dev/null" } });
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("Set TMPDIR") });
    expect(isSentence(nowhere.stderr)).toBe(true);
  });
});
