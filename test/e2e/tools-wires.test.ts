/** The tools on every wire, in a thread that leaves no trace, and what a provider searches by itself. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { person } from "./person.ts";
import { scene } from "./scene.ts";
import { itemsOf, jsonLines, run, shell } from "./skein.ts";
import { outputOf } from "./told.ts";

const PATCH = "*** Begin Patch\n*** Add File: added.txt\n+added\n*** End Patch\n";

it.each(["responses", "chat", "messages"] as const)("on the wire %s, commands, patches and reads go there and back", async (wire) => {
  const calls = [shell("echo from a command", "call_a"), { name: "apply_patch", arguments: { input: PATCH }, id: "call_b" }, { name: "read_file", arguments: { path: "added.txt" }, id: "call_c" }, { name: "fly", arguments: {}, id: "call_d" }];
  const { server, world } = await scene([{ text: "I work.", calls }, { text: "Done." }], { wire });
  const provider = `model_providers.${wire}={name="${wire}",base_url="${server.url}/v1",wire_api="${wire}",env_key="OPENAI_API_KEY"}`;
  const { code, stdout, stderr } = await run(world, ["exec", "-c", provider, "-c", `model_provider="${wire}"`, "-m", "gpt-5", "-s", "workspace-write", "--json", "go"]);
  expect(code, stderr).toBe(0);
  expect(readFileSync(join(world.project, "added.txt"), "utf8")).toBe("added\n");
  const sent = server.requests[1]!.raw.toString("utf8");
  for (const output of ["from a command", "A added.txt", "1\\tadded", "There is no tool named"]) expect(sent).toContain(output);
  expect(itemsOf(jsonLines(stdout).filter(({ type }) => type === "item.completed")).map(({ type, status }) => [type, status])).toEqual([
    ["agent_message", undefined],
    ["command_execution", "completed"],
    ["file_change", "completed"],
    ["tool_call", "completed"],
    ["tool_call", "failed"],
    ["agent_message", undefined],
  ]);
  expect(server.problems).toEqual([]);
});

it("in an ephemeral thread they work, and nothing of it touches the disk", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("seq 1 50000", "c1"), { name: "apply_patch", arguments: { input: PATCH.replace("Add File: added.txt\n+added", "Update File: a.txt\n@@\n-one\n+two") }, id: "c2" }] }, { text: "Done." }]);
  writeFileSync(join(world.project, "a.txt"), "one\n");
  const { code, stderr } = await run(world, ["exec", "--ephemeral", "-s", "workspace-write", "--json", "go"]);
  expect(code, stderr).toBe(0);
  expect([outputOf(server, "c2"), readFileSync(join(world.project, "a.txt"), "utf8")]).toEqual(["M a.txt", "two\n"]);
  expect(outputOf(server, "c1")).toContain("left out");
  const sessions = join(world.home, "sessions");
  expect(existsSync(sessions) ? readdirSync(sessions) : []).toEqual([]);
});

it.each([["live", true], ["disabled", false]])("web_search = %s is passed to a provider that has it: %s", async (value, isThere) => {
  const { server, world } = await scene([{ text: "Done." }]);
  expect((await run(world, ["exec", "-c", `web_search="${value}"`, "-m", "gpt-5", "go"])).code).toBe(0);
  const types = (server.requests[0]!.body.tools as { type: string }[]).map(({ type }) => type);
  expect(types.includes("web_search")).toBe(isThere);
});

it("a question that a person left open is declined by an exec that goes on with the thread", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("touch a.txt", "c1")] }, { text: "On my own." }]);
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await me.say("go");
  await me.asked();
  me.child.kill("SIGKILL");
  await new Promise((settle) => me.child.once("close", settle));
  const { code, stdout, stderr } = await run(world, ["exec", "resume", me.thread, "--json", "go on"]);
  expect(code, stderr).toBe(0);
  expect(itemsOf(jsonLines(stdout)).at(-1)).toMatchObject({ text: "On my own." });
  expect(outputOf(server, "c1")).toBe("Not run: the turn ended before this call was started.");
  expect(existsSync(join(world.project, "a.txt"))).toBe(false);
});

it("skein mcp adds, tries, lists and removes a real server", async () => {
  const { world } = await scene([]);
  const entry = join(dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")), "dist", "index.js");
  const mcp = (...args: string[]) => run(world, ["mcp", ...args]);
  expect((await mcp("add", "every", "--", process.execPath, entry, "stdio")).code).toBe(0);
  const tried = await mcp("test", "every", "--json");
  expect(tried.code, tried.stderr).toBe(0);
  expect(JSON.stringify(jsonLines(tried.stdout))).toContain("echo");
  expect(jsonLines((await mcp("list", "--json")).stdout).map(({ name }) => name)).toEqual(["every"]);
  expect((await mcp("remove", "every")).code).toBe(0);
  expect(jsonLines((await mcp("list", "--json")).stdout)).toEqual([]);
});
