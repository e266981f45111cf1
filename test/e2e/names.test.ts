/** Names and bytes that are not plain ASCII: they survive as they are, or are refused clearly. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "../model-server/server.ts";
import { createWorld, jsonLines, log, run, type World } from "./skein.ts";

const NFC = "caf\u00e9";
const NFD = "cafe\u0301";
let server: ModelServer;
let world: World;
beforeEach(async () => {
  server = await startModelServer({ script: () => ({ text: "ok" }), wire: "responses" });
  world = createWorld({ modelServer: server.url });
});
afterEach(async () => {
  await server.close();
  world.remove();
});

describe("names", () => {
  it("that look alike but differ in their bytes (NFC, NFD) are two folders, each with its own threads", async () => {
    for (const name of [NFC, NFD]) {
      const project = join(world.project, name);
      mkdirSync(project);
      expect((await run({ ...world, project }, ["exec", `in ${name}`])).code).toBe(0);
    }
    for (const name of [NFC, NFD]) {
      const listed = jsonLines((await run(world, ["list", "--json", "--cwd", name])).stdout);
      expect(listed.map(({ cwd, preview }) => [cwd, preview])).toEqual([[join(world.project, name), `in ${name}`]]);
    }
  });

  it("of a folder that are not UTF-8 are refused clearly", async () => {
    const folder = Buffer.concat([Buffer.from(`${world.project}/caf`), Buffer.from([0xe9])]);
    mkdirSync(folder);
    const script = 'cd "$(printf "%s/caf\\351" "$1")" && exec "$2" "$3" exec hi';
    const bin = join(import.meta.dirname, "../../bin/skein");
    const refused = () => execFileSync("bash", ["-c", script, "-", world.project, process.execPath, bin], { env: world.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    expect(refused).toThrow("is not valid UTF-8");
  });
});

describe("output of commands", () => {
  it("that is not UTF-8, or names files in NFD, reaches model and log without breaking either", async () => {
    await server.close();
    server = await startModelServer({ script: [{ calls: [{ name: "exec_command", arguments: { cmd: `printf 'a\\377b\\n'; touch ${NFD}; ls` }, id: "c1" }] }, { text: "ok" }], wire: "responses" });
    world.env["SKEIN_TEST_SERVER"] = server.url;
    const result = await run(world, ["exec", "-s", "danger-full-access", "look"]);
    expect(result.code, result.stderr).toBe(0);
    const { output } = (server.requests[1]!.body as { input: { output?: string }[] }).input.at(-1)!;
    expect(output).toContain("a\ufffdb");
    expect(output).toContain(NFD);
    expect(JSON.stringify(log(world))).toContain(NFD);
  });
});
