import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configText, describeConfig } from "../../src/config/describe.ts";
import { homeOf } from "../../src/config/home.ts";
import { settingsOf } from "../../src/config/settings.ts";
import { good, short } from "./given.ts";

const HOME = `model = "gpt-5"
[history]
sensitive_patterns = ["password"]
[model_providers.box]
base_url = "https://box.example/v1?key=hunter2"
http_headers = { Authorization = "Bearer hunter2" }
query_params = { key = "hunter2" }
[mcp_servers.s]
command = "serve"
args = ["--token", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "password=hunter2"]
env = { TOKEN = "hunter2" }
[mcp_servers.t]
url = "https://t.example/?token=hunter2"
http_headers = { "X-Key" = "hunter2" }
[shell_environment_policy]
set = { SECRET = "hunter2" }
[[rules]]
argv_prefix = ["git", "push"]
decision = "ask"
[profiles.p]
model = "gpt-6"
[profiles.p.model_providers.box.http_headers]
Other = "hunter2"
`;

describe("skein config", () => {
  test("shows each value and where it came from", async () => {
    const { config, origins, at } = await good({ home: HOME, profile: "p", flags: { sandbox: "read-only" }, overrides: ["web_search=live"] });
    const rows = describeConfig(config, origins).map((row) => ({ ...row, origin: short(row.origin, at) }));
    const row = (key: string) => rows.find((each) => each.key === key);
    expect(["model", "sandbox_mode", "web_search", "approval_policy", "profile", "profiles", "model_context_window", "rules.0", "tool_output_token_limit"].map(row)).toEqual([
      { key: "model", value: "gpt-6", origin: "config.toml:21 (profile p)" },
      { key: "sandbox_mode", value: "read-only", origin: "--sandbox" },
      { key: "web_search", value: "live", origin: "-c web_search" },
      { key: "approval_policy", value: "untrusted", origin: "built in (untrusted folder)" },
      { key: "profile", value: "p", origin: "--profile" },
      { key: "profiles", value: ["p"], origin: "config.toml:21" },
      { key: "model_context_window", value: null, origin: "not set" },
      { key: "rules.0", value: ["ask", "git", "push"], origin: "config.toml:17" },
      { key: "tool_output_token_limit", value: 10_000, origin: "built in" },
    ]);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
  });

  test("every origin belongs to a row", async () => {
    const { config, origins } = await good({ home: HOME, profile: "p" });
    const keys = new Set(describeConfig(config, origins).map(({ key }) => key));
    expect([...origins.keys()].filter((key) => !keys.has(key))).toEqual([]);
  });

  test("never shows what may be a secret", async () => {
    const { config, origins } = await good({ home: HOME, profile: "p" });
    const rows = describeConfig(config, origins);
    const shown = JSON.stringify(rows) + configText(rows);
    expect(shown).not.toContain("hunter2");
    expect(shown).not.toContain("ghp_");
    const hidden = rows.filter(({ value }) => String(value).includes("[hidden]")).map(({ key, value }) => [key, value]);
    expect(hidden).toEqual([
      ["model_providers.box.base_url", "https://box.example/v1?[hidden]"],
      ["model_providers.box.http_headers.Authorization", "[hidden]"],
      ["model_providers.box.http_headers.Other", "[hidden]"],
      ["model_providers.box.query_params.key", "[hidden]"],
      ["shell_environment_policy.set.SECRET", "[hidden]"],
      ["mcp_servers.s.env.TOKEN", "[hidden]"],
      ["mcp_servers.t.url", "https://t.example/?[hidden]"],
      ["mcp_servers.t.http_headers.X-Key", "[hidden]"],
    ]);
  });

  test("as text, what nobody has touched or set is left out of the tables", async () => {
    const { config, origins, at } = await good({ home: 'model = "gpt-5"\n' });
    expect(short(configText(describeConfig(config, origins)), at)).toBe(`model = "gpt-5"                                           # config.toml:1
project_doc_max_bytes = 32768                             # built in
tool_output_token_limit = 10000                           # built in
web_search = "disabled"                                   # built in
approval_policy = "untrusted"                             # built in (untrusted folder)
sandbox_mode = "read-only"                                # built in (untrusted folder)
sandbox_workspace_write.writable_roots = []               # built in
sandbox_workspace_write.network_access = false            # built in
sandbox_workspace_write.exclude_tmpdir_env_var = false    # built in
sandbox_workspace_write.exclude_slash_tmp = false         # built in
shell_environment_policy.inherit = "all"                  # built in
shell_environment_policy.ignore_default_excludes = false  # built in
shell_environment_policy.exclude = []                     # built in
shell_environment_policy.include_only = []                # built in
history.persistence = "save-all"                          # built in
history.max_size = 1000                                   # built in
history.sensitive_patterns = []                           # built in
compact.keep_turns = 5                                    # built in
compact.prepare = true                                    # built in
tui.resume_picker_limit = 100                             # built in
`);
  });
});

test("settings of a turn", async () => {
  const { config, cwd } = await good({ home: 'model = "claude-x"\nmodel_reasoning_effort = "high"\nmodel_context_window = 5\n[compact]\nstrategy = "remote"\n[model_providers.box]\nbase_url = "http://x"\nhttp_headers = { A = "secret" }', flags: { addDirs: ["/out"], fullAuto: true } });
  expect(settingsOf(config, cwd)).toEqual({
    model: "claude-x",
    model_provider: "anthropic",
    cwd,
    approval_policy: "on-request",
    sandbox_mode: "workspace-write",
    sandbox_workspace_write: { writable_roots: ["/out"], network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
    model_reasoning_effort: "high",
    model_context_window: 5,
    project_doc_max_bytes: 32_768,
    tool_output_token_limit: 10_000,
    web_search: "disabled",
    compact: { keep_turns: 5, prepare: true, strategy: "remote" },
  });
  const bare = await good();
  expect(settingsOf(bare.config, "/w")).toMatchObject({ model: "", model_provider: "", cwd: "/w" });
});

test("the home", () => {
  const home = (env: Record<string, string>, user?: string) => homeOf(env, user);
  expect([home({ HOME: "/u" }), home({ HOME: "/u", SKEIN_HOME: "" }), home({ HOME: "/u", SKEIN_HOME: "/x/../y" }), home({ HOME: "/u", SKEIN_HOME: "~/z" }), home({ HOME: "/u", SKEIN_HOME: "~" })]).toEqual(
    ["/u/.skein", "/u/.skein", "/y", "/u/z", "/u"].map((path) => ({ ok: true, home: path })),
  );
  for (const odd of ["", "rel"]) expect(home({ HOME: odd })).toEqual({ ok: true, home: join(userInfo().homedir, ".skein") });
  expect(home({ SKEIN_HOME: "rel", HOME: "/u" })).toEqual({ ok: false, message: 'SKEIN_HOME is "rel": give the whole path, from / or ~/ on.' });
  expect(home({ SKEIN_HOME: import.meta.filename })).toMatchObject({ ok: false, message: expect.stringContaining("is not a folder") });
  expect([home({}, ""), home({ SKEIN_HOME: "/y" }, "")]).toEqual([{ ok: false, message: expect.stringContaining("set HOME") }, { ok: true, home: "/y" }]);
});
