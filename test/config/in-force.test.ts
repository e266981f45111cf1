import { describe, expect, test } from "vitest";
import { chooseModel } from "../../src/config/choose.ts";
import { describeConfig } from "../../src/config/describe.ts";
import { originInForce, rowsInForce } from "../../src/config/in-force.ts";
import { good, type Ask } from "./given.ts";

async function shown(ask: Ask, env: Record<string, string> = {}): Promise<Record<string, [unknown, string]>> {
  const [one, exec] = await Promise.all([good(ask), good({ ...ask, mode: "exec" })]);
  const choice = await chooseModel(one.config, env, () => Promise.resolve([]));
  const rows = rowsInForce({ rows: describeConfig(one.config, one.origins), exec: describeConfig(exec.config, exec.origins), choice });
  return Object.fromEntries(rows.map((row) => [row.key, [row.value, originInForce(row)]]));
}

describe("the model in force", () => {
  test.each<[string, Ask, Record<string, string>, [unknown, string], [unknown, string]]>([
    ["a key", {}, { CODEX_API_KEY: "k" }, ["gpt-6.1-sol", "chosen: CODEX_API_KEY is set"], ["openai", "chosen: CODEX_API_KEY is set"]],
    ["a flag", { flags: { model: "claude-9" } }, {}, ["claude-9", "--model"], ["anthropic", "chosen: the model is configured, its provider follows from its name"]],
    ["nothing", {}, {}, [null, "not set, and no model was found"], [null, "not set"]],
    ["half of it", { overrides: ["model_provider=far", 'model_providers.far={base_url="http://far.example/v1"}'] }, {}, [null, 'The model provider is "far", but no model is set. Name one with --model, or as model = "…" in config.toml.'], ["far", "-c model_provider"]],
  ])("with %s", async (_name, ask, env, model, provider) => {
    expect(await shown(ask, env)).toMatchObject({ model, model_provider: provider });
  });
});

test("what exec has otherwise stands beside it", async () => {
  expect(await shown({ trust: true })).toMatchObject({
    sandbox_mode: ["workspace-write", 'built in (trusted folder); skein exec: "read-only", built in (exec)'],
    approval_policy: ["on-request", 'built in (trusted folder); skein exec: "never", built in (exec)'],
    web_search: ["disabled", "built in"],
  });
  expect(await shown({ flags: { sandbox: "read-only" } })).toMatchObject({ sandbox_mode: ["read-only", "--sandbox"] });
});
