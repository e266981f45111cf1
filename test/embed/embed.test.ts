/** A program of somebody else's, with a tool of its own, as docs/tools.md shows it: in its own process, against the built package. */
import { transform } from "esbuild";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { conversation, scene } from "../e2e/scene.ts";
import { log, type World } from "../e2e/skein.ts";
import { outputOf } from "../e2e/told.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs", "tools.md"), "utf8");
const [tool, program] = [...page.matchAll(/```ts\n([^]*?)```/gu)].map(([, source]) => source!) as [string, string];

/** A package that depends on Skein, in the world's project. */
async function install({ home, project }: World, { files, server }: { files: Record<string, string>; server: string }): Promise<void> {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.toml"), `model = "test-model"\nopenai_base_url = "${server}/v1"\n`);
  mkdirSync(join(project, "node_modules"));
  symlinkSync(ROOT, join(project, "node_modules", "skein"));
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  for (const [name, source] of Object.entries(files)) writeFileSync(join(project, name), (await transform(source, { loader: "ts" })).code);
}

function node(world: World, file: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [file], { cwd: world.project, env: world.env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((settle) => child.on("close", (code) => settle({ code, stdout, stderr })));
}

it("the program of docs/tools.md asks a model, which calls its tool and reads what it says", async () => {
  const { server, world } = await scene([{ text: "I look. ", calls: [{ name: "weather", arguments: { city: "Oslo" }, id: "call_1" }] }, { text: "Sunny." }]);
  await install(world, { files: { "weather.js": tool, "main.js": program }, server: server.url });
  expect(await node(world, "main.js")).toEqual({ code: 0, stdout: "I look. Sunny.", stderr: "" });
  const [first, second] = server.requests;
  expect((first!.body.tools as { name: string }[]).find(({ name }) => name === "weather")).toMatchObject({ type: "function", description: "The weather in a city." });
  expect(conversation(second!.body.input as object[])[0]).toMatchObject({ role: "user", content: [{ text: "How is the weather in Oslo?" }] });
  expect(outputOf(server, "call_1")).toBe("It is sunny in Oslo.");
  expect(server.problems).toEqual([]);
  expect(log(world).at(-1)).toMatchObject({ type: "writer.closed" });
});
