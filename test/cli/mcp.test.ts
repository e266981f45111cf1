/** `skein mcp`, with a real config file and real servers. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.ts";
import { UserError, type Shell } from "../../src/cli/shell.ts";
import { loadConfig } from "../../src/config/load.ts";
import { configuredServers } from "../../src/config/servers.ts";
import { createMcp } from "../../src/tools/mcp/source.ts";
import { place, type Place } from "../config/given.ts";
import { hostileServer } from "../tools/mcp/given.ts";

async function skein(at: Place, args: readonly string[]) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const mcp: Shell["mcp"] = async ({ overrides }) => {
    const env = { HOME: join(at.root, "user"), PATH: process.env["PATH"] };
    const loaded = await loadConfig({ home: at.home, cwd: at.repo, env, mode: "interactive", flags: {}, overrides });
    if (!loaded.ok) throw new UserError(loaded.message, 2);
    const { config, origins, warnings, cwd } = loaded;
    return {
      ...configuredServers({ home: at.home, config, origins }),
      warnings,
      async test(names) {
        const source = createMcp({ servers: Object.fromEntries(names.map((name) => [name, config.mcp_servers[name]!])), env, cwd });
        await source.ready();
        const tested = source.status();
        await source.close();
        return tested;
      },
    };
  };
  const shell: Partial<Shell> = { ...streams, env: {}, cwd: at.repo, mcp };
  const code = await run(["mcp", ...args], shell as Shell);
  const text = (stream: PassThrough) => String(stream.read() ?? "").replaceAll(at.home, "HOME");
  return { code, stdout: text(streams.stdout), stderr: text(streams.stderr) };
}

describe("skein mcp", () => {
  it("adds, lists and removes, and the file is as it was", async () => {
    const before = '# mine\nmodel = "m"\n';
    const at = place({ home: before });
    expect(await skein(at, ["list"])).toEqual({ code: 0, stdout: "", stderr: "No MCP servers are configured. `skein mcp add --help` shows how to add one.\n" });
    expect(await skein(at, ["add", "files", "--env", "KEY=a=b", "--", "npx", "-y", "--flag", "x"])).toEqual({ code: 0, stdout: "", stderr: "files was added to HOME/config.toml. `skein mcp test files` starts it to see whether it works.\n" });
    expect((await skein(at, ["add", "web", "--url", "http://127.0.0.1:9/mcp", "--bearer-token-env-var", "WEB_TOKEN"])).code).toBe(0);
    expect(readFileSync(join(at.home, "config.toml"), "utf8")).toBe(`${before}\n[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "--flag", "x"]\nenv = { KEY = "a=b" }\n\n[mcp_servers.web]\nurl = "http://127.0.0.1:9/mcp"\nbearer_token_env_var = "WEB_TOKEN"\n`);
    expect(await skein(at, ["list", "-c", "mcp_servers.web.enabled=false"])).toEqual({
      code: 0,
      stdout: "files  enabled   stdio  npx -y --flag x  # HOME/config.toml:5\nweb    disabled  http   http://127.0.0.1:9/mcp  # HOME/config.toml:10\n",
      stderr: "",
    });
    expect((await skein(at, ["list", "--json"])).stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual([
      { name: "files", transport: "stdio", target: "npx -y --flag x", enabled: true, origin: "HOME/config.toml:5" },
      { name: "web", transport: "http", target: "http://127.0.0.1:9/mcp", enabled: true, origin: "HOME/config.toml:10" },
    ]);
    expect(await skein(at, ["remove", "files"])).toEqual({ code: 0, stdout: "", stderr: "files was removed from HOME/config.toml.\n" });
    await skein(at, ["remove", "web"]);
    expect(readFileSync(join(at.home, "config.toml"), "utf8")).toBe(before);
  });

  it("refuses what it cannot do, and says how it is done", async () => {
    const at = place({ home: '[mcp_servers.a]\ncommand = "c"\n' });
    const refused = async (...args: string[]) => {
      const { code, stderr } = await skein(at, args);
      return [code, stderr];
    };
    expect(await refused("add", "a", "--", "d")).toEqual([1, 'skein: HOME/config.toml has an MCP server "a" already. Remove it first, or choose another name.\n']);
    expect(await refused("remove", "b")).toEqual([3, 'skein: HOME/config.toml has no MCP server "b".\n']);
    expect(await refused("test", "b")).toEqual([3, 'skein: There is no MCP server "b". `skein mcp list` shows those that there are.\n']);
    expect(await refused("remove")).toEqual([2, "skein: Which one? skein mcp remove NAME\n"]);
    expect(await refused("frobnicate")).toEqual([2, "skein: There is no `skein mcp frobnicate`: it is list, add, remove or test.\n"]);
    const how = "skein: What is to be added? skein mcp add NAME -- COMMAND [ARG]..., or skein mcp add NAME --url URL\n";
    expect(await refused("add", "b")).toEqual([2, how]);
    expect(await refused("add", "b", "--url", "http://x/mcp", "--", "c")).toEqual([2, how]);
    expect(await refused("add", "b", "--env", "=v", "--", "c")).toEqual([2, 'skein: --env takes NAME=VALUE, not "=…".\n']);
    expect(await refused("add", "b", "--env", "FOO", "--", "c")).toEqual([2, 'skein: --env takes NAME=VALUE, not "FOO".\n']);
    expect(await refused("add", "b", "npx", "-y", "c")).toEqual([2, "skein: Put -- before the command, so that its options are its own: skein mcp add NAME -- COMMAND [ARG]...\n"]);
    expect(await refused("list", "extra")).toEqual([2, 'skein: "extra" is a word too many. usage: skein mcp list\n']);
    expect(await refused("add", "b", "--url", "http://x/mcp", "--env", "A=b")).toEqual([2, "skein: --env goes with a command: a server at an address has an environment of its own.\n"]);
    expect(await refused("add", "b", "--bearer-token-env-var", "T", "--", "c")).toEqual([2, "skein: --bearer-token-env-var goes with --url.\n"]);
    expect(readFileSync(join(at.home, "config.toml"), "utf8")).toBe('[mcp_servers.a]\ncommand = "c"\n');
  });

  it("suggests a command that can be typed", async () => {
    expect((await skein(place({ home: "" }), ["add", "it's mine", "--", "true"])).stderr).toBe("it's mine was added to HOME/config.toml. `skein mcp test 'it'\\''s mine'` starts it to see whether it works.\n");
  });

  it("starts servers, lists their tools, and fails when one fails, with its last words", async () => {
    const { args } = await hostileServer("stdio", "normal");
    const at = place({ home: "" });
    const add = (name: string, start: string) => skein(at, ["add", name, "--", process.execPath, args[0]!, "stdio", start]);
    await add("good", "normal");
    expect(await skein(at, ["test", "good", "-c", 'mcp_servers.good.enabled_tools=["pid", "env"]'])).toEqual({ code: 0, stdout: "good: ready, 2 tools\n  env\n  pid\n", stderr: "" });
    await add("bad", "exit");
    const { code, stdout } = await skein(at, ["test", "--json", "-c", 'mcp_servers.good.enabled_tools=["pid"]']);
    expect(code).toBe(1);
    expect(stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual([
      { name: "good", state: "ready", tools: ["pid"] },
      { name: "bad", state: "failed", tools: [], message: "it could not be started: it exited with code 3; it wrote: cannot find my config" },
    ]);
    expect(await skein(at, ["test", "bad"])).toEqual({ code: 1, stdout: "bad: failed: it could not be started: it exited with code 3; it wrote: cannot find my config\n", stderr: "" });
  });

  it("explains itself", async () => {
    const { code, stdout } = await skein(place({ home: "" }), ["--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("examples:\n  skein mcp add files -- npx -y");
  });
});
