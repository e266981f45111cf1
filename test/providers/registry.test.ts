import { describe, expect, test } from "vitest";
import { createProviders } from "../../src/providers/registry.ts";
import { collect, requestFor, withServer } from "./given.ts";

test("unknown names are answered with the known ones", async () => {
  const providers = createProviders({ env: {}, tables: { mine: { base_url: "http://127.0.0.1:1/v1" } } });
  expect(providers.names()).toEqual(["openai", "anthropic", "ollama", "lmstudio", "mine"]);
  expect(await providers.get("opnai")).toEqual({ ok: false, code: "unknown_provider", message: 'There is no model provider "opnai". There are: openai, anthropic, ollama, lmstudio, mine. Others are added as [model_providers.NAME] in config.toml.' });
  expect((await providers.get("constructor")).ok).toBe(false);
});

test.each([
  ["openai", "OPENAI_API_KEY"],
  ["anthropic", "ANTHROPIC_API_KEY"],
])("%s without a key names %s", async (name, variable) => {
  const providers = createProviders({ env: { [variable]: "  " }, tables: {} });
  expect(await providers.get(name)).toEqual({ ok: false, code: "missing_key", message: `${name} needs a key and ${variable} is not set. Set it with: export ${variable}=<your key>` });
});

test.each([
  ["openai", { OPENAI_API_KEY: "k" }, "responses"],
  ["openai", { CODEX_API_KEY: "k" }, "responses"],
  ["anthropic", { ANTHROPIC_API_KEY: "k" }, "messages"],
  ["ollama", {}, "chat"],
  ["lmstudio", {}, "chat"],
])("built in: %s with %j speaks %s", async (name, env, wire) => {
  const found = await createProviders({ env, tables: {} }).get(name);
  expect(found.ok && found.provider).toMatchObject({ name, retries: 5, requestRetries: 4 });
  expect(found.ok && found.provider.origin("m")).toMatchObject({ wire, provider: name, model: "m" });
});

test("the account tells keys apart and shows nothing of them", async () => {
  const account = async (key: string) => {
    const found = await createProviders({ env: { OPENAI_API_KEY: key }, tables: {} }).get("openai");
    return found.ok ? found.provider.origin("m").account : undefined;
  };
  const [one, again, other] = await Promise.all([account("sk-one"), account("sk-one"), account("sk-two")]);
  expect(one).toMatch(/^[0-9a-f]{8}$/u);
  expect(again).toBe(one);
  expect(other).not.toBe(one);
});

test.each([
  [{ wire_api: "smoke", base_url: "http://x" }, 'wire_api = "smoke" is not known; there are: responses, chat, messages'],
  [{}, "base_url is missing"],
  [{ base_url: "example" }, 'base_url = "example" is not an address'],
])("a table that cannot be used says why: %j", async (table, why) => {
  expect(await createProviders({ env: {}, tables: { mine: table } }).get("mine")).toEqual({ ok: false, code: "bad_provider", message: `[model_providers.mine] cannot be used: ${why}.` });
});

describe("against a server", () => {
  test("everything that a table says is used", async () => {
    await withServer({ script: [{ text: "hi" }], key: "secret" }, async (server) => {
      const providers = createProviders({
        env: { MY_KEY: " secret\n", MY_TEAM: "red" },
        tables: {
          mine: {
            name: "Mine",
            base_url: `${server.url}/v1/`,
            env_key: "MY_KEY",
            wire_api: "chat",
            http_headers: { "X-One": "1" },
            env_http_headers: { "X-Team": "MY_TEAM", "X-None": "UNSET" },
            query_params: { v: "2" },
            request_max_retries: 1,
            stream_max_retries: 2,
            stream_idle_timeout_ms: 3000,
          },
        },
      });
      const found = await providers.get("mine");
      if (!found.ok) throw new Error(found.message);
      expect(found.provider).toMatchObject({ retries: 2, requestRetries: 1 });
      expect((await providers.get("mine")) as object).toEqual(found);
      expect((await collect(found.provider, requestFor("chat"))).at(-1)?.type).toBe("done");
      const { path, headers } = server.requests[0]!;
      expect({ path, one: headers["x-one"], team: headers["x-team"], none: headers["x-none"] }).toEqual({ path: "/v1/chat/completions?v=2", one: "1", team: "red", none: undefined });
    });
  });

  test("openai_base_url redirects openai, and the key of whoever starts Skein wins", async () => {
    await withServer({ script: [{ text: "hi" }], key: "sdk" }, async (server) => {
      const found = await createProviders({ env: { OPENAI_API_KEY: "shell", CODEX_API_KEY: "sdk" }, tables: {}, openaiBaseUrl: `${server.url}/v1` }).get("openai");
      if (!found.ok) throw new Error(found.message);
      expect((await collect(found.provider, requestFor("responses"))).at(-1)?.type).toBe("done");
    });
  });

  test.each([
    [{ OPENAI_API_KEY: "shell", CODEX_API_KEY: "sdk" }, "CODEX_API_KEY"],
    [{ OPENAI_API_KEY: "shell", CODEX_API_KEY: " " }, "OPENAI_API_KEY"],
    [{ OPENAI_API_KEY: "shell", CODEX_API_KEY: "s\ndk" }, "CODEX_API_KEY"],
  ])("with %j, a key that does not do is named after %s", async (env, variable) => {
    await withServer({ script: [{ text: "hi" }], key: "another" }, async (server) => {
      const found = await createProviders({ env, tables: {}, openaiBaseUrl: `${server.url}/v1` }).get("openai");
      if (!found.ok) throw new Error(found.message);
      const last = (await collect(found.provider, requestFor("responses"))).at(-1);
      expect(last?.type === "failed" && last.failure.message).toMatch(new RegExp(` in ${variable}\\.$`, "u"));
    });
  });

  test("a table overlays what is built in; anthropic's headers are sent", async () => {
    await withServer({ script: [{ text: "hi" }], key: "k" }, async (server) => {
      const found = await createProviders({ env: { ANTHROPIC_API_KEY: "k" }, tables: { anthropic: { base_url: `${server.url}/v1` } } }).get("anthropic");
      if (!found.ok) throw new Error(found.message);
      expect((await collect(found.provider, requestFor("messages"))).at(-1)?.type).toBe("done");
      expect(server.requests[0]!.headers).toMatchObject({ "x-api-key": "k", "anthropic-version": "2023-06-01" });
      expect(server.problems).toEqual([]);
    });
  });
});
