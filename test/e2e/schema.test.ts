/** The published schema: what it takes, what it refuses, and that the lines of a run are exactly these. */
import { describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { faultsOf, faultsOfRun, jsonLines, type Json } from "./lines.ts";
import { scene } from "./scene.ts";
import { FULL_ACCESS, run, shell } from "./skein.ts";

const golden = (name: string): Json[] => jsonLines(readFileSync(join(import.meta.dirname, "golden", name), "utf8"));
const usage = { input: 1000, cached: 200, output: 50, reasoning: 10 };
const SCRIPT = [
  { reasoning: "need a listing", text: "I will list files.", calls: [shell("echo hi; false")], usage },
  { text: "All done.", usage },
];

describe("exec.schema.json", () => {
  it.each([...golden("lines.jsonl"), ...golden("common.jsonl")].map((line) => [JSON.stringify(line), line] as const))("takes %s", (_text, line) => {
    expect(faultsOf(line)).toEqual([]);
    expect(faultsOf({ ...line, added_later: 1 })).toEqual([]);
  });

  it("refuses a line that lacks any field of the common stream, or has one of another kind", () => {
    const taken = golden("common.jsonl").flatMap((line) =>
      paths(line).flatMap((path) =>
        [undefined, { another: "kind" }].filter((value) => faultsOf(changed(line, path, value)).length === 0).map((value) => `${path.join(".")} = ${JSON.stringify(value)} in ${JSON.stringify(line)}`),
      ),
    );
    expect(taken).toEqual([]);
  });

  it.each([
    [{ type: "turn.paused" }],
    [{ type: "item.completed", item: { id: "item_0", type: "song", text: "la" } }],
    [{ type: "item.completed", item: { id: "x", type: "agent_message", text: "la" } }],
    [{ type: "item.completed", item: { id: "item_0", type: "command_execution", command: "ls", aggregated_output: "", exit_code: 0, status: "perhaps" } }],
    [{ type: "turn.completed", usage: { input_tokens: -1, cached_input_tokens: 0, cache_write_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0 } }],
    [[]],
    ["turn.started"],
  ])("refuses %j", (line) => {
    expect(faultsOf(line)).not.toEqual([]);
  });

  it("is published with the package", () => {
    const { files, exports } = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8")) as { files: string[]; exports: Record<string, string> };
    expect(files).toContain("schema");
    expect(exports["./schema/exec.schema.json"]).toBe("./schema/exec.schema.json");
  });
});

describe("a run", () => {
  it("prints exactly the lines of the golden file", async () => {
    const { server, world } = await scene(SCRIPT);
    const { stdout, stderr } = await run(world, ["exec", ...FULL_ACCESS, "--json", "list"]);
    expect(server.problems).toEqual([]);
    expect(jsonLines(stdout).map(normal), stderr).toEqual(golden("run.jsonl"));
  });

  it("has every field of the common stream, of the same kind, in the same order", async () => {
    const { world } = await scene(SCRIPT);
    const lines = jsonLines((await run(world, ["exec", ...FULL_ACCESS, "--experimental-json", "list"])).stdout);
    const common = golden("common.jsonl");
    expect(lines.map((line) => line["type"])).toEqual(common.map((line) => line["type"]));
    for (const [index, line] of common.entries()) expect(kinds(lines[index]!), JSON.stringify(lines[index])).toMatchObject(kinds(line) as object);
  });

  it("has usage of the turn and of the thread", async () => {
    const { world } = await scene([{ text: "One.", usage }, { text: "Two.", usage: { input: 7, output: 3 } }]);
    await run(world, ["exec", "one"]);
    const end = jsonLines((await run(world, ["exec", "resume", "--last", "--json", "two"])).stdout).at(-1)!;
    expect(end).toMatchObject({ usage: { input_tokens: 7, cached_input_tokens: 0, output_tokens: 3 }, total_usage: { input_tokens: 1007, cached_input_tokens: 200, output_tokens: 53, reasoning_output_tokens: 10 } });
  });
});

describe("usage", () => {
  it("tells what was written to the provider's cache, where the wire does", async () => {
    const { server, world } = await scene([{ calls: [shell("true")], usage: { input: 100, cached: 70, cacheWrite: 20, output: 5 } }, { text: "x", usage: { input: 110, cached: 90, cacheWrite: 10, output: 5 } }], { wire: "messages" });
    const provider = ["-c", `model_providers.x={name="x",base_url="${server.url}/v1",wire_api="messages",env_key="OPENAI_API_KEY"}`, "-c", 'model_provider="x"'];
    const { stdout, stderr } = await run(world, ["exec", ...provider, "--json", "x"]);
    expect(jsonLines(stdout).at(-1), stderr).toMatchObject({ usage: { input_tokens: 210, cached_input_tokens: 160, cache_write_input_tokens: 30, output_tokens: 10, reasoning_output_tokens: 0 } });
  });
});

describe("the check of whole runs", () => {
  const first = { type: "thread.started", thread_id: "t", schema_version: 1 };
  const end = golden("common.jsonl").at(-1)!;
  const item = (id: string, type = "item.completed") => ({ type, item: { id, type: "error", message: "m" } });
  const text = (...lines: object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

  it("finds what is missing, torn or too much", () => {
    expect(faultsOfRun(text(first, item("item_0"), end), { cut: false })).toEqual([]);
    expect(faultsOfRun(text(first), { cut: false })).toEqual(["0 terminal lines"]);
    expect(faultsOfRun(`${text(first)}{"type":`, { cut: true })).toEqual([]);
    expect(faultsOfRun(text(first, end, end), { cut: true })).toEqual(["2 terminal lines"]);
    expect(faultsOfRun(text(first, end, item("item_0")), { cut: false })).toEqual(["a line follows the terminal one"]);
    expect(faultsOfRun(text({ type: "turn.started" }, end), { cut: false })).toEqual(["the first line has no schema_version"]);
    expect(faultsOfRun(text(first, item("item_0"), item("item_0"), end), { cut: false })).toEqual(["item_0 goes on after it was completed"]);
  });
});

function normal(line: Json): Json {
  const shown = { ...line };
  if ("thread_id" in shown) shown["thread_id"] = "<thread>";
  if ("turn_id" in shown) shown["turn_id"] = "<turn>";
  if ("duration_ms" in shown) shown["duration_ms"] = "<ms>";
  return shown;
}

function kinds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kinds);
  if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, kinds(field)]));
  return value === null ? "null" : typeof value;
}

function paths(value: Json, before: string[] = []): string[][] {
  return Object.entries(value).flatMap(([key, field]) => {
    const here = [...before, key];
    return typeof field === "object" && field !== null ? [here, ...paths(field as Json, here)] : [here];
  });
}

function changed(line: Json, path: readonly string[], value: unknown): Json {
  const copy = structuredClone(line);
  let table = copy;
  for (const key of path.slice(0, -1)) table = table[key] as Json;
  if (value === undefined) delete table[path.at(-1)!];
  else table[path.at(-1)!] = value;
  return copy;
}
