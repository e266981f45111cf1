/** The tools of our process and the sandbox of commands keep the same bounds: each path is tried both ways. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { SandboxMode } from "../../../src/protocol/record.ts";
import type { ToolHost } from "../../../src/core/tool.ts";
import { builtinTools } from "../../../src/tools/builtin.ts";
import { patch, put, run, world, type World } from "./given.ts";

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { force: true });
});

function ground(): { place: World; root: string } {
  const place = world({ "in.txt": "x\n", "sub/.git/config": "x\n" });
  execFileSync("git", ["init", "-q"], { cwd: place.cwd });
  put(join(place.home, "config.toml"), "x\n");
  put(join(place.home, "skills/s/SKILL.md"), "x\n");
  put(join(place.outside, "out.txt"), "x\n");
  const root = join(place.top, "root");
  mkdirSync(join(root, ".codex"), { recursive: true });
  put(join(root, "r.txt"), "x\n");
  symlinkSync(place.outside, join(place.cwd, "out"));
  symlinkSync(place.home, join(place.cwd, "home"));
  symlinkSync(root, join(place.cwd, "root"));
  for (const folder of ["/tmp", "/var/tmp"]) {
    const path = join(folder, basename(place.top));
    writeFileSync(path, "x\n");
    made.push(path);
  }
  return { place, root };
}

async function command(cmd: string, { place, root, sandbox }: { place: World; root: string; sandbox: SandboxMode }): Promise<boolean> {
  const [exec] = builtinTools({ home: place.home, env: process.env, platform: process.platform, sandbox: { writableRoots: [root] } });
  const host = { thread: "t", call: "c", cwd: place.cwd, sandbox, signal: new AbortController().signal, emit: () => {}, keep: () => Promise.reject(new Error("no")), keepBytes: () => Promise.reject(new Error("no")), readKept: () => Promise.resolve(null), ask: () => Promise.reject(new Error("no")) } as ToolHost;
  return (await exec!.run({ cmd }, host)).exit === 0;
}

describe.each(["read-only", "workspace-write"] as const)("in %s", (sandbox) => {
  const { place, root } = ground();
  const given = { sandbox, options: { sandbox: { writableRoots: [root] } } };
  const name = basename(place.top);
  const readable = ["in.txt", "out/out.txt", "../outside/out.txt", "home/config.toml", "home/skills/s/SKILL.md", "root/r.txt", "/etc/passwd", "/etc/shadow", `/tmp/${name}`, `/var/tmp/${name}`, join(homedir(), name, "workspace/in.txt"), ".git/config", "/usr/bin/env"];

  test.each(readable)("%s is read by both or by none", async (path) => {
    const ran = await run("read_file", { path, limit: 1 }, place, given);
    // What it is does not matter here, but that it may be looked at.
    const seen = ran.status === "done" || ran.text.includes("and not a text");
    expect(seen).toBe(await command(`head -c1 '${path}'`, { place, root, sandbox }));
  });

  const writable = ["new1", "sub/new", "sub/.git/new", ".git/new", ".git/hooks/new", ".skein/new", ".agents", "out/new", "../outside/new", "home/new", "home/skills/new", "root/new", "root/.codex/new", "root/.git/new", `/tmp/new-${name}`, `/var/tmp/x/${name}`, "/etc/skein-new", "/usr/skein-new"];

  test.each(writable)("%s is written by both or by none", async (path) => {
    const written = (await run("apply_patch", patch(`*** Add File: ${path}`, "+x"), place, given)).status === "done";
    // In read-only a command has a /tmp of its own, which ends with it.
    const expected = await command(`mkdir -p "$(dirname '${path}')" && touch '${path}'`, { place, root, sandbox });
    expect(written).toBe(sandbox === "read-only" ? false : expected && !path.startsWith("/var/tmp"));
  });
});
