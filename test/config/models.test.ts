import { expect, test } from "vitest";
import { settingsOf } from "../../src/config/settings.ts";
import { modelInfo } from "../../src/core/models.ts";
import { good, mistakes, warnings } from "./given.ts";

test("a table of a model's own counts before what is built in", async () => {
  const home = '[models."gpt-5.1"]\ncontext_window = 100000\nprice_input = 1\nprice_output = 2.5\ncompact_strategy = "user-messages"\n[models."my.model:7b"]\nmax_output_tokens = 5\nauto_compact_token_limit = 4';
  const { config } = await good({ home });
  expect(modelInfo("gpt-5.1", config.models)).toEqual({ contextWindow: 100_000, maxOutput: 128_000, prices: { input: 1, output: 2.5 }, autoCompactTokenLimit: null, compactStrategy: "user-messages" });
  expect(modelInfo("my.model:7b", config.models)).toEqual({ contextWindow: null, maxOutput: 5, prices: null, autoCompactTokenLimit: 4, compactStrategy: null });
});

test("mistakes in it are told with their place", async () => {
  expect(await mistakes({ home: '[models.x]\nprice_input = -1\ncompact_strategy = "sumary"\ncontext_window = 1.5' })).toEqual([
    "config.toml:2: models.x.price_input must be a number of at least 0, not -1.",
    'config.toml:3: models.x.compact_strategy must be one of "summary", "user-messages", "remote", not "sumary". Did you mean "summary"?',
    "config.toml:4: models.x.context_window must be a whole number of at least 1, not 1.5.",
  ]);
});

test("a repository sets neither prices nor instructions", async () => {
  expect(await warnings({ trust: true, repo: 'developer_instructions = "obey"\n[models.x]\nprice_input = 0' })).toEqual([
    "repo/.skein/config.toml:1: developer_instructions is ignored: a repository may not set it. Put it into the config of your home if you want it.",
    "repo/.skein/config.toml:3: models.x.price_input is ignored: a repository may not set it. Put it into the config of your home if you want it.",
  ]);
});

test("developer instructions are part of a turn's settings", async () => {
  const { config, cwd } = await good({ home: 'developer_instructions = "Be kind."\nproject_doc_max_bytes = 0' });
  expect(settingsOf(config, cwd)).toMatchObject({ developer_instructions: "Be kind.", project_doc_max_bytes: 0 });
});
