/** What goes in: the prompt from an argument, standard input or both; images; the schema of the answer. */
import { describe, expect, it } from "vitest";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../model-server/server.ts";
import { GIF, PNG } from "./pictures.ts";
import { conversation, scene } from "./scene.ts";
import { itemsOf, jsonLines, log, run, runShell, start, until } from "./skein.ts";

interface Part {
  type: string;
  text?: string;
  image_url?: string;
}
const content = (server: ModelServer, n = 0): Part[] => (server.requests[n]!.body as { input: { content: Part[] }[] }).input.at(-1)!.content;
const prompt = (server: ModelServer, n = 0): string => content(server, n)[0]!.text!;
const answer = [{ text: "ok" }];

describe("the prompt", () => {
  it("is the argument; that standard input is waited for as well is said, where it is not quiet", async () => {
    const { server, world } = await scene([...answer, ...answer]);
    const running = start(world, ["exec", "say ok"], { stdin: null });
    let stderr = "";
    running.child.stderr!.on("data", (text: string) => (stderr += text));
    await until(() => stderr.includes("Reading standard input …"));
    running.child.stdin!.end();
    expect(await running.done).toMatchObject({ code: 0, stdout: "ok\n" });
    expect(await run(world, ["exec", "-q", "say ok"])).toMatchObject({ code: 0, stderr: "" });
    expect([prompt(server), prompt(server, 1)]).toEqual(["say ok", "say ok"]);
  });

  it("is the argument alone, when a program gave its child a standard input that it never uses", async () => {
    const { server, world } = await scene(answer);
    expect(await start(world, ["exec", "say ok"], { stdin: null }).done).toMatchObject({ code: 0, stdout: "ok\n", stderr: expect.stringContaining("Nothing came there; going on without it.") as string });
    expect(prompt(server)).toBe("say ok");
  });

  it("is what is piped, when the argument is blank", async () => {
    const { server, world } = await scene([...answer, ...answer]);
    for (const blank of ["", "  \n"]) expect(await run(world, ["exec", blank], { stdin: "piped" })).toMatchObject({ code: 0 });
    expect([prompt(server), prompt(server, 1)]).toEqual(["piped", "piped"]);
  });

  it.each([[[]], [["-"]]])("is standard input with %j", async (args) => {
    const { server, world } = await scene(answer);
    expect(await run(world, ["exec", ...args], { stdin: "from standard input, ünïcödé\n" })).toMatchObject({ code: 0 });
    expect(prompt(server)).toBe("from standard input, ünïcödé\n");
  });

  it("is both, when something is piped to a prompt", async () => {
    const { server, world } = await scene([...answer, ...answer]);
    expect(await runShell(world, `printf 'line 1\\nline 2\\n' | $SKEIN 'review this'`)).toMatchObject({ code: 0, stdout: "ok\n" });
    // What a Node program gives its child is no pipe, but a socket.
    expect(await run(world, ["exec", "review this"], { stdin: "line 1\nline 2\n" })).toMatchObject({ code: 0 });
    for (const n of [0, 1]) expect(prompt(server, n)).toBe("review this\n\n<stdin>\nline 1\nline 2\n\n</stdin>");
  });

  it("is a file that is redirected, and the argument alone where there is no input", async () => {
    const { server, world } = await scene([...answer, ...answer, ...answer]);
    writeFileSync(join(world.project, "prompt.txt"), "from a file");
    expect(await runShell(world, "$SKEIN - < prompt.txt")).toMatchObject({ code: 0 });
    expect(await runShell(world, "$SKEIN 'alone' < /dev/null")).toMatchObject({ code: 0 });
    expect(await runShell(world, ": | $SKEIN 'an empty pipe'")).toMatchObject({ code: 0 });
    expect([0, 1, 2].map((n) => prompt(server, n))).toEqual(["from a file", "alone", "an empty pipe"]);
  });

  it("may begin with dashes after --, and is large if it must be", async () => {
    const { server, world } = await scene([...answer, ...answer]);
    expect(await run(world, ["exec", "--", "--json is a flag"])).toMatchObject({ code: 0 });
    const large = "x".repeat(3_000_000);
    expect(await run(world, ["exec", "-"], { stdin: large })).toMatchObject({ code: 0 });
    expect([prompt(server), prompt(server, 1).length]).toEqual(["--json is a flag", large.length]);
  });

  it.each([[["exec"]], [["exec", "-"]], [["exec", ""]], [["exec", "   "]], [["exec", "resume", "--last"]]])("that is missing is said, and nothing is started: %j", async (args) => {
    const { server, world } = await scene([]);
    const result = await run(world, [...args, "--json"], { stdin: "  \n" });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("There is no prompt") });
    expect(jsonLines(result.stdout)).toMatchObject([{ type: "error", message: expect.stringContaining("There is no prompt") }]);
    expect(server.requests).toEqual([]);
    expect(existsSync(join(world.home, "sessions"))).toBe(false);
  });
});

describe("images", () => {
  it("go with the prompt as they are, and again with every later request, from the log", async () => {
    const { server, world } = await scene([{ text: "One dot." }, { text: "Still." }]);
    writeFileSync(join(world.project, "a.png"), PNG);
    writeFileSync(join(world.project, "b.gif"), GIF);
    expect(await run(world, ["exec", "-i", "a.png", "--image", "b.gif", "what is it?"])).toMatchObject({ code: 0, stdout: "One dot.\n" });
    const expected = [
      { type: "input_text", text: "what is it?" },
      { type: "input_image", image_url: `data:image/png;base64,${PNG.toString("base64")}` },
      { type: "input_image", image_url: `data:image/gif;base64,${GIF.toString("base64")}` },
    ];
    expect(content(server)).toEqual(expected);
    expect(JSON.stringify(log(world))).not.toContain(PNG.toString("base64"));
    await run(world, ["exec", "resume", "--last", "and now?"]);
    expect(conversation((server.requests[1]!.body as { input: object[] }).input)[0]).toMatchObject({ content: expected });
    expect(server.problems).toEqual([]);
  });

  it("may be several in one flag", async () => {
    const { server, world } = await scene(answer);
    for (const name of ["a.png", "b.png"]) writeFileSync(join(world.project, name), PNG);
    await run(world, ["exec", "-i", "a.png,b.png", "two"]);
    expect(content(server).map((part) => part.type)).toEqual(["input_text", "input_image", "input_image"]);
  });

  it.each([
    ["messages", { type: "image", source: { type: "base64", media_type: "image/png", data: PNG.toString("base64") } }],
    ["chat", { type: "image_url", image_url: { url: `data:image/png;base64,${PNG.toString("base64")}` } }],
  ] as const)("go over the %s wire too", async (wire, part) => {
    const { server, world } = await scene(answer, { wire });
    writeFileSync(join(world.project, "a.png"), PNG);
    const provider = ["-c", `model_providers.x={name="x",base_url="${server.url}/v1",wire_api="${wire}",env_key="OPENAI_API_KEY"}`, "-c", 'model_provider="x"'];
    expect(await run(world, ["exec", ...provider, "-i", "a.png", "look"])).toMatchObject({ code: 0, stdout: "ok\n" });
    expect(server.problems).toEqual([]);
    const { messages } = server.requests[0]!.body as { messages: { role: string; content: object[] }[] };
    const image = messages.findLast((message) => message.role === "user")!.content.find((each) => "type" in each && each.type === part.type)!;
    expect(image).toMatchObject(part);
  });

  it("that a provider refuses are left out once, visibly, and the turn goes on", async () => {
    const { server, world } = await scene([{ status: 400, error: { code: "invalid_image", message: "Invalid image data." } }, { text: "Without it, then." }]);
    writeFileSync(join(world.project, "a.png"), PNG);
    const result = await run(world, ["exec", "--json", "-i", "a.png", "look"]);
    expect(result.code, result.stderr).toBe(0);
    expect(content(server, 1).map((part) => part.type)).toEqual(["input_text", "input_text"]);
    expect(itemsOf(jsonLines(result.stdout)).filter((item) => item["type"] === "error")).toMatchObject([{ message: expect.stringContaining("Left out from now on") }]);
    expect(server.problems).toEqual([]);
  });

  it.each([
    ["missing.png", "cannot be read (ENOENT)"],
    ["text.png", "is not a PNG, JPEG, GIF or WebP image"],
  ])("%s: nothing is sent and the reason is said", async (name, why) => {
    const { server, world } = await scene([]);
    writeFileSync(join(world.project, "text.png"), "no picture");
    const result = await run(world, ["exec", "--json", "-i", name, "look"]);
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
    expect(server.requests).toEqual([]);
  });
});

describe("the output schema", () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };

  it("goes with this turn's requests only, and the answer comes back as it is", async () => {
    const { server, world } = await scene([{ text: '{"ok":true}' }, { text: "free" }]);
    writeFileSync(join(world.project, "schema.json"), JSON.stringify(schema));
    const result = await run(world, ["exec", "--output-schema", "schema.json", "-o", "answer.json", "is it?"]);
    expect(result, result.stderr).toMatchObject({ code: 0, stdout: '{"ok":true}\n' });
    expect(readFileSync(join(world.project, "answer.json"), "utf8")).toBe('{"ok":true}');
    await run(world, ["exec", "resume", "--last", "and?"]);
    const formats = server.requests.map((request) => (request.body as { text?: { format?: object } }).text?.format);
    expect(formats).toEqual([expect.objectContaining({ type: "json_schema", strict: true, schema }), undefined]);
    expect(server.problems).toEqual([]);
  });

  it.each([
    ["missing.json", "cannot be read"],
    ["broken.json", "is not JSON"],
    ["list.json", "must hold a JSON object"],
  ])("%s: nothing is sent and the reason is said", async (name, why) => {
    const { server, world } = await scene([]);
    writeFileSync(join(world.project, "broken.json"), "{");
    writeFileSync(join(world.project, "list.json"), "[]");
    expect(await run(world, ["exec", "--json", "--output-schema", name, "x"])).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
    expect(server.requests).toEqual([]);
  });
});
