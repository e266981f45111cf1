import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { chooseModel, isLoopback, keyVariable, type Choice, type Probe } from "../../src/config/choose.ts";
import { probeModels } from "../../src/config/probe.ts";
import { good, type Ask } from "./given.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const json = (body: unknown): RequestListener => (_request, response) => void response.end(JSON.stringify(body));

/** A port that nobody listens on. */
async function deaf(): Promise<string> {
  const url = await serve(() => {});
  await new Promise((resolve) => servers.pop()!.close(resolve));
  return url;
}

async function choose(ask: Ask, env: Record<string, string> = {}, probe: Probe = patient): Promise<Choice> {
  return chooseModel((await good(ask)).config, env, probe);
}

/** A busy machine may take longer to answer. */
const patient: Probe = (url) => probeModels(url, 5000);
const nobody: Probe = () => Promise.resolve([]);
const unasked: Probe = () => Promise.reject(new Error("nobody was to be asked"));

describe("what is configured counts", () => {
  test.each<[string, Ask, Record<string, string>, string, string]>([
    ["model and provider", { home: 'model = "m"\nmodel_provider = "lmstudio"' }, { OPENAI_API_KEY: "k" }, "m", "lmstudio"],
    ["a claude", { home: 'model = "claude-9"' }, { OPENAI_API_KEY: "k" }, "claude-9", "anthropic"],
    ["any other model", { flags: { model: "o3" } }, { ANTHROPIC_API_KEY: "k" }, "o3", "openai"],
    ["only openai", { home: 'model_provider = "openai"' }, {}, "gpt-6.1-sol", "openai"],
    ["only anthropic", { home: 'model_provider = "anthropic"' }, { OPENAI_API_KEY: "k" }, "claude-sonnet-5-5", "anthropic"],
    ["replay", { home: 'model_provider = "replay"' }, {}, "replay", "replay"],
  ])("%s", async (_name, ask, env, model, provider) => {
    expect(await choose(ask, env, unasked)).toMatchObject({ kind: "model", model, model_provider: provider });
  });

  test("a provider without a model that cannot be asked is not guessed at", async () => {
    const remote = '[model_providers.box]\nbase_url = "http://box.example/v1"\n';
    expect(await choose({ home: `model_provider = "box"\n${remote}` }, { OPENAI_API_KEY: "k" }, unasked)).toEqual({
      kind: "incomplete",
      message: 'The model provider is "box", but no model is set. Name one with --model, or as model = "…" in config.toml.',
    });
  });

  test("a provider on this machine is asked for its first model", async () => {
    const url = await serve(json({ data: [{ id: "qwen" }, { id: "llama" }] }));
    expect(await choose({ home: `model_provider = "box"\n[model_providers.box]\nbase_url = "${url}/"` })).toMatchObject({ kind: "model", model: "qwen", model_provider: "box" });
  });
});

describe("with nothing configured", () => {
  test.each<[Record<string, string>, string, string]>([
    [{ OPENAI_API_KEY: "k" }, "openai", "OPENAI_API_KEY is set"],
    [{ CODEX_API_KEY: "k" }, "openai", "CODEX_API_KEY is set"],
    [{ CODEX_API_KEY: "k", OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" }, "openai", "CODEX_API_KEY is set"],
    [{ ANTHROPIC_API_KEY: "k" }, "anthropic", "ANTHROPIC_API_KEY is set"],
    [{ OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "k" }, "anthropic", "ANTHROPIC_API_KEY is set"],
  ])("%j", async (env, provider, because) => {
    expect(await choose({}, env, unasked)).toMatchObject({ kind: "model", model_provider: provider, because });
  });

  test("the key of a provider may have another name", async () => {
    expect(await choose({ home: 'model_providers.openai.env_key = "MINE"' }, { MINE: "k", ANTHROPIC_API_KEY: "a" }, unasked)).toMatchObject({ model_provider: "openai", because: "MINE is set" });
    expect(await choose({ home: 'model_providers.openai.env_key = "MINE"' }, { OPENAI_API_KEY: "k" }, nobody)).toEqual({ kind: "none" });
  });

  test("the usual ports of this machine are asked, and no others", async () => {
    const asked: string[] = [];
    const probe: Probe = (url) => {
      asked.push(url);
      return Promise.resolve([]);
    };
    expect(await choose({}, {}, probe)).toEqual({ kind: "none" });
    expect(asked).toEqual(["http://127.0.0.1:11434/v1/models", "http://127.0.0.1:1234/v1/models"]);
  });

  const at = (ollama: string, lmstudio: string): Ask => ({ home: `model_providers.ollama.base_url = "${ollama}"\nmodel_providers.lmstudio.base_url = "${lmstudio}"` });

  test("a server on this machine answers; Ollama before LM Studio", async () => {
    const [ollama, lmstudio, none] = [await serve(json({ data: [{ id: "llama3" }] })), await serve(json({ data: [{ id: "phi" }] })), await deaf()];
    expect(await choose(at(ollama, lmstudio))).toEqual({ kind: "model", model: "llama3", model_provider: "ollama", because: "Ollama runs on this machine" });
    expect(await choose(at(none, lmstudio))).toEqual({ kind: "model", model: "phi", model_provider: "lmstudio", because: "LM Studio runs on this machine" });
    expect(await choose(at(none, none))).toEqual({ kind: "none" });
  });

  test("a server elsewhere is not asked", async () => {
    expect(await choose(at("http://box.example:11434/v1", "http://127.0.0.1.example/v1"), {}, unasked)).toEqual({ kind: "none" });
  });

  test("a probe that fails finds nothing", async () => {
    expect(await choose({}, {}, unasked)).toEqual({ kind: "none" });
  });
});

describe("the probe", () => {
  test("gives nothing for whatever is not a list of models", async () => {
    const answers: RequestListener[] = [
      json({ data: [] }),
      json({ data: "x" }),
      json(null),
      json({ data: [null, 1, { id: 2 }, { id: "" }] }),
      (_request, response) => void response.end("<html>"),
      (_request, response) => void response.writeHead(404).end(JSON.stringify({ data: [{ id: "x" }] })),
      (request) => void request.socket.destroy(),
      (_request, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("{");
        setTimeout(() => response.destroy(), 10);
      },
      (_request, response) => void response.end(JSON.stringify({ data: [{ id: "x".repeat(2_000_000) }] })),
    ];
    for (const answer of answers) expect(await probeModels(`${await serve(answer)}/models`)).toEqual([]);
  });

  test("asks once, with GET, and follows no redirect", async () => {
    const asked: string[] = [];
    const elsewhere = await serve((request) => void asked.push(`elsewhere ${request.url}`));
    const url = await serve((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(302, { location: `${elsewhere}/models` }).end();
    });
    expect(await patient(`${url}/models`)).toEqual([]);
    expect(asked).toEqual(["GET /v1/models"]);
  });

  test("does not wait for one that hangs", async () => {
    const url = await serve(() => {});
    const started = performance.now();
    expect(await probeModels(`${url}/models`)).toEqual([]);
    expect(performance.now() - started).toBeLessThan(1000);
  });

  test("asks this machine only", async () => {
    expect(["http://localhost:1/v1", "http://127.0.0.1/", "http://127.9.9.9/", "http://[::1]:1/", "http://2130706433/"].map(isLoopback)).toEqual([true, true, true, true, true]);
    expect(["http://example.com", "http://127.0.0.1.example", "http://localhost.example", "http://0.0.0.0", "http://[::2]", "http://10.0.0.1", "x"].map(isLoopback)).toEqual(Array.from({ length: 7 }, () => false));
    expect(await probeModels("http://10.255.255.1/models")).toEqual([]);
  });
});

test("the variable of a key", () => {
  expect([
    keyVariable({ id: "openai", env_key: "OPENAI_API_KEY" }, {}),
    keyVariable({ id: "openai", env_key: "OPENAI_API_KEY" }, { OPENAI_API_KEY: "a", CODEX_API_KEY: "b" }),
    keyVariable({ id: "openai", env_key: "MINE" }, { CODEX_API_KEY: "b" }),
    keyVariable({ id: "other", env_key: "OPENAI_API_KEY" }, { CODEX_API_KEY: "b" }),
    keyVariable({ id: "ollama" }, {}),
  ]).toEqual(["OPENAI_API_KEY", "CODEX_API_KEY", "MINE", "OPENAI_API_KEY", null]);
});
