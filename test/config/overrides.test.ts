import { describe, expect, test } from "vitest";
import { good, mistakes, warnings } from "./given.ts";

const valueOf = async (override: string, key: string): Promise<unknown> => {
  const { config } = await good({ overrides: [override], home: '[model_providers.x]\nbase_url = "http://x"\n[mcp_servers.s]\ncommand = "c"' });
  return key.split("/").reduce<unknown>((table, part) => (table as Record<string, unknown>)[part], config);
};

describe("-c key=value", () => {
  const cases: [string, string, unknown][] = [
    ["model=o3", "model", "o3"],
    ['model="o3"', "model", "o3"],
    ["model='o3'", "model", "o3"],
    ["model = o3 ", "model", "o3"],
    ["model=gpt-4.1", "model", "gpt-4.1"],
    ["model=a=b", "model", "a=b"],
    ["model=llama3:8b # not a comment", "model", "llama3:8b # not a comment"],
    ['model="half', "model", "half"],
    ['model="1"', "model", "1"],
    ['model="a\nweb_search = 1', "model", "a\nweb_search = 1"],
    ["sandbox_workspace_write.network_access=true", "sandbox_workspace_write/network_access", true],
    ["history.max_size=5", "history/max_size", 5],
    ["history={max_size=6}", "history/max_size", 6],
    ['shell_environment_policy.exclude=["A", "B"]', "shell_environment_policy/exclude", ["A", "B"]],
    ["shell_environment_policy.inherit=core", "shell_environment_policy/inherit", "core"],
    ['shell_environment_policy.set."A.B"=c', "shell_environment_policy/set/A.B", "c"],
    ["model_providers.x.http_headers.'X = Y'=z", "model_providers/x/http_headers/X = Y", "z"],
    ['"model"=quoted', "model", "quoted"],
    ["mcp_servers . s . args=['-v']", "mcp_servers/s/args", ["-v"]],
    ["mcp_servers.s.startup_timeout_sec=0.5", "mcp_servers/s/startup_timeout_sec", 0.5],
    ["auto_compact_token_limit=7", "model_auto_compact_token_limit", 7],
    ['openai_base_url="http://127.0.0.1:1/v1"', "model_providers/openai/base_url", "http://127.0.0.1:1/v1"],
    ["model_providers.__proto__.base_url=http://p", "model_providers/__proto__/base_url", "http://p"],
  ];
  test.each(cases)("%s", async (override, key, value) => {
    expect(await valueOf(override, key)).toEqual(value);
  });

  test("the last one counts", async () => {
    expect((await good({ overrides: ["model=a", "model=b"] })).config.model).toBe("b");
  });

  test("relative paths start at the working folder", async () => {
    const { config, at } = await good({ overrides: ['sandbox_workspace_write.writable_roots=["out"]'] });
    expect(config.sandbox_workspace_write.writable_roots).toEqual([`${at.repo}/out`]);
  });

  test("mistakes name the key, never the value", async () => {
    const how = 'it is written -c key=value, for example -c model="gpt-5" or -c history.persistence=none.';
    expect(await mistakes({ overrides: ["model", "=x", "", "a..b=1", "model.name=secret", "history=secret", "web_search=1", "model=", "rules.0.decision=ask"] })).toEqual([
      `-c: there is no = after the key; ${how}`,
      `-c: what comes first is not a key; ${how}`,
      `-c: what comes first is not a key; ${how}`,
      `-c: what comes first is not a key; ${how}`,
      "-c model.name: model must be a string that is not empty, not a table.",
      '-c history: history must be a table, not "secret".',
      '-c web_search: web_search must be one of "disabled", "cached", "live", not 1.',
      '-c model: model must be a string that is not empty, not "".',
      "-c rules.0.decision: rules must be a list of tables, written [[rules]], not a table.",
    ]);
  });

  test("unknown keys are warned about; trust is not given on the command line", async () => {
    expect(await warnings({ overrides: ["modell=x", 'projects."/x".trust_level="trusted"'] })).toEqual([
      "-c modell: unknown key modell. Did you mean model? It is ignored.",
      '-c projects."/x".trust_level: is ignored: which folders are trusted is read from the config file of the home only.',
    ]);
  });
});
