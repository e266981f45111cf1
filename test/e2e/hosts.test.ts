/** Only configured hosts are contacted: the real binary, with everything that leaves the process written down. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { scene } from "./scene.ts";
import { FULL_ACCESS, jsonLines, log, run, shell, type World } from "./skein.ts";

const HOOK = fileURLToPath(new URL("./trace-network.cjs", import.meta.url));

interface Told {
  what: "loaded" | "connect" | "datagram" | "name" | "process";
  to: string;
  thread: "main" | "other";
}

async function traced(world: World, args: readonly string[], env: Record<string, string> = {}): Promise<{ code: number | null; stderr: string; told: Told[] }> {
  const file = join(world.root, `trace-${args.length}-${Math.random()}.jsonl`);
  const { code, stderr } = await run(world, args, { env: { ...env, TMPDIR: world.root, SKEIN_TEST_TRACE: file, NODE_OPTIONS: `--require ${HOOK}` } });
  const told = existsSync(file) ? (jsonLines(readFileSync(file, "utf8")) as unknown as Told[]) : [];
  expect(told.some(({ what }) => what === "loaded"), "the hook was not loaded").toBe(true);
  return { code, stderr, told };
}
const contacts = (told: readonly Told[]) => [...new Set(told.filter(({ what }) => ["connect", "datagram", "name"].includes(what)).map(({ what, to }) => `${what} ${to}`))];

it("nothing escapes the hook, in threads neither", async () => {
  const { world } = await scene([]);
  const file = join(world.root, "trace.jsonl");
  const reach = 'require("net").connect(1, "127.0.0.1").on("error", () => {}); require("dns").lookup("one.invalid", () => {}); require("http").get("http://127.0.0.1:2/").on("error", () => {}); fetch("http://127.0.0.1:3/").catch(() => {});';
  execFileSync(process.execPath, ["-e", `${reach} new (require("worker_threads").Worker)(${JSON.stringify(reach.replaceAll(":3/", ":4/"))}, { eval: true });`], { env: { ...world.env, SKEIN_TEST_TRACE: file, NODE_OPTIONS: `--require ${HOOK}` } });
  const told = jsonLines(readFileSync(file, "utf8")) as unknown as Told[];
  const seen = (thread: string) => contacts(told.filter((each) => each.thread === thread)).toSorted();
  expect(seen("main")).toEqual(["connect 127.0.0.1:1", "connect 127.0.0.1:2", "connect 127.0.0.1:3", "name one.invalid"]);
  expect(seen("other")).toEqual(["connect 127.0.0.1:1", "connect 127.0.0.1:2", "connect 127.0.0.1:4", "name one.invalid"]);
});

it("exec and resume contact the configured server and nobody else", async () => {
  const { server, world } = await scene([{ text: "I look.", calls: [shell("true")] }, { text: "Done." }, { text: "Again." }]);
  for (const args of [["exec", ...FULL_ACCESS, "--json", "go"], ["exec", "resume", "--last", "again"]]) {
    const { code, stderr, told } = await traced(world, args);
    expect(code, stderr).toBe(0);
    expect(contacts(told)).toEqual([`connect 127.0.0.1:${server.port}`]);
  }
  expect(server.requests).toHaveLength(3);
});

it("a name is looked up where the configured address has one, and no other", async () => {
  const { server, world } = await scene([{ text: "Done." }]);
  const { code, stderr, told } = await traced(world, ["exec", "-c", `openai_base_url="http://localhost:${server.port}/v1"`, "go"]);
  expect(code, stderr).toBe(0);
  expect(contacts(told).toSorted()).toEqual([`connect localhost:${server.port}`, "name localhost"]);
});

it.each([
  ["list", ["list"]],
  ["list as JSON", ["list", "--json"]],
  ["search", ["search", "Done"]],
  ["config", ["config"]],
  ["version", ["--version"]],
  ["help", ["exec", "--help"]],
  ["tour", ["tour"]],
])("%s contacts nobody", async (_, args) => {
  const { server, world } = await scene([{ text: "Done." }]);
  expect((await run(world, ["exec", "go"])).code).toBe(0);
  const { code, stderr, told } = await traced(world, args);
  expect(code, stderr).toBe(0);
  expect(contacts(told)).toEqual([]);
  expect(server.requests).toHaveLength(1);
});

it("a replay contacts nobody", async () => {
  const { server, world } = await scene([{ text: "Done." }]);
  expect((await run(world, ["exec", "go"])).code).toBe(0);
  const { code, stderr, told } = await traced(world, ["exec", "--replay", String(log(world)[0]!["id"])]);
  expect(code, stderr).toBe(0);
  expect(contacts(told)).toEqual([]);
  expect(server.requests).toHaveLength(1);
});

it("a server that is away is asked for at its own address only", async () => {
  const { server, world } = await scene([]);
  await server.close();
  const { code, told } = await traced(world, ["exec", "-c", "model_providers.openai.request_max_retries=1", "go"]);
  expect(code).not.toBe(0);
  expect(contacts(told)).toEqual([`connect 127.0.0.1:${server.port}`]);
});
