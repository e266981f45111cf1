/** What the model is told beside the conversation, and what it cost, through the real binary. */
import { describe, expect, it } from "vitest";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ModelServer } from "../model-server/server.ts";
import { scene } from "./scene.ts";
import { jsonLines, run, type World } from "./skein.ts";

function write(folder: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
const skill = (name: string) => `---\nname: ${name}\ndescription: About ${name}.\n---\nDo ${name}.\n`;
const trust = (world: World) => `[projects.${JSON.stringify(realpathSync(world.project))}]\ntrust_level = "trusted"\n`;
const inputs = (server: ModelServer) => server.requests.map((request) => (request.body as { input: object[] }).input);

describe("what the model is told", () => {
  it("is sent once and stays where it is: each request begins with the whole of the one before, over turns and restarts", async () => {
    const { server, world } = await scene([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    write(world.project, { "AGENTS.md": "Be kind.\n" });
    for (const prompt of ["one", "two", "three"]) expect((await run(world, prompt === "one" ? ["exec", prompt] : ["exec", "resume", "--last", prompt])).code).toBe(0);
    const sent = inputs(server).map((input) => input.map((item) => JSON.stringify(item)));
    for (const index of [1, 2]) expect(sent[index]!.slice(0, sent[index - 1]!.length)).toEqual(sent[index - 1]);
    expect(sent[2]!.filter((item) => item.includes("Be kind."))).toHaveLength(1);
    expect(sent[2]!.filter((item) => item.includes("<environment>"))).toHaveLength(1);
    expect(new Set(server.requests.map((request) => (request.body as { instructions: string }).instructions)).size).toBe(1);
  });

  it("is sent again where it changed, and only that part", async () => {
    const { server, world } = await scene([{ text: "One." }, { text: "Two." }]);
    write(world.project, { "AGENTS.md": "Be kind.\n" });
    await run(world, ["exec", "one"]);
    write(world.project, { "AGENTS.md": "Be quick.\n" });
    await run(world, ["exec", "resume", "--last", "two"]);
    const [first, second] = inputs(server);
    const added = second!.slice(first!.length).map((item) => JSON.stringify(item));
    expect(added.filter((item) => item.includes("Be quick."))).toHaveLength(1);
    expect(added.filter((item) => item.includes("<environment>"))).toEqual([]);
  });
});

describe("skein skills", () => {
  it("lists them with where they come from; those of a folder that is not trusted are named and not used", async () => {
    const { world } = await scene([]);
    write(world.home, { "skills/mine/SKILL.md": skill("mine"), "skills/broken/SKILL.md": "no front matter" });
    write(world.project, { ".skein/skills/ours/SKILL.md": skill("ours") });
    const project = realpathSync(world.project);
    const before = await run(world, ["skills", "--json"]);
    expect({ code: before.code, names: jsonLines(before.stdout).map(({ name, origin }) => [name, origin]) }).toEqual({ code: 0, names: [["mine", "user"]] });
    expect(before.stderr).toContain(`! ${project}/.skein/skills: not used, because this folder is not trusted.\n`);
    expect(before.stderr).toContain(`! ${world.home}/skills/broken/SKILL.md: it has no front matter`);
    write(world.home, { "config.toml": trust(world) });
    rmSync(join(world.home, "skills/broken"), { recursive: true });
    const after = await run(world, ["skills"]);
    expect(after).toMatchObject({ code: 0, stderr: "", stdout: `$mine  (user)  About mine.\n    ${world.home}/skills/mine/SKILL.md\n$ours  (repository)  About ours.\n    ${project}/.skein/skills/ours/SKILL.md\n` });
  });
});

describe("skein usage", () => {
  it("tells what was used and what it cost, and what is not known", async () => {
    const { world } = await scene([
      { text: "One.", usage: { input: 1_000_000, cached: 200_000, output: 1000, reasoning: 10 } },
      { text: "Two.", usage: { input: 5, output: 6 } },
    ]);
    expect((await run(world, ["usage"])).stdout).toBe("Nothing was used.\n");
    await run(world, ["exec", "-m", "gpt-5", "one"]);
    await run(world, ["exec", "two"]);
    const rows = jsonLines((await run(world, ["usage", "--by", "model", "--json"])).stdout);
    expect(rows).toEqual([
      { model: "gpt-5", provider: "openai", requests: 1, unknown_requests: 0, input_tokens: 1_000_000, cached_tokens: 200_000, cache_write_tokens: 0, output_tokens: 1000, reasoning_tokens: 10, cost: 1.035, unpriced_requests: 0 },
      { model: "test-model", provider: "openai", requests: 1, unknown_requests: 0, input_tokens: 5, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 6, reasoning_tokens: 0, cost: 0, unpriced_requests: 1 },
    ]);
    write(world.home, { "config.toml": '[models."test-model"]\nprice_input = 0\nprice_output = 1000000\n' });
    expect((await run(world, ["usage", "--by", "model", "--since", "1d", "--cwd", "."])).stdout).toMatch(/^model .*\ntest-model \(openai\) .* \$6\.00 .*\ngpt-5 \(openai\) .* \$1\.03 .*\ntotal .* \$7\.04\n$/u);
  });

  it("refuses what it does not know", async () => {
    const { world } = await scene([]);
    expect(await run(world, ["usage", "--by", "week"])).toMatchObject({ code: 2, stderr: 'skein: --by takes day, model, project; not "week".\n' });
    for (const since of ["yesterday", "0d", "2026-13-01"]) expect((await run(world, ["usage", "--since", since])).code).toBe(2);
  });
});
