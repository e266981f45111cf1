import { describe, expect, test } from "vitest";
import { join } from "node:path";
import type { Layer, Origin } from "../../src/config/config.ts";
import { good, load, mistakes, short, type Ask } from "./given.ts";

/** Each layer that says something about `key`, so that every pair of layers can be put together. */
const WAYS: Record<string, Record<Exclude<Layer, "default">, (ask: Ask) => Ask>> = {
  sandbox_mode: {
    home: (ask) => ({ ...ask, home: `sandbox_mode = "danger-full-access"\n${(ask.home as string | undefined) ?? ""}` }),
    repository: (ask) => ({ ...ask, repo: 'sandbox_mode = "read-only"' }),
    profile: (ask) => ({ ...ask, profile: "p", home: `${(ask.home as string | undefined) ?? ""}\n[profiles.p]\nsandbox_mode = "workspace-write"` }),
    override: (ask) => ({ ...ask, overrides: ["sandbox_mode=danger-full-access"] }),
    flag: (ask) => ({ ...ask, flags: { sandbox: "workspace-write" } }),
  },
  model: {
    home: (ask) => ({ ...ask, home: `model = "of-home"\n${(ask.home as string | undefined) ?? ""}` }),
    repository: (ask) => ({ ...ask, repo: 'model = "of-repository"', env: { OPENAI_API_KEY: "k" } }),
    profile: (ask) => ({ ...ask, profile: "p", home: `${(ask.home as string | undefined) ?? ""}\n[profiles.p]\nmodel = "of-profile"` }),
    override: (ask) => ({ ...ask, overrides: ["model=of-override"] }),
    flag: (ask) => ({ ...ask, flags: { model: "of-flag" } }),
  },
  "history.max_size": {
    home: (ask) => ({ ...ask, home: `history.max_size = 1\n${(ask.home as string | undefined) ?? ""}` }),
    repository: (ask) => ask,
    profile: (ask) => ({ ...ask, profile: "p", home: `${(ask.home as string | undefined) ?? ""}\n[profiles.p.history]\nmax_size = 3` }),
    override: (ask) => ({ ...ask, overrides: ["history.max_size=4"] }),
    flag: (ask) => ask,
  },
};
const VALUES: Record<string, Partial<Record<Layer, unknown>>> = {
  sandbox_mode: { default: "workspace-write", home: "danger-full-access", repository: "read-only", profile: "workspace-write", override: "danger-full-access", flag: "workspace-write" },
  model: { home: "of-home", repository: "of-repository", profile: "of-profile", override: "of-override", flag: "of-flag" },
  "history.max_size": { default: 1000, home: 1, profile: 3, override: 4 },
};
const LAYERS: Layer[] = ["default", "home", "repository", "profile", "override", "flag"];

function pairs(key: string): [Layer, Layer][] {
  const speaking = LAYERS.filter((layer) => VALUES[key]![layer] !== undefined);
  return speaking.flatMap((weaker, index) => speaking.slice(index + 1).map((stronger): [Layer, Layer] => [weaker, stronger]));
}

describe.each(Object.keys(WAYS))("%s", (key) => {
  test.each(pairs(key))("of %s and %s, the latter counts", async (weaker, stronger) => {
    let ask: Ask = { trust: true };
    for (const layer of [weaker, stronger]) if (layer !== "default") ask = WAYS[key]![layer](ask);
    const { config, origins } = await good(ask);
    const value = key.split(".").reduce<unknown>((table, part) => (table as Record<string, unknown>)[part], config);
    expect([value, origins.get(key)?.layer]).toEqual([VALUES[key]![stronger], stronger]);
  });

  test("with all layers at once, the strongest counts", async () => {
    let ask: Ask = { trust: true };
    for (const layer of LAYERS) if (layer !== "default") ask = WAYS[key]![layer](ask);
    const strongest = LAYERS.findLast((layer) => VALUES[key]![layer] !== undefined)!;
    expect((await good(ask)).origins.get(key)?.layer).toBe(strongest);
  });
});

describe("tables are merged key by key, lists are replaced", () => {
  test("a provider may be described in several layers", async () => {
    const { config, origins, at } = await good({
      home: '[model_providers.box]\nbase_url = "http://box/v1"\nhttp_headers = { a = "1", b = "1" }\n[profiles.p.model_providers.box]\nwire_api = "chat"\nhttp_headers.b = "2"',
      profile: "p",
      overrides: ['model_providers.box.name="The Box"'],
    });
    expect(config.model_providers["box"]).toEqual({
      name: "The Box",
      base_url: "http://box/v1",
      wire_api: "chat",
      http_headers: { a: "1", b: "2" },
      query_params: {},
      request_max_retries: 4,
      stream_max_retries: 5,
      stream_idle_timeout_ms: 300_000,
    });
    expect([...origins].filter(([key]) => key.startsWith("model_providers.box."))).toEqual([
      ["model_providers.box.base_url", { layer: "home", file: at.homeFile, line: 2 }],
      ["model_providers.box.http_headers.a", { layer: "home", file: at.homeFile, line: 3 }],
      ["model_providers.box.http_headers.b", { layer: "profile", name: "p", file: at.homeFile, line: 6 }],
      ["model_providers.box.wire_api", { layer: "profile", name: "p", file: at.homeFile, line: 5 }],
      ["model_providers.box.name", { layer: "override", name: "-c model_providers.box.name" }],
      ["model_providers.box.request_max_retries", { layer: "default" }],
      ["model_providers.box.stream_max_retries", { layer: "default" }],
      ["model_providers.box.stream_idle_timeout_ms", { layer: "default" }],
    ] satisfies [string, Origin][]);
  });

  test("a list of a stronger layer takes the place of a weaker one", async () => {
    const { config } = await good({ home: 'shell_environment_policy.exclude = ["A"]', overrides: ['shell_environment_policy.exclude=["B"]'] });
    expect(config.shell_environment_policy.exclude).toEqual(["B"]);
  });

  test("rules of all layers apply together", async () => {
    const { config, origins } = await good({
      trust: true,
      home: '[[rules]]\nargv_prefix = ["git", "push"]\ndecision = "ask"\n[[profiles.p.rules]]\nargv_prefix = ["ls"]\ndecision = "allow"',
      repo: '[[rules]]\nargv_prefix = ["rm"]\ndecision = "deny"',
      profile: "p",
      overrides: ['rules=[{argv_prefix=["curl"], decision="deny"}]'],
    });
    expect(config.rules).toEqual([
      { argv_prefix: ["git", "push"], decision: "ask" },
      { argv_prefix: ["rm"], decision: "deny" },
      { argv_prefix: ["ls"], decision: "allow" },
      { argv_prefix: ["curl"], decision: "deny" },
    ]);
    expect([0, 1, 2, 3].map((index) => origins.get(`rules.${index}`)?.layer)).toEqual(["home", "repository", "profile", "override"]);
  });

  test("openai_base_url moves the provider openai, from any layer", async () => {
    const home = '[model_providers.openai]\nbase_url = "http://home/v1"';
    expect((await good({ home })).config.model_providers["openai"]!.base_url).toBe("http://home/v1");
    const { config, origins } = await good({ home, overrides: ['openai_base_url="http://127.0.0.1:9/v1"'] });
    expect([config.model_providers["openai"]!.base_url, config.openai_base_url]).toEqual(["http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"]);
    expect(origins.get("model_providers.openai.base_url")).toEqual({ layer: "override", name: "-c openai_base_url" });
    const weaker = await good({ home: 'openai_base_url = "http://home/v1"', overrides: ['model_providers.openai.base_url="http://mine/v1"'] });
    expect(weaker.config.model_providers["openai"]!.base_url).toBe("http://mine/v1");
  });
});

describe("defaults", () => {
  const given: [string, Ask, [string, string]][] = [
    ["a trusted folder", { trust: true }, ["workspace-write", "on-request"]],
    ["an untrusted folder", {}, ["read-only", "untrusted"]],
    ["exec", { mode: "exec" }, ["read-only", "never"]],
    ["exec in a trusted folder", { mode: "exec", trust: true }, ["read-only", "never"]],
    ["--full-auto", { flags: { fullAuto: true } }, ["workspace-write", "on-request"]],
    ["exec --full-auto", { mode: "exec", flags: { fullAuto: true } }, ["workspace-write", "never"]],
    ["--full-auto with --ask-for-approval", { flags: { fullAuto: true, askForApproval: "untrusted" } }, ["workspace-write", "untrusted"]],
    ["--full-auto over the file", { home: 'sandbox_mode = "read-only"\napproval_policy = "never"', flags: { fullAuto: true } }, ["workspace-write", "on-request"]],
    ["--dangerously-bypass-approvals-and-sandbox", { flags: { bypass: true } }, ["danger-full-access", "never"]],
  ];
  test.each(given)("%s", async (_name, ask, expected) => {
    const { config } = await good(ask);
    expect([config.sandbox_mode, config.approval_policy]).toEqual(expected);
  });

  test("everything else", async () => {
    const { config, warnings, cwd, project, at } = await good();
    const { model_providers: providers, ...rest } = config;
    expect(rest).toEqual({
      mcp_servers: {},
      models: {},
      project_doc_max_bytes: 32_768,
      tool_output_token_limit: 10_000,
      web_search: "disabled",
      approval_policy: "untrusted",
      sandbox_mode: "read-only",
      sandbox_workspace_write: { writable_roots: [], network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
      shell_environment_policy: { inherit: "all", ignore_default_excludes: false, exclude: [], include_only: [], set: {} },
      history: { persistence: "save-all", max_size: 1000, sensitive_patterns: [] },
      compact: { keep_turns: 5, prepare: true },
      tui: { resume_picker_limit: 100 },
      rules: [],
      profiles: [],
      projects: {},
    });
    expect(Object.entries(providers).map(([name, { base_url, env_key, wire_api }]) => [name, base_url, env_key, wire_api])).toEqual([
      ["openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "responses"],
      ["anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "messages"],
      ["ollama", "http://127.0.0.1:11434/v1", undefined, "chat"],
      ["lmstudio", "http://127.0.0.1:1234/v1", undefined, "chat"],
    ]);
    expect({ warnings, cwd, project: { ...project, hash: null } }).toEqual({ warnings: [], cwd: at.repo, project: { root: at.repo, file: at.repoFile, hash: null, trusted: false, by: null } });
  });

  test("a server of the user has its defaults", async () => {
    const { config } = await good({ home: '[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "x"]\nenv = { A = "b", B = "" }\ncwd = "~/work"' });
    expect(config.mcp_servers["files"]).toEqual({
      command: "npx",
      args: ["-y", "x"],
      env: { A: "b", B: "" },
      cwd: expect.stringMatching(/\/user\/work$/u),
      http_headers: {},
      startup_timeout_sec: 10,
      tool_timeout_sec: 60,
      enabled: true,
      disabled_tools: [],
    });
  });
});

describe("flags", () => {
  test("--cd moves the working folder and everything that is relative to it", async () => {
    const { cwd, config, at } = await good({ home: 'sandbox_workspace_write.writable_roots = ["../data", "~/notes", "/srv"]', flags: { cd: "../repo/.git", addDirs: ["out", "/srv"] } });
    expect([cwd, config.sandbox_workspace_write.writable_roots]).toEqual([
      join(at.repo, ".git"),
      [join(at.root, "data"), join(at.root, "user/notes"), "/srv", join(at.repo, ".git/out")],
    ]);
  });

  test("mistakes name the flag", async () => {
    expect(await mistakes({ flags: { sandbox: "workspace_write", askForApproval: "sometimes", model: " ", addDirs: [""] } })).toEqual([
      "--model: must name a model.",
      '--sandbox: must be one of read-only, workspace-write, danger-full-access, not "workspace_write". Did you mean workspace-write?',
      '--ask-for-approval: must be one of untrusted, on-failure, on-request, never, not "sometimes".',
      "--add-dir: must name a folder.",
    ]);
    expect(await mistakes({ flags: { sandbox: "read-only", fullAuto: true } })).toEqual(["--full-auto: contradicts --sandbox; give one or the other."]);
    expect(await mistakes({ flags: { bypass: true, sandbox: "read-only", fullAuto: true } })).toEqual(["--dangerously-bypass-approvals-and-sandbox: contradicts --full-auto and --sandbox; give one or the other."]);
    expect(await mistakes({ flags: { cd: "nowhere" } })).toEqual(["--cd: repo/nowhere does not exist."]);
    expect(await mistakes({ flags: { cd: "../home/config.toml" }, home: "" })).toEqual(["--cd: config.toml is not a folder."]);
  });

  test("a refusal says what was kept and what to do", async () => {
    const { loaded, at } = await load({ flags: { cd: "nowhere" } });
    expect(loaded.ok ? "" : short(loaded.message, at)).toBe("The configuration cannot be used:\n  --cd: repo/nowhere does not exist.\nNothing was started and no file was changed. Correct this and run it again.");
  });
});

describe("profiles", () => {
  const home = 'model = "m"\n[profiles.fast]\nmodel = "quick"\n[profiles.deep]\nmodel = "slow"\nmodel_reasoning_effort = "high"\n[profiles.empty]\n';

  test("are chosen by --profile, then -c, then the file", async () => {
    expect((await good({ home })).config.model).toBe("m");
    const chosen = await good({ home, profile: "deep" });
    expect([chosen.config.model, chosen.config.profile, chosen.config.profiles, chosen.origins.get("profile")]).toEqual(["slow", "deep", ["fast", "deep", "empty"], { layer: "flag", name: "--profile" }]);
    expect((await good({ home: `profile = "fast"\n${home}` })).config.model).toBe("quick");
    expect((await good({ home: `profile = "fast"\n${home}`, overrides: ["profile=deep"] })).config.model).toBe("slow");
    expect((await good({ home: `profile = "fast"\n${home}`, overrides: ["profile=deep"], profile: "empty" })).config.model).toBe("m");
    expect((await good({ home, overrides: ["profiles.mine.model=x"], profile: "mine" })).config.model).toBe("x");
  });

  test("that do not exist are refused, with the place and the nearest name", async () => {
    expect(await mistakes({ home, profile: "dep" })).toEqual(['--profile: there is no profile "dep" in config.toml: it has "fast", "deep", "empty". Did you mean "deep"?']);
    expect(await mistakes({ profile: "x" })).toEqual(['--profile: there is no profile "x" in config.toml: it has none.']);
    expect(await mistakes({ home: `\nprofile = "fsat"\n${home}` })).toEqual(['config.toml:2: there is no profile "fsat" in config.toml: it has "fast", "deep", "empty". Did you mean "fast"?']);
    expect(await mistakes({ home, overrides: ["profile=none"] })).toEqual(['-c profile: there is no profile "none" in config.toml: it has "fast", "deep", "empty".']);
  });

  test("with a mistake are refused even when another is used", async () => {
    expect(await mistakes({ home: `${home}[profiles.bad]\nsandbox_mode = "all"`, profile: "fast" })).toEqual(['config.toml:9: profiles.bad.sandbox_mode must be one of "read-only", "workspace-write", "danger-full-access", not "all".']);
  });

  test("cannot choose profiles or trust", async () => {
    const { warnings, at } = await good({ home: '[profiles.p]\nprofile = "q"\n[profiles.p.projects."/x"]\ntrust_level = "trusted"\n[profiles.q]\n', profile: "p" });
    expect(warnings.map((text) => short(text, at))).toEqual([
      "config.toml:2: unknown key profiles.p.profile: profile is not part of a table, so it goes above the first [table]. It is ignored.",
      "config.toml:3: unknown key profiles.p.projects: projects is not part of a table. It is ignored.",
    ]);
  });
});
