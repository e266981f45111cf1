/** SKEIN_LOG=debug: what a process does, and nothing of what is said. */
import { expect, it } from "vitest";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scene } from "./scene.ts";
import { FULL_ACCESS, jsonLines, run, shell } from "./skein.ts";

const CANARY = "CANARY5d2c";

it("tells of requests, tries, calls and child processes, for its owner only and without content or secrets", async () => {
  const { server, world } = await scene([{ status: 503, error: { message: "Busy, sk-proj-0123456789abcdefghijABCDEF." } }, { calls: [shell(`echo ${CANARY}; exit 3`)] }, { text: CANARY }]);
  const provider = ["-c", `model_providers.mine={base_url="${server.url}/v1",wire_api="responses",env_key="OPENAI_API_KEY",query_params={key="hunter2"}}`, "-c", 'model_provider="mine"'];
  const result = await run(world, ["exec", ...FULL_ACCESS, ...provider, `say ${CANARY}`], { env: { SKEIN_LOG: "debug" } });
  expect(result.code, result.stderr).toBe(0);
  const file = join(world.home, "debug.log");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, "utf8");
  expect(text).not.toMatch(/CANARY|hunter2|sk-proj-|test-key/u);
  const lines = jsonLines(text);
  expect(lines.map(({ what }) => what)).toEqual(expect.arrayContaining(["opened", "rpc", "process started", "process ended", "turn/started", "turn/completed", "closed"]));
  const of = (what: string) => lines.filter((line) => line["what"] === what);
  const url = `${server.url}/v1/responses`;
  expect(of("request")).toMatchObject([503, 200, 200].map((status) => ({ method: "POST", url, status, ms: expect.any(Number) })));
  expect(of("turn/retrying")).toMatchObject([{ attempt: 1, code: "overloaded", message: expect.stringContaining("Busy, [REDACTED:openai-key]") }]);
  expect(of("item/commandExecution/started")).toMatchObject([{ call: "call_1" }]);
  expect(of("item/completed")).toMatchObject([{ call: "call_1", kind: "commandExecution", status: "done", exit: 3 }]);
});

it("is kept small, and is not there unless it is asked for", async () => {
  const { world } = await scene([]);
  mkdirSync(world.home, { recursive: true });
  const file = join(world.home, "debug.log");
  writeFileSync(file, "x".repeat(5 * 1024 * 1024));
  await run(world, ["list"]);
  expect(statSync(file).size).toBe(5 * 1024 * 1024);
  await run(world, ["list"], { env: { SKEIN_LOG: "debug" } });
  expect(statSync(`${file}.1`).size).toBe(5 * 1024 * 1024);
  expect(statSync(file).size).toBeLessThan(4096);
});
