/** A machine without a sandbox: the real binary, where bubblewrap has been hidden from it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { scene } from "./scene.ts";
import { BIN, jsonLines, run, shell, type World } from "./skein.ts";
import { told } from "./told.ts";

const BWRAP = "/usr/bin/bwrap";

/** A file that is no program takes its place, for this process alone. */
function withoutSandbox({ project, env }: World, args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((settle) => {
    execFile(BWRAP, ["--dev-bind", "/", "/", "--ro-bind", "/dev/null", BWRAP, "--", process.execPath, BIN, ...args], { cwd: project, env }, (error, stdout, stderr) => settle({ code: Number(error?.code ?? 0), stdout, stderr })).stdin?.end();
  });
}

const INSTALL = "sudo apt-get install bubblewrap";

it("without a sandbox nothing is run in one: the model and the user are told how to install it, and full access still works", async () => {
  const calls = [shell("touch a.txt", "run"), { name: "exec_command", arguments: { cmd: "touch b.txt", yield_time_ms: 100 }, id: "session" }, { name: "grep", arguments: { pattern: "x" }, id: "grep" }, { name: "list_dir", arguments: {}, id: "list" }];
  const { server, world } = await scene([{ text: "", calls }, { text: "Sorry." }, { text: "", calls: [shell("touch c.txt", "free")] }, { text: "Done." }]);
  const model = ["-c", `openai_base_url="${server.url}/v1"`, "-m", "test-model"];
  const { code, stderr } = await withoutSandbox(world, ["exec", ...model, "-s", "workspace-write", "--json", "go"]);
  expect(code, stderr).toBe(0);
  expect(["a.txt", "b.txt"].filter((name) => existsSync(join(world.project, name)))).toEqual([]);
  for (const output of told(server, "run", "session", "grep")) expect(output).toContain(INSTALL);
  expect((await withoutSandbox(world, ["exec", ...model, "-s", "danger-full-access", "go"])).code).toBe(0);
  expect(existsSync(join(world.project, "c.txt"))).toBe(true);
});

it("doctor says so, and exits 1; where everything is there it exits 0", async () => {
  const { world } = await scene([]);
  const { code, stdout } = await withoutSandbox(world, ["doctor", "--json"]);
  const check = (text: string, name: string) => jsonLines(text).find((each) => each["name"] === name);
  expect(code).toBe(1);
  expect(check(stdout, "sandbox")).toEqual({ name: "sandbox", state: "broken", text: "bubblewrap (bwrap) is not installed.", remedy: expect.stringContaining(INSTALL) as string });
  const well = await run(world, ["doctor", "--json"]);
  expect(well.code).toBe(0);
  expect([check(well.stdout, "sandbox"), check(well.stdout, "ripgrep")]).toMatchObject([{ state: "ok" }, { state: "ok", text: expect.stringMatching(/^ripgrep \d/u) as string }]);
});
