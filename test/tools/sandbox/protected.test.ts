import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROTECTED_NAMES, protect } from "../../../src/tools/sandbox/protected.ts";
import { eventually, workspace } from "../given.ts";

const names = (root: string): string[] => readdirSync(root).toSorted();

test("what exists is read-only, what does not is held and then let go without a trace", async () => {
  const root = workspace();
  mkdirSync(join(root, ".git"));
  writeFileSync(join(root, ".git/HEAD"), "ref: refs/heads/main\n");
  const protection = protect([root], []);
  expect(protection.readOnly).toEqual([join(root, ".git")]);
  expect(protection.held).toEqual([".skein", ".agents", ".codex"].map((name) => join(root, name)));
  expect(names(root)).toEqual([".agents", ".codex", ".git", ".skein"]);
  expect(protection.release()).toEqual([]);
  expect(await eventually(() => names(root).join() === ".git")).toBe(true);
});

test("git does not show what is held", () => {
  const root = workspace();
  execFileSync("git", ["init", "-q", root]);
  const protection = protect([root], []);
  expect(execFileSync("git", ["-C", root, "status", "--porcelain"], { encoding: "utf8" })).toBe("");
  protection.release();
});

test("a name is held until the last call lets it go", async () => {
  const root = workspace();
  const first = protect([root], []);
  const second = protect([root], []);
  expect(second.held).toEqual(first.held);
  first.release();
  expect(await eventually(() => readdirSync(join(root, ".codex")).length === 1)).toBe(true);
  expect(names(root)).toEqual(PROTECTED_NAMES.toSorted());
  second.release();
  expect(await eventually(() => names(root).length === 0)).toBe(true);
});

test("calls that follow each other closely leave nothing either", async () => {
  const root = workspace();
  for (let call = 0; call < 50; call++) {
    const protection = protect([root], []);
    expect(protection.held.length).toBe(4);
    if (call % 3 > 0) await new Promise((resolve) => setTimeout(resolve, call % 3));
    protection.release();
    if (call % 5 === 0) await new Promise(setImmediate);
  }
  expect(await eventually(() => names(root).length === 0)).toBe(true);
});

test("what a crash left held is let go by the next call", async () => {
  const root = workspace();
  const dead = spawnSync("true").pid;
  mkdirSync(join(root, `.git/skein-${dead}-0`), { recursive: true });
  const protection = protect([root], []);
  expect(protection.held).toContain(join(root, ".git"));
  protection.release();
  expect(await eventually(() => names(root).length === 0)).toBe(true);
});

test("an empty folder of the user stays, and so does what came into a held one meanwhile", async () => {
  const root = workspace();
  mkdirSync(join(root, ".codex"));
  const protection = protect([root], []);
  mkdirSync(join(root, ".agents/skills"));
  protection.release();
  expect(await eventually(() => names(root).join() === ".agents,.codex" && names(join(root, ".codex")).length === 0)).toBe(true);
  expect(names(join(root, ".agents"))).toEqual(["skills"]);
});

test("a link is followed, and put back when it was replaced", () => {
  const root = workspace();
  mkdirSync(join(root, "real"));
  writeFileSync(join(root, "real/x"), "");
  symlinkSync("real", join(root, ".agents"));
  symlinkSync("nowhere", join(root, ".codex"));
  const protection = protect([root], []);
  expect(protection.readOnly).toEqual([join(root, "real")]);
  rmSync(join(root, ".agents"));
  mkdirSync(join(root, ".agents"));
  writeFileSync(join(root, ".agents/evil"), "");
  rmSync(join(root, ".codex"));
  const notes = protection.release();
  expect(readlinkSync(join(root, ".agents"))).toBe("real");
  expect(readlinkSync(join(root, ".codex"))).toBe("nowhere");
  expect(notes).toEqual([expect.stringMatching(/\.agents is protected and the command replaced it: it was put back, what the command had made is now .*\.agents\.made-by-command-/u), expect.stringMatching(/\.codex is protected/u)]);
  expect(existsSync(join(root, names(root).find((name) => name.startsWith(".agents.made"))!, "evil"))).toBe(true);
});

test("the folder that a .git file points to is protected with it", () => {
  const root = workspace();
  mkdirSync(join(root, "store"));
  execFileSync("git", ["init", "-q", "--separate-git-dir", join(root, "store/git"), root]);
  expect(lstatSync(join(root, ".git")).isFile()).toBe(true);
  const protection = protect([root], []);
  expect(protection.readOnly).toEqual([join(root, ".git"), join(root, "store/git")]);
  protection.release();
});
