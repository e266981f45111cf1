/** A program of somebody else's, with a tool of its own, as docs/tools.md shows it: in its own process, against the built package. */
import { transform } from "esbuild";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { conversation, scene } from "../e2e/scene.ts";
import { log, type World } from "../e2e/skein.ts";
import { outputOf } from "../e2e/told.ts";

const require = createRequire(import.meta.url);
const ROOT = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs", "tools.md"), "utf8");
const [tool, program] = [...page.matchAll(/```ts\n([^]*?)```/gu)].map(([, source]) => source!) as [string, string];

const withTools = program.replace(/import \{ weather.*\n/u, `import { tools } from "./tools.js";\n`).replace("[weather]", "tools");

/** A package that depends on Skein, in the world's project. */
async function install({ home, project }: World, { files, server }: { files: Record<string, string>; server: string }): Promise<void> {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.toml"), `model = "test-model"\nopenai_base_url = "${server}/v1"\n`);
  mkdirSync(join(project, "node_modules"));
  symlinkSync(ROOT, join(project, "node_modules", "skein"));
  symlinkSync(dirname(require.resolve("zod/package.json")), join(project, "node_modules", "zod"));
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
  expect((first!.body.tools as { name: string }[]).find(({ name }) => name === "weather")).toMatchObject({ type: "function", description: "The weather in a city.", parameters: { properties: { city: { type: "string" } }, required: ["city"] } });
  expect(conversation(second!.body.input as object[])[0]).toMatchObject({ role: "user", content: [{ text: "How is the weather in Oslo?" }] });
  expect(outputOf(server, "call_1")).toBe("It is sunny in Oslo.");
  expect(server.problems).toEqual([]);
  expect(log(world).at(-1)).toMatchObject({ type: "writer.closed" });
});

/** A turn in which the model calls each of these tools once. */
async function turnWith(tools: string, names: readonly string[]) {
  const { server, world } = await scene([{ text: "I try.", calls: names.map((name) => ({ name, arguments: {}, id: name })) }, { text: "Done." }]);
  await install(world, { files: { "tools.js": tools, "main.js": withTools }, server: server.url });
  const ended = await node(world, "main.js");
  return { server, ended };
}

const BASE = `const base = { description: "d", parameters: { type: "object" }, effect: "read", run: async () => ({ status: "done", output: "ran" }) };\n`;

it("arguments that do not fit a tool's schema are told to the model, and the tool is not run", async () => {
  const tools = `
    import { tool } from "skein/embed";
    import { z } from "zod";
    const parameters = z.object({ days: z.number().default(3), place: z.object({ city: z.string() }) });
    export const tools = [tool({ name: "weather", description: "d", parameters, effect: "read", run: async ({ days, place }) => ({ status: "done", output: place.city + days }) })];
  `;
  const { server, world } = await scene([{ calls: [{ name: "weather", arguments: { place: { city: 7 } }, id: "wrong" }, { name: "weather", arguments: { place: { city: "Oslo" } }, id: "right" }] }, { text: "Done." }]);
  await install(world, { files: { "tools.js": tools, "main.js": withTools }, server: server.url });
  expect(await node(world, "main.js")).toEqual({ code: 0, stdout: "Done.", stderr: "" });
  expect([outputOf(server, "wrong"), outputOf(server, "right")]).toEqual(["The arguments do not fit: `place.city`: Invalid input: expected string, received number.", "Oslo3"]);
  const told = (server.requests[0]!.body.tools as { name: string; parameters: object }[]).find(({ name }) => name === "weather")!;
  expect(told.parameters).toEqual({
    type: "object",
    properties: { days: { type: "number", default: 3 }, place: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
    required: ["place"],
  });
});

it("a tool that breaks its promises costs its call, not the turn", async () => {
  const broken = {
    throws: `run() { throw new Error("boom"); }`,
    rejects: `run: () => Promise.reject(new Error("boom"))`,
    nothing: `run: async () => undefined`,
    number: `run: async () => ({ status: "done", output: 7 })`,
    status: `run: async () => ({ status: "great", output: "x" })`,
    assesses: `assess() { throw new Error("boom"); }`,
    refuses: `assess: () => Promise.reject(new Error("boom"))`,
    unclear: `assess: async () => undefined`,
  };
  const names = Object.keys(broken);
  const { server, ended } = await turnWith(`${BASE}export const tools = [${Object.entries(broken).map(([name, code]) => `{ ...base, name: "${name}", ${code} }`).join(", ")}];`, names);
  expect(ended).toEqual({ code: 0, stdout: "I try.Done.", stderr: "" });
  expect(names.map((name) => [name, outputOf(server, name)])).toEqual([
    ["throws", "The tool failed: Error: boom"],
    ["rejects", "The tool failed: Error: boom"],
    ["nothing", "The tool failed: TypeError: it gave no outcome"],
    ["number", "The tool failed: TypeError: it gave no outcome"],
    ["status", "The tool failed: TypeError: it gave no outcome"],
    ["assesses", "Not run: what it would do could not be told (Error: boom)."],
    ["refuses", "Not run: what it would do could not be told (Error: boom)."],
    ["unclear", "Not run: what it would do could not be told (TypeError: it does not say what it would do)."],
  ]);
});

it("a tool with the name of one that comes with Skein takes its place, and the model is told of one", async () => {
  const { server, ended } = await turnWith(`${BASE}export const tools = [{ ...base, name: "exec_command" }, { ...base, name: "shell" }];`, ["exec_command", "shell"]);
  expect(ended).toEqual({ code: 0, stdout: "I try.Done.", stderr: "" });
  expect([outputOf(server, "exec_command"), outputOf(server, "shell")]).toEqual(["ran", "ran"]);
  const names = (server.requests[0]!.body.tools as { name: string }[]).map(({ name }) => name);
  expect(names.filter((name) => name === "exec_command")).toHaveLength(1);
  expect(server.problems).toEqual([]);
});

it.each([
  ["two of the same name", `[{ ...base, name: "one" }, { ...base, name: "one" }]`, 'Two tools are called "one".'],
  ["a name that no model could call", `[{ ...base, name: "über tool" }]`, 'A tool is called "über tool": a name has 1 to 64 letters, digits, "_" and "-".'],
])("%s is told to the programmer at once", async (_, tools, message) => {
  const { ended } = await turnWith(`${BASE}export const tools = ${tools};`, []);
  expect([ended.code, ended.stdout, ended.stderr.includes(message)]).toEqual([1, "", true]);
});

it("a program may open it twice: each has its threads, and others reach those of one", async () => {
  const { server, world } = await scene([{ text: "One." }, { text: "Two." }]);
  const twice = `
    import { open } from "skein/embed";
    import { userText } from "skein/protocol";
    import { readFileSync, existsSync } from "node:fs";
    const reached = [];
    const both = await Promise.all([open(), open()]);
    for (const { client, settings } of both) {
      const { thread } = await client.call("thread/start", { source: "app-server", settings });
      await client.submit(thread, { id: "1", type: "user_input", items: [userText("go")] });
      for await (const event of client.events(thread, null, AbortSignal.timeout(20_000))) if (event.type === "turn/completed") break;
      const { socket } = JSON.parse(readFileSync(process.env.SKEIN_HOME + "/sessions/" + thread + "/owner.json", "utf8"));
      reached.push(socket !== null && existsSync(socket));
    }
    console.log(reached.sort().join(" "));
    for (const { close } of both) await close();
  `;
  await install(world, { files: { "main.js": twice }, server: server.url });
  expect(await node(world, "main.js")).toEqual({ code: 0, stdout: "false true\n", stderr: "" });
});
