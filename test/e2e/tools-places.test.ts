/** Tools where the folder to work in is unusual. */
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { scene } from "./scene.ts";
import { itemsOf, jsonLines, log, run, shell } from "./skein.ts";
import { told } from "./told.ts";

const patch = (...lines: string[]) => `${["*** Begin Patch", ...lines, "*** End Patch"].join("\n")}\n`;
const WORK = [shell("pwd -P; echo made > made.txt; cat old.txt", "command"), { name: "apply_patch", arguments: { input: patch("*** Update File: old.txt", "@@", "-old", "+new") }, id: "patch" }, { name: "grep", arguments: { pattern: "new" }, id: "grep" }];

it.each(["with space", "ünï-\u{1F600}", "it's \"quoted\" $HOME `x`", "new\nline", "-dash"])("a folder called %j", async (name) => {
  const { server, world } = await scene([{ text: "", calls: WORK }, { text: "Done." }]);
  const folder = join(world.project, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "old.txt"), "old\n");
  const { code, stderr } = await run(world, ["exec", "-s", "workspace-write", "--json", "go"], { cwd: folder });
  expect(code, stderr).toBe(0);
  const [command, patched, grep] = told(server, "command", "patch", "grep");
  expect([command!.split("Output:\n")[1], patched, grep]).toEqual([`${folder}\nold\n`, "M old.txt", "old.txt:1:new"]);
  expect(readdirSync(folder).toSorted()).toEqual(["made.txt", "old.txt"]);
});

it("a folder that is reached by a link", async () => {
  const { server, world } = await scene([{ text: "", calls: WORK }, { text: "Done." }]);
  writeFileSync(join(world.project, "old.txt"), "old\n");
  const link = join(world.root, "link");
  symlinkSync(world.project, link);
  const { code, stderr } = await run(world, ["exec", "-C", link, "-s", "workspace-write", "--json", "go"]);
  expect(code, stderr).toBe(0);
  const [command, patched, grep] = told(server, "command", "patch", "grep");
  expect([command!.split("Output:\n")[1], patched, grep]).toEqual([`${world.project}\nold\n`, "M old.txt", "old.txt:1:new"]);
  expect(log(world).filter(({ type }) => type === "file.changed").map(({ path }) => path)).toEqual([join(world.project, "old.txt")]);
});

it("a folder that holds Skein's own home: nothing of it is read or written", async () => {
  const calls = [
    shell("cat home/config.toml; ls home/sessions", "look"),
    shell("echo x >> home/config.toml", "append"),
    shell("mv home other", "move"),
    shell("mkdir -p home/skills/x && touch home/skills/x/SKILL.md", "skill"),
    { name: "read_file", arguments: { path: "home/config.toml" }, id: "read" },
    { name: "grep", arguments: { pattern: "test-marker" }, id: "grep" },
    { name: "list_dir", arguments: { path: "home" }, id: "list" },
    { name: "apply_patch", arguments: { input: patch("*** Update File: home/config.toml", "@@", "-# test-marker", "+# changed") }, id: "patch" },
  ];
  const { server, world } = await scene([{ text: "", calls }, { text: "Done." }]);
  mkdirSync(world.home);
  const config = join(world.home, "config.toml");
  writeFileSync(config, "# test-marker\n");
  const { code, stdout, stderr } = await run(world, ["exec", "--skip-git-repo-check", "-s", "workspace-write", "--json", "go"], { cwd: world.root });
  expect(code, stderr).toBe(0);
  expect([readFileSync(config, "utf8"), existsSync(join(world.root, "other")), existsSync(join(world.home, "skills"))]).toEqual(["# test-marker\n", false, false]);
  const outputs = told(server, "look", "append", "move", "skill", "read", "grep", "list", "patch");
  expect(outputs.slice(4)).toEqual(["home/config.toml is hidden in this sandbox.", "No line matches.\n[… some of it could not be read …]", "home is hidden in this sandbox.", expect.stringContaining("home/config.toml belongs to Skein itself")]);
  for (const output of outputs) expect(output).not.toContain("test-marker");
  expect(itemsOf(jsonLines(stdout).filter(({ type }) => type === "item.completed")).filter(({ status }) => status === "completed").map(({ tool, command }) => tool ?? command)).toEqual(["grep"]);
});
