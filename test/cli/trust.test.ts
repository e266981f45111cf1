import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.ts";
import type { Shell } from "../../src/cli/shell.ts";
import { createTrusting } from "../../src/config/trusting.ts";
import { place, write, type Place } from "../config/given.ts";

const CONFIG = 'sandbox_mode = "read-only"\n\n[mcp_servers.tools]\ncommand = "node"\n';
const HASH = createHash("sha256").update(CONFIG).digest("hex");
const EXEC_NOTE = "This counts for interactive use. `skein exec` trusts only folders that [projects] in the config of your home names.\n";

/** `typed` null: no terminal. */
async function skein(at: Place, args: readonly string[], typed: string | null = null) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  if (typed !== null) for (const stream of [streams.stdin, streams.stderr]) Object.assign(stream, { isTTY: true });
  streams.stdin.end(typed ?? "");
  const shell: Partial<Shell> = { ...streams, env: {}, cwd: at.repo, trust: async () => createTrusting({ home: at.home, env: { HOME: join(at.root, "user") } }) };
  const code = await run(["trust", ...args], shell as Shell);
  const text = (stream: PassThrough) => String(stream.read() ?? "").replaceAll(at.repo, "REPO").replaceAll(at.home, "HOME");
  return { code, stdout: text(streams.stdout), stderr: text(streams.stderr) };
}

describe("skein trust", () => {
  it("shows what it means, asks on a terminal, and records a yes", async () => {
    const at = place({ repo: CONFIG });
    const { code, stdout, stderr } = await skein(at, [], "y\n");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "REPO is trusted, as long as its config stays as it is.\n" });
    expect(stderr).toContain('REPO\n  REPO/.skein/config.toml sets:\n    sandbox_mode = "read-only"\n  MCP servers that it names:\n    tools: runs "node"\n');
    expect(stderr).not.toContain("is ignored");
    expect(stderr).toContain(`Trust REPO? [y/N] ${EXEC_NOTE}`);
    expect(JSON.parse(readFileSync(join(at.home, "trust.json"), "utf8"))).toEqual({ version: 1, projects: { [at.repo]: { config: HASH, servers: [expect.stringMatching(/^[0-9a-f]{64}$/u)] } } });
  });

  it.each(["n\n", "\n", "yesterday\n", ""])("records nothing after the answer %j", async (typed) => {
    const at = place({ repo: CONFIG });
    const { code, stdout, stderr } = await skein(at, [], typed);
    expect([code, stdout, stderr.endsWith("Nothing was recorded.\n")]).toEqual([1, "", true]);
    expect(existsSync(join(at.home, "trust.json"))).toBe(false);
  });

  it("needs --yes where nobody can be asked", async () => {
    const at = place({ repo: CONFIG });
    expect(await skein(at, [])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Say --yes if it is to be trusted.") });
    expect(existsSync(join(at.home, "trust.json"))).toBe(false);
    expect(await skein(at, ["--yes", "--json"])).toMatchObject({ code: 0, stdout: `${JSON.stringify({ root: "REPO", trusted: true, config: HASH, servers: ["tools"] })}\n` });
  });

  it("lists and takes back", async () => {
    const at = place({ repo: CONFIG });
    expect(await skein(at, ["--list"])).toEqual({ code: 0, stdout: "", stderr: "No project was said yes to. `skein trust` does so for the project of this folder.\n" });
    await skein(at, ["--yes"]);
    expect(await skein(at, ["--list"])).toEqual({ code: 0, stdout: "REPO  (1 MCP server)\n", stderr: EXEC_NOTE });
    expect(await skein(at, ["--list", "--json"])).toEqual({ code: 0, stdout: '{"root":"REPO","current":true,"servers":1}\n', stderr: "" });
    write(at.repoFile, "");
    expect((await skein(at, ["--list"])).stdout).toBe("REPO  (its config has changed since)  (1 MCP server)\n");
    expect(await skein(at, ["--remove"])).toEqual({ code: 0, stdout: "REPO is no longer trusted.\n", stderr: "" });
    expect(await skein(at, [".", "--remove"])).toMatchObject({ code: 3, stdout: "" });
  });

  it("records nothing where [projects] of the home decides, and says so", async () => {
    const trusted = place({ repo: CONFIG, trust: true });
    expect(await skein(trusted, ["--yes"])).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("says that it is trusted, and that counts: nothing was recorded.") });
    const untrusted = place({ repo: CONFIG, home: '[projects."{repo}"]\ntrust_level = "untrusted"\n' });
    expect(await skein(untrusted, ["--yes"])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("says that it is not trusted, and that counts: nothing was recorded.") });
    expect([existsSync(join(trusted.home, "trust.json")), existsSync(join(untrusted.home, "trust.json"))]).toEqual([false, false]);
  });

  it("refuses a folder that is not there", async () => {
    expect(await skein(place({}), ["nowhere", "--yes"])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("REPO/nowhere does not exist") });
  });
});
