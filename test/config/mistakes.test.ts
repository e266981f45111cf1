import { mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { good, mistakes, place, short, temporary, warnings, write, type Ask } from "./given.ts";

const providers = '"openai", "anthropic", "ollama", "lmstudio", "replay"';

describe("a mistake in the file is refused with its line", () => {
  const cases: [string, string[]][] = [
    ['model = "a\n', ["config.toml:1:11: is not valid TOML: a string ends on its own line, with a quote."]],
    ["\n\nmodel = gpt-5\n", ["config.toml:3:9: is not valid TOML: this is no value; strings are written in quotes."]],
    ["[history\n", ["config.toml:1:9: is not valid TOML: illegal character in key."]],
    ['model = "a"\nmodel = "b"\n', ["config.toml:2:1: is not valid TOML: this is set a second time."]],
    ["model = 5", ["config.toml:1: model must be a string that is not empty, not 5."]],
    ['model = ""', ['config.toml:1: model must be a string that is not empty, not "".']],
    ["\nmodel = true", ["config.toml:2: model must be a string that is not empty, not true."]],
    ["[model]\nname = 1", ["config.toml:1: model must be a string that is not empty, not a table."]],
    ["model = 1979-05-27", ["config.toml:1: model must be a string that is not empty, not a date."]],
    ['sandbox_mode = "workspace"', ['config.toml:1: sandbox_mode must be one of "read-only", "workspace-write", "danger-full-access", not "workspace".']],
    ['sandbox_mode = "workspace_write"', ['config.toml:1: sandbox_mode must be one of "read-only", "workspace-write", "danger-full-access", not "workspace_write". Did you mean "workspace-write"?']],
    ['approval_policy = "on-fail"', ['config.toml:1: approval_policy must be one of "untrusted", "on-failure", "on-request", "never", not "on-fail".']],
    ['[sandbox_workspace_write]\nnetwork_access = "yes"', ['config.toml:2: sandbox_workspace_write.network_access must be true or false, without quotes, not "yes".']],
    ["sandbox_workspace_write = true", ["config.toml:1: sandbox_workspace_write must be a table, not true."]],
    ['[sandbox_workspace_write]\nwritable_roots = [\n  "/a",\n  7,\n]', ["config.toml:4: sandbox_workspace_write.writable_roots must be a list of paths; its element 2 is 7."]],
    ['shell_environment_policy = { inherit = "all", exclude = "A" }', ['config.toml:1: shell_environment_policy.exclude must be a list of strings, not "A".']],
    ['shell_environment_policy.set = { A = 1 }', ["config.toml:1: shell_environment_policy.set.A must be a string, not a number."]],
    ["model_context_window = 0", ["config.toml:1: model_context_window must be a whole number of at least 1, not 0."]],
    ["model_context_window = 1.5", ["config.toml:1: model_context_window must be a whole number of at least 1, not 1.5."]],
    ["auto_compact_token_limit = -1", ["config.toml:1: auto_compact_token_limit must be a whole number of at least 1, not -1."]],
    ['tool_output_token_limit = "many"', ['config.toml:1: tool_output_token_limit must be a whole number of at least 1, not "many".']],
    ["[history]\nmax_size = inf", ["config.toml:2: history.max_size must be a whole number of at least 0, not Infinity."]],
    ['[history]\npersistence = "all"', ['config.toml:2: history.persistence must be one of "save-all", "none", not "all".']],
    ['openai_base_url = "localhost:1"', ['config.toml:1: openai_base_url must be an http or https address without a user name or password, not "localhost:1".']],
    ['openai_base_url = "ftp://x"', ['config.toml:1: openai_base_url must be an http or https address without a user name or password, not "ftp://x".']],
    ['[model_providers.x]\nwire_api = "chat"', ["config.toml:2: model_providers.x has no base_url: Skein does not know where that provider is."]],
    ["[model_providers.x]", ["config.toml:1: model_providers.x has no base_url: Skein does not know where that provider is."]],
    ['[model_providers.x]\nbase_url = "http://x"\nwire_api = "grpc"', ['config.toml:3: model_providers.x.wire_api must be one of "responses", "chat", "messages", not "grpc".']],
    ['[model_providers.x]\nbase_url = "http://x"\nrequest_max_retries = 101', ["config.toml:3: model_providers.x.request_max_retries must be a whole number from 0 to 100, not 101."]],
    ['[model_providers.x]\nbase_url = "http://x"\nhttp_headers = { Authorization = ["Bearer secret"] }', ["config.toml:3: model_providers.x.http_headers.Authorization must be a string, not a list."]],
    ['[model_providers.x]\nbase_url = "http://x"\nenv_key = "sk-hunter2"', ["config.toml:3: model_providers.x.env_key must be the name of an environment variable (never the key itself), not a string."]],
    ['[model_providers.replay]\nbase_url = "http://x"', ['config.toml:2: the provider "replay" plays recordings and has no server; choose another name for model_providers.replay.']],
    ['\nmodel_provider = "opneai"', ['config.toml:2: there is no model provider "opneai"; describe it in model_providers.opneai. Did you mean "openai"?']],
    ['model_provider = "my box"', [`config.toml:1: there is no model provider "my box"; describe it in model_providers."my box". There are: ${providers}.`]],
    ['model_provider = "constructor"', [`config.toml:1: there is no model provider "constructor"; describe it in model_providers.constructor. There are: ${providers}.`]],
    ["[mcp_servers.a]\nenabled = true", ["config.toml:2: mcp_servers.a has neither command (to start a server here) nor url (to reach one)."]],
    ['[mcp_servers.a]\ncommand = "x"\nurl = "http://x"', ["config.toml:3: mcp_servers.a has both command and url; a server is either started here or reached by address."]],
    ['[mcp_servers.a]\ncommand = "x"\nstartup_timeout_sec = 0', ["config.toml:3: mcp_servers.a.startup_timeout_sec must be a number from 0.001 to 86400, not 0."]],
    ['[mcp_servers]\na = "npx"', ['config.toml:2: mcp_servers.a must be a table, not "npx".']],
    ['[projects."/a.b"]\ntrust_level = "yes"', ['config.toml:2: projects."/a.b".trust_level must be one of "trusted", "untrusted", not "yes".']],
    ['[projects."/a"]', ['config.toml:1: projects."/a" has no trust_level; it is "trusted" or "untrusted".']],
    ['[[rules]]\nargv_prefix = ["a"]\n', ["config.toml:1: a rule needs argv_prefix and decision; this one has no decision."]],
    ['\n[[rules]]\ndecision = "ask"\n', ["config.toml:2: a rule needs argv_prefix and decision; this one has no argv_prefix."]],
    ['[[rules]]\ndecision = "ask"\nargv_prefix = []', ["config.toml:3: argv_prefix of a rule must name at least a program, and no empty words."]],
    ['[[rules]]\ndecision = "ask"\nargv_prefix = ["a"]\n[[rules]]\ndecision = "maybe"\nargv_prefix = "ls"', ['config.toml:5: decision of a rule must be one of "allow", "ask", "deny", not "maybe".', 'config.toml:6: argv_prefix of a rule must be a list of strings, not "ls".']],
    ['[rules]\nargv_prefix = ["a"]', ["config.toml:1: rules must be a list of tables, written [[rules]], not a table."]],
    ["rules = [1]", ["config.toml:1: each of [[rules]] must be a table, not 1."]],
    ['[compact]\nstrategy = "remot"', ['config.toml:2: compact.strategy must be one of "summary", "user-messages", "remote", not "remot". Did you mean "remote"?']],
    ["[tui]\nresume_picker_limit = 0", ["config.toml:2: tui.resume_picker_limit must be a whole number of at least 1, not 0."]],
    ["web_search = true", ['config.toml:1: web_search must be one of "disabled", "cached", "live", not true.']],
    ['model_reasoning_summary = "long"', ['config.toml:1: model_reasoning_summary must be one of "auto", "concise", "detailed", "none", not "long".']],
    ["profile = []", ["config.toml:1: profile must be a string that is not empty, not a list."]],
    [`a = ${"[".repeat(200)}${"]".repeat(200)}`, ["config.toml:1:105: is not valid TOML: document contains excessively nested structures. aborting."]],
  ];
  test.each(cases)("%j", async (home, expected) => {
    expect(await mistakes({ home })).toEqual(expected);
  });

  test("all of them at once, the command line too", async () => {
    expect(await mistakes({ home: "model = 1\nweb_search = 2\n", overrides: ["tui=3"], flags: { sandbox: "no" } })).toEqual([
      "config.toml:1: model must be a string that is not empty, not 1.",
      'config.toml:2: web_search must be one of "disabled", "cached", "live", not 2.',
      "-c tui: tui must be a table, not 3.",
      '--sandbox: must be one of read-only, workspace-write, danger-full-access, not "no".',
    ]);
  });

  test("values that may be secret are not repeated", async () => {
    const home = '[mcp_servers.a]\ncommand = "x"\nenv = { TOKEN = ["hunter2"] }\nhttp_headers = "hunter2"\n[shell_environment_policy]\nset = { A = { b = "hunter2" } }\n';
    const said = await mistakes({ home, overrides: ["model_providers.x.http_headers.Authorization=[\"hunter2\"]"] });
    expect(said).toHaveLength(4);
    expect(said.filter((text) => text.includes("hunter2"))).toEqual([]);
  });

  test("control characters of a key or of a path do nothing to the terminal", async () => {
    const { at } = await good({ home: "" });
    write(at.homeFile, '"\\u001b[2J\\u202e" = 1');
    const cwd = `${at.root}/\u001b[2J`;
    mkdirSync(cwd);
    const loaded = await loadConfig({ home: at.home, cwd, env: {}, mode: "exec", flags: { cd: "x" }, overrides: [] });
    expect(loaded.ok ? "" : loaded.message).not.toContain("\u001b");
    const second = await loadConfig({ home: at.home, cwd, env: {}, mode: "exec", flags: {}, overrides: [] });
    expect(second.ok ? second.warnings.map((text) => short(text, at)) : []).toEqual(['config.toml:1: unknown key "\\u001b[2J\\u202e". It is ignored.']);
  });
});

describe("a file that cannot be read is refused", () => {
  test("not UTF-8", async () => {
    expect(await mistakes({ home: Buffer.from([0x61, 0x3d, 0x31, 0x0a, 0xff, 0xfe]) })).toEqual(["config.toml:2: is not UTF-8 text."]);
  });
  test("a folder", async () => {
    const at = place({});
    mkdirSync(at.homeFile, { recursive: true });
    const loaded = await loadConfig({ home: at.home, cwd: at.repo, env: {}, mode: "exec", flags: {}, overrides: [] });
    expect(loaded.ok ? "" : short(loaded.message, at).split("\n")[1]).toBe("  config.toml: is not a regular file.");
  });
  test("too large", async () => {
    expect(await mistakes({ home: `#${"x".repeat(1_000_000)}` })).toEqual(["config.toml: has 1000001 bytes; a config file may have 1000000."]);
  });
  test("a link to itself", async () => {
    const at = place({});
    mkdirSync(at.home);
    symlinkSync(at.homeFile, at.homeFile);
    const loaded = await loadConfig({ home: at.home, cwd: at.repo, env: {}, mode: "exec", flags: {}, overrides: [] });
    expect(loaded.ok ? "" : short(loaded.message, at).split("\n")[1]).toMatch(/^ {2}config\.toml: cannot be read: ELOOP/u);
  });
  test("a home that does not exist is no mistake", async () => {
    const at = place({});
    expect((await loadConfig({ home: `${temporary()}/none`, cwd: at.repo, env: {}, mode: "exec", flags: {}, overrides: [] })).ok).toBe(true);
  });
});

describe("writable_roots", () => {
  const roots = (...paths: string[]) => `\n[sandbox_workspace_write]\nwritable_roots = ${JSON.stringify(paths)}\n`;

  test("that no sandbox can be given are refused with their line", async () => {
    const protects = "is Skein's own home, which stays protected. Name another folder.";
    expect(await mistakes({ home: roots("/", "/proc/sys", "{repo}/../home", "{repo}/../home/skills") })).toEqual([
      'config.toml:3: "/" of writable_roots is the whole file system, which no sandbox can be given. Name the folders that are meant.',
      'config.toml:3: "/proc/sys" of writable_roots belongs to the system and cannot be made writable in a sandbox.',
      expect.stringMatching(new RegExp(`^config\\.toml:3: ".*" of writable_roots ${protects}$`, "u")),
      expect.stringMatching(new RegExp(`^config\\.toml:3: ".*skills" of writable_roots ${protects}$`, "u")),
    ]);
    expect(await mistakes({ flags: { addDirs: ["/"] } })).toEqual(['--add-dir: "/" of writable_roots is the whole file system, which no sandbox can be given. Name the folders that are meant.']);
  });

  test("that hold a home are warned about, others are not", async () => {
    const [user, skein, ...more] = await warnings({ home: roots("~", "{repo}/..", "{repo}/other") });
    expect(user).toMatch(/^config\.toml:3: ".*" of writable_roots holds your whole home: commands may write your keys and what your shell reads when it starts\. Name the folders that are meant\.$/u);
    expect(skein).toMatch(/^config\.toml:3: ".*" of writable_roots holds (?:your whole|Skein's own) home/u);
    expect(more).toEqual([]);
  });
});

describe("unknown keys", () => {
  const home = 'modle = "x"\nnotify = ["x"]\n[history]\nmodel = "y"\nsize = 3\n[[rules]]\nargv_prefix = ["a"]\ndecision = "ask"\nwhy = "x"\n[model_providers.openai]\nbase-url = "http://x"\n[features]\nweb_search_request = true';
  const unknown = [
    "config.toml:1: unknown key modle. Did you mean model?",
    "config.toml:2: unknown key notify.",
    "config.toml:4: unknown key history.model: model is not part of a table, so it goes above the first [table].",
    "config.toml:5: unknown key history.size.",
    "config.toml:9: unknown key rules.0.why.",
    "config.toml:11: unknown key model_providers.openai.base-url. Did you mean model_providers.openai.base_url?",
    "config.toml:12: unknown key features.",
  ];

  test("are warned about and ignored", async () => {
    expect(await warnings({ home })).toEqual(unknown.map((text) => `${text} It is ignored.`));
    const { config } = await good({ home });
    expect([config.model, config.rules]).toEqual([undefined, [{ argv_prefix: ["a"], decision: "ask" }]]);
  });

  test("are refused in strict mode", async () => {
    expect(await mistakes({ home, strict: true })).toEqual(unknown.map((text) => `${text} Unknown keys are refused because of --strict-config.`));
    expect(await mistakes({ overrides: ["foo.bar=1"], strict: true })).toEqual(["-c foo.bar: unknown key foo. Unknown keys are refused because of --strict-config."]);
    expect((await good({ home: 'model = "m"', strict: true })).warnings).toEqual([]);
  });

  test("a key of a table that stands alone is told where it belongs", async () => {
    expect(await warnings({ home: "network_access = true" })).toEqual(["config.toml:1: unknown key network_access. Did you mean sandbox_workspace_write.network_access? It is ignored."]);
  });

  test("other warnings are no reason to refuse", async () => {
    const asks: [Ask, string][] = [
      [{ home: 'model_reasoning_effort = "extreme"' }, 'config.toml:1: model_reasoning_effort = "extreme" is not one of none, minimal, low, medium, high, xhigh, max, ultra; it is passed on as it is.'],
      [{ home: '[[rules]]\ndecision = "deny"\nargv_prefix = ["git push"]' }, 'config.toml:3: "git push" in argv_prefix is compared with one word of a command. If several are meant, write "git", "push".'],
      [{ home: "auto_compact_token_limit = 1\nmodel_auto_compact_token_limit = 2" }, "config.toml:1: auto_compact_token_limit is another name of model_auto_compact_token_limit, which is set too: model_auto_compact_token_limit counts."],
    ];
    for (const [ask, text] of asks) expect(await warnings({ ...ask, strict: true })).toEqual([text]);
  });

  test("auto_compact_token_limit is another name", async () => {
    const { config, origins, at } = await good({ home: "\nauto_compact_token_limit = 100000" });
    expect([config.model_auto_compact_token_limit, origins.get("model_auto_compact_token_limit")]).toEqual([100_000, { layer: "home", file: at.homeFile, line: 2 }]);
  });
});
