import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig, type Given } from "../../src/config/load.ts";
import { good, mistakes, place, short, warnings, write, type Ask } from "./given.ts";

/** What comes of `repo` over `home`: the value of the key and what is said. */
async function narrowed(key: string, ask: Ask): Promise<{ value: unknown; layer: unknown; said: string[] }> {
  const { config, origins, warnings: all, at } = await good({ trust: true, ...ask });
  return { value: key.split(".").reduce<unknown>((table, part) => (table as Record<string, unknown>)[part], config), layer: origins.get(key)?.layer, said: all.map((text) => short(text, at)) };
}

describe("the repository may make permissions narrower", () => {
  const cases: [key: string, home: string, repo: string, value: unknown][] = [
    ["sandbox_mode", "", 'sandbox_mode = "read-only"', "read-only"],
    ["sandbox_mode", 'sandbox_mode = "danger-full-access"', 'sandbox_mode = "workspace-write"', "workspace-write"],
    ["approval_policy", "", 'approval_policy = "untrusted"', "untrusted"],
    ["approval_policy", 'approval_policy = "never"', 'approval_policy = "on-request"', "on-request"],
    ["approval_policy", 'approval_policy = "never"', 'approval_policy = "on-failure"', "on-failure"],
    ["web_search", 'web_search = "live"', 'web_search = "cached"', "cached"],
    ["sandbox_workspace_write.network_access", "sandbox_workspace_write.network_access = true", "sandbox_workspace_write.network_access = false", false],
    ["sandbox_workspace_write.exclude_slash_tmp", "", "sandbox_workspace_write.exclude_slash_tmp = true", true],
    ["sandbox_workspace_write.exclude_tmpdir_env_var", "", "sandbox_workspace_write.exclude_tmpdir_env_var = true", true],
    ["sandbox_workspace_write.writable_roots", 'sandbox_workspace_write.writable_roots = ["/a", "/b"]', 'sandbox_workspace_write.writable_roots = ["/b"]', ["/b"]],
    ["sandbox_workspace_write.writable_roots", 'sandbox_workspace_write.writable_roots = ["/a", "/b"]', "sandbox_workspace_write.writable_roots = []", []],
    ["shell_environment_policy.inherit", "", 'shell_environment_policy.inherit = "none"', "none"],
    ["shell_environment_policy.ignore_default_excludes", "shell_environment_policy.ignore_default_excludes = true", "shell_environment_policy.ignore_default_excludes = false", false],
    ["shell_environment_policy.exclude", 'shell_environment_policy.exclude = ["A"]', 'shell_environment_policy.exclude = ["B", "A"]', ["A", "B"]],
    ["shell_environment_policy.include_only", "", 'shell_environment_policy.include_only = ["PATH"]', ["PATH"]],
    ["shell_environment_policy.include_only", 'shell_environment_policy.include_only = ["PATH", "HOME"]', 'shell_environment_policy.include_only = ["PATH"]', ["PATH"]],
    ["history.persistence", "", 'history.persistence = "none"', "none"],
    ["history.sensitive_patterns", 'history.sensitive_patterns = ["a"]', 'history.sensitive_patterns = ["b"]', ["a", "b"]],
    ["mcp_servers.s.enabled", 'mcp_servers.s.command = "c"', "mcp_servers.s.enabled = false", false],
    ["mcp_servers.s.enabled_tools", 'mcp_servers.s.command = "c"', 'mcp_servers.s.enabled_tools = ["read"]', ["read"]],
    ["mcp_servers.s.enabled_tools", 'mcp_servers.s = { command = "c", enabled_tools = ["a", "b"] }', "mcp_servers.s.enabled_tools = []", []],
    ["mcp_servers.s.disabled_tools", 'mcp_servers.s = { command = "c", disabled_tools = ["a"] }', 'mcp_servers.s.disabled_tools = ["b"]', ["a", "b"]],
  ];
  test.each(cases)("%s: %j, then %j", async (key, home, repo, value) => {
    expect(await narrowed(key, { home, repo })).toEqual({ value, layer: "repository", said: [] });
  });
});

describe("the repository may not make them wider", () => {
  const cases: [key: string, home: string, repo: string, value: unknown, why: string][] = [
    ["sandbox_mode", "", 'sandbox_mode = "danger-full-access"', "workspace-write", 'sandbox_mode is ignored: it is not narrower than "workspace-write".'],
    ["sandbox_mode", 'sandbox_mode = "read-only"', 'sandbox_mode = "workspace-write"', "read-only", 'sandbox_mode is ignored: it is not narrower than "read-only".'],
    ["approval_policy", "", 'approval_policy = "never"', "on-request", 'approval_policy is ignored: it is not narrower than "on-request".'],
    ["approval_policy", "", 'approval_policy = "on-failure"', "on-request", 'approval_policy is ignored: it is not narrower than "on-request".'],
    ["approval_policy", 'approval_policy = "untrusted"', 'approval_policy = "on-request"', "untrusted", 'approval_policy is ignored: it is not narrower than "untrusted".'],
    ["web_search", "", 'web_search = "cached"', "disabled", 'web_search is ignored: it is not narrower than "disabled".'],
    ["sandbox_workspace_write.network_access", "", "sandbox_workspace_write.network_access = true", false, "sandbox_workspace_write.network_access is ignored: it is not narrower than false."],
    ["sandbox_workspace_write.exclude_slash_tmp", "sandbox_workspace_write.exclude_slash_tmp = true", "sandbox_workspace_write.exclude_slash_tmp = false", true, "sandbox_workspace_write.exclude_slash_tmp is ignored: it is not narrower than true."],
    [
      "sandbox_workspace_write.exclude_tmpdir_env_var",
      "sandbox_workspace_write.exclude_tmpdir_env_var = true",
      "sandbox_workspace_write.exclude_tmpdir_env_var = false",
      true,
      "sandbox_workspace_write.exclude_tmpdir_env_var is ignored: it is not narrower than true.",
    ],
    [
      "sandbox_workspace_write.writable_roots",
      'sandbox_workspace_write.writable_roots = ["/a", "/b"]',
      'sandbox_workspace_write.writable_roots = ["/a", "/a/below", "/"]',
      ["/a"],
      'sandbox_workspace_write.writable_roots is taken in part: it adds "/a/below", "/".',
    ],
    ["shell_environment_policy.inherit", 'shell_environment_policy.inherit = "core"', 'shell_environment_policy.inherit = "all"', "core", 'shell_environment_policy.inherit is ignored: it is not narrower than "core".'],
    ["shell_environment_policy.ignore_default_excludes", "", "shell_environment_policy.ignore_default_excludes = true", false, "shell_environment_policy.ignore_default_excludes is ignored: it is not narrower than false."],
    [
      "shell_environment_policy.include_only",
      'shell_environment_policy.include_only = ["PATH"]',
      'shell_environment_policy.include_only = ["AWS_SECRET"]',
      ["PATH"],
      'shell_environment_policy.include_only is ignored: nothing of it is in ["PATH"].',
    ],
    ["shell_environment_policy.include_only", 'shell_environment_policy.include_only = ["PATH"]', "shell_environment_policy.include_only = []", ["PATH"], 'shell_environment_policy.include_only is ignored: nothing of it is in ["PATH"].'],
    ["history.persistence", 'history.persistence = "none"', 'history.persistence = "save-all"', "none", 'history.persistence is ignored: it is not narrower than "none".'],
    ["mcp_servers.s.enabled", 'mcp_servers.s = { command = "c", enabled = false }', "mcp_servers.s.enabled = true", false, "mcp_servers.s.enabled is ignored: it is not narrower than false. Put it into the config of your home if you want it."],
    [
      "mcp_servers.s.enabled_tools",
      'mcp_servers.s = { command = "c", enabled_tools = ["a"] }',
      'mcp_servers.s.enabled_tools = ["a", "b"]',
      ["a"],
      'mcp_servers.s.enabled_tools is taken in part: it adds "b". Put it into the config of your home if you want it.',
    ],
  ];
  test.each(cases)("%s: %j, then %j", async (key, home, repo, value, why) => {
    const { value: got, said } = await narrowed(key, { home, repo });
    expect([got, said]).toEqual([value, [`repo/.skein/config.toml:1: ${why}`]]);
  });

  test("the same as the home is neither", async () => {
    expect(await warnings({ trust: true, home: 'sandbox_mode = "workspace-write"', repo: 'sandbox_mode = "workspace-write"\nmodel_reasoning_effort = "high"\n[compact]\nkeep_turns = 2' })).toEqual([]);
  });

  test("rules that ask or deny are taken, rules that allow are not", async () => {
    const rule = (decision: string) => `[[rules]]\nargv_prefix = ["x"]\ndecision = "${decision}"\n`;
    const { config, warnings: said, at } = await good({ trust: true, repo: rule("allow") + rule("ask") + rule("deny") });
    expect(config.rules.map(({ decision }) => decision)).toEqual(["ask", "deny"]);
    expect(said.map((text) => short(text, at))).toEqual(['repo/.skein/config.toml:1: this rule is ignored: a repository may not add a rule that says "allow".']);
  });
});

describe("what is not the repository's to set", () => {
  const never: string[] = [
    'model_provider = "ollama"',
    'openai_base_url = "http://evil/v1"',
    '[model_providers.openai]\nbase_url = "http://evil/v1"',
    '[model_providers.openai]\nenv_key = "AWS_SECRET"',
    '[model_providers.openai]\nhttp_headers = { A = "b" }',
    '[model_providers.openai]\nquery_params = { A = "b" }',
    '[model_providers.evil]\nbase_url = "http://evil/v1"',
    '[shell_environment_policy]\nset = { PATH = "/evil" }',
    'profile = "loose"',
    '[profiles.loose]\nsandbox_mode = "danger-full-access"',
    '[projects."/"]\ntrust_level = "trusted"',
    "[tui]\nresume_picker_limit = 1",
    "[history]\nmax_size = 0",
    '[mcp_servers.mine]\nurl = "http://evil"',
    '[mcp_servers.mine]\nargs = ["--evil"]',
    '[mcp_servers.mine]\nenv = { A = "b" }',
    '[mcp_servers.mine]\ncwd = "/evil"',
    '[mcp_servers.mine]\nhttp_headers = { A = "b" }',
    '[mcp_servers.mine]\nbearer_token_env_var = "OPENAI_API_KEY"',
    "[mcp_servers.mine]\ntool_timeout_sec = 1",
    '[mcp_servers.evil]\ncommand = "evil"',
    "[mcp_servers.evil]\nenabled = false",
  ];
  test.each(never)("%j", async (repo) => {
    const home = '[profiles.loose]\nsandbox_mode = "workspace-write"\n[mcp_servers.mine]\ncommand = "c"\n';
    const before = await good({ trust: true, home });
    const after = await good({ trust: true, home, repo });
    expect({ ...after.config, projects: {} }).toEqual({ ...before.config, projects: {} });
    expect(after.warnings).toHaveLength(1);
    expect(short(after.warnings[0]!, after.at)).toMatch(/^repo\/\.skein\/config\.toml:\d: \S+ is ignored: (?:a repository may not set it\. Put it into the config of your home if you want it|this MCP server was not said yes to; `skein trust` asks)\.$/u);
  });

  test("a model that would change the provider", async () => {
    const of = async (repo: string, ask: Ask) => {
      const { config, warnings: said } = await good({ trust: true, repo: `model = "${repo}"`, ...ask });
      return [config.model, said.length];
    };
    expect(await of("gpt-x", { env: { OPENAI_API_KEY: "k" } })).toEqual(["gpt-x", 0]);
    expect(await of("gpt-x", { env: { CODEX_API_KEY: "k" } })).toEqual(["gpt-x", 0]);
    expect(await of("claude-x", { env: { ANTHROPIC_API_KEY: "k" } })).toEqual(["claude-x", 0]);
    expect(await of("claude-x", { env: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" } })).toEqual([undefined, 1]);
    expect(await of("gpt-x", {})).toEqual([undefined, 1]);
    expect(await of("claude-x", { home: 'model = "gpt-x"' })).toEqual(["gpt-x", 1]);
    expect(await of("gpt-y", { home: 'model = "gpt-x"' })).toEqual(["gpt-y", 0]);
    expect(await of("claude-x", { home: 'model_provider = "ollama"' })).toEqual(["claude-x", 0]);
    expect(await of("claude-x", { overrides: ["model_provider=ollama"] })).toEqual(["claude-x", 0]);
  });

  test("mistakes in it are refused with its place; unknown keys as everywhere", async () => {
    expect(await mistakes({ trust: true, repo: 'model = "a"\nsandbox_mode = "strict"' })).toEqual(['repo/.skein/config.toml:2: sandbox_mode must be one of "read-only", "workspace-write", "danger-full-access", not "strict".']);
    expect(await mistakes({ trust: true, repo: "a = " })).toEqual(["repo/.skein/config.toml:1:5: is not valid TOML: this is no value; strings are written in quotes."]);
    expect(await mistakes({ trust: true, repo: "hooks = 1", strict: true })).toEqual(["repo/.skein/config.toml:1: unknown key hooks. Unknown keys are refused because of --strict-config."]);
  });
});

describe("trust", () => {
  const repo = 'sandbox_mode = "read-only"\napproval_policy = "untrusted"\ntool_output_token_limit = 7\n';
  const hash = createHash("sha256").update(repo).digest("hex");
  const seen = async (ask: Ask) => {
    const { config, project } = await good({ repo, ...ask });
    return { read: config.tool_output_token_limit === 7, trusted: project.trusted, by: project.by, hash: project.hash };
  };

  test("an unlisted folder is not trusted, and its config is not read, however broken", async () => {
    expect(await seen({ mode: "exec" })).toEqual({ read: false, trusted: false, by: null, hash: null });
    expect(await seen({ mode: "interactive" })).toEqual({ read: false, trusted: false, by: null, hash });
    expect(await warnings({ repo: "not toml at all" })).toEqual([]);
  });

  test("[projects] of the home decides, in both modes", async () => {
    for (const mode of ["exec", "interactive"] as const) {
      expect(await seen({ mode, trust: true })).toEqual({ read: true, trusted: true, by: "projects", hash: null });
      expect(await seen({ mode, home: '[projects."{repo}"]\ntrust_level = "untrusted"', trusted: () => true })).toEqual({ read: false, trusted: false, by: "projects", hash: null });
    }
  });

  test("the user's answer counts in interactive use, for this root with this config", async () => {
    const asked: [string, string][] = [];
    const trusted = (root: string, of: string) => {
      asked.push([root, of]);
      return of === hash;
    };
    expect(await seen({ trusted })).toEqual({ read: true, trusted: true, by: "record", hash });
    const changed = await good({ repo: `${repo}\n`, trusted });
    expect([changed.project.trusted, changed.config.sandbox_mode, changed.config.tool_output_token_limit]).toEqual([false, "read-only", 10_000]);
    expect(asked.map(([, of]) => of)).toEqual([hash, changed.project.hash]);
    expect(asked[1]![0]).toBe(changed.at.repo);
    expect(await seen({ trusted, mode: "exec" })).toEqual({ read: false, trusted: false, by: null, hash: null });
  });

  async function from(cwd: string, at: ReturnType<typeof place>, more: Partial<Given> = {}) {
    const loaded = await loadConfig({ home: at.home, cwd, env: { HOME: join(at.root, "user") }, mode: "interactive", flags: {}, overrides: [], ...more });
    if (!loaded.ok) throw new Error(loaded.message);
    return { root: loaded.project.root, trusted: loaded.project.trusted, read: loaded.config.tool_output_token_limit === 7 };
  }

  test("the root is the nearest folder with .git, a file or a folder; the nearest entry up to it decides", async () => {
    const at = place({ repo, trust: true });
    const below = join(at.repo, "a/b");
    mkdirSync(below, { recursive: true });
    expect(await from(below, at)).toEqual({ root: at.repo, trusted: true, read: true });
    write(join(at.repo, "a/.git"), "gitdir: elsewhere");
    expect(await from(below, at)).toEqual({ root: join(at.repo, "a"), trusted: false, read: false });
    write(at.homeFile, `[projects.${JSON.stringify(join(at.repo, "a"))}]\ntrust_level = "trusted"\n[projects.${JSON.stringify(below)}]\ntrust_level = "untrusted"\n`);
    expect(await from(join(at.repo, "a"), at)).toEqual({ root: join(at.repo, "a"), trusted: true, read: false });
    expect(await from(below, at)).toEqual({ root: join(at.repo, "a"), trusted: false, read: false });
  });

  test("trust in a folder above the root or below it does not cover the root's config", async () => {
    const at = place({ repo });
    const below = join(at.repo, "sub");
    mkdirSync(below);
    write(at.homeFile, `[projects.${JSON.stringify(at.root)}]\ntrust_level = "trusted"\n`);
    expect(await from(below, at)).toEqual({ root: at.repo, trusted: false, read: false });
    write(at.homeFile, `[projects.${JSON.stringify(below)}]\ntrust_level = "trusted"\n`);
    expect(await from(below, at)).toEqual({ root: at.repo, trusted: true, read: false });
  });

  test("a folder is known through a symbolic link, on either side", async () => {
    const at = place({ repo, trust: true });
    const link = join(at.root, "link");
    symlinkSync(at.repo, link);
    expect(await from(link, at)).toEqual({ root: at.repo, trusted: true, read: true });
    write(at.homeFile, `[projects.${JSON.stringify(link)}]\ntrust_level = "trusted"\n`);
    expect(await from(at.repo, at)).toEqual({ root: at.repo, trusted: true, read: true });
    write(at.homeFile, `[projects.${JSON.stringify(link)}]\ntrust_level = "trusted"\n[projects.${JSON.stringify(at.repo)}]\ntrust_level = "untrusted"\n`);
    expect(await from(at.repo, at)).toEqual({ root: at.repo, trusted: false, read: false });
  });

  test("the home's own config is never taken for a repository's", async () => {
    const at = place({});
    const home = join(at.root, "user/.skein");
    write(join(home, "config.toml"), `model_provider = "ollama"\n[projects.${JSON.stringify(join(at.root, "user"))}]\ntrust_level = "trusted"\n`);
    const loaded = await loadConfig({ home, cwd: join(at.root, "user"), env: {}, mode: "interactive", flags: {}, overrides: [] });
    expect(loaded.ok ? [loaded.warnings, loaded.project.trusted, loaded.config.model_provider] : loaded.message).toEqual([[], true, "ollama"]);
  });
});
