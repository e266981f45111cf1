/** Real servers from npm: `server-everything` over both transports and `server-filesystem` over stdio. */
import { mkdirSync, realpathSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tool } from "../../../src/core/tool.ts";
import { eventually } from "../given.ts";
import { BASE, EVERYTHING, FILESYSTEM, host, newFolder, source, startHttp, TRANSPORTS, type Kind, type Rig } from "./given.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function everything(kind: Kind, cwd: string): Promise<Rig> {
  if (kind === "stdio") return source({ every: { ...BASE, command: process.execPath, args: [EVERYTHING, "stdio"] } }, { cwd });
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      const url = await startHttp([EVERYTHING, "streamableHttp"], { env: { PORT: String(port) }, ready: /listening on port (\d+)/u });
      return source({ every: { ...BASE, url } }, { cwd });
    } catch (error) {
      // Somebody else may have taken the port meanwhile.
      if (attempt === 5) throw error;
    }
  }
}

describe.each(TRANSPORTS)("server-everything over %s", (kind) => {
  const cwd = newFolder();
  let mcp: Rig;
  beforeAll(async () => {
    mcp = await everything(kind, cwd);
    await mcp.ready();
  });

  /** Some tools are announced only when the server knows what we can do. */
  async function later(name: string): Promise<Tool> {
    for (let tries = 0; tries < 1500 && !(await mcp.tools()).some((tool) => tool.name === name); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    return mcp.tool(name);
  }

  test("tools that depend on what we can do are announced later, and listed then", async () => {
    await later("mcp__every__trigger-elicitation-request");
    const names = (await mcp.tools()).map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    expect(names.slice(0, 3)).toEqual(["list_mcp_resources", "mcp__every__echo", "mcp__every__get-annotated-message"]);
    expect(names).toEqual(expect.arrayContaining(["mcp__every__get-roots-list", "mcp__every__trigger-elicitation-request", "read_mcp_resource"]));
    expect(names).not.toContain("mcp__every__trigger-sampling-request");
    expect(mcp.warnings()).toEqual([]);
  });

  test("calls: text, an error, structured content, pictures, links, resources", async () => {
    const call = async (name: string, input: object, at = host()) => ({ at, outcome: await (await mcp.tool(`mcp__every__${name}`)).run(input, at) });
    expect((await call("echo", { message: "hello" })).outcome).toEqual({ status: "done", output: "Echo: hello" });
    expect((await call("get-sum", { a: 2, b: "three" })).outcome).toMatchObject({ status: "failed" });
    expect((await call("get-structured-content", { location: "Chicago" })).outcome).toMatchObject({ status: "done", output: expect.stringContaining('"temperature":') as string });

    const { at, outcome } = await call("get-tiny-image", {});
    expect(at.bytes.map((bytes) => bytes.subarray(1, 4).toString())).toEqual(["PNG"]);
    expect(outcome).toEqual({
      status: "done",
      output: [
        { type: "input_text", text: "Here's the image you requested:" },
        { type: "input_image", image_url: expect.stringMatching(/^blob:[0-9a-f]{64}$/u) as string },
        { type: "input_text", text: "The image above is the MCP logo." },
      ],
    });
    expect((await call("get-resource-links", { count: 2 })).outcome.output).toMatch(/\n\[resource demo:\/\/resource\/dynamic\/\S+: .+\]\n\[resource demo:/u);
    expect((await call("get-resource-reference", { resourceType: "Text", resourceId: 1 })).outcome.output).toMatch(/\[resource demo:\/\/resource\/dynamic\/text\/1 \(text\/plain\)\]\nResource 1:/u);
  });

  test("progress is shown, and an interrupt ends a long call", async () => {
    const tool = await mcp.tool("mcp__every__trigger-long-running-operation");
    expect(tool.effect).toBe("read");
    expect(await tool.assess!({}, { ...host(), approval: "untrusted" })).toMatchObject({ safe: true, rule: null });
    const at = host();
    expect(await tool.run({ duration: 0.3, steps: 3 }, at)).toEqual({ status: "done", output: "Long running operation completed. Duration: 0.3 seconds, Steps: 3." });
    expect(at.shown).toEqual(["[1/3]\n", "[2/3]\n", "[3/3]\n"]);
    const abort = new AbortController();
    const long = host({ signal: abort.signal });
    const running = tool.run({ duration: 60, steps: 600 }, long);
    expect(await eventually(() => long.shown.length > 0)).toBe(true);
    abort.abort("interrupted");
    expect(await running).toMatchObject({ status: "failed", output: expect.stringContaining("Interrupted") as string });
    expect((await (await mcp.tool("mcp__every__echo")).run({ message: "still here" }, host())).output).toBe("Echo: still here");
  });

  test("resources are listed and read", async () => {
    const list = await mcp.tool("list_mcp_resources");
    const listed = JSON.parse((await list.run({}, host())).output as string) as { server: string; resources: { uri: string }[]; templates: { uriTemplate: string }[] }[];
    expect(listed.map(({ server }) => server)).toEqual(["every"]);
    expect(listed[0]!.resources.length).toBeGreaterThan(2);
    expect(listed[0]!.templates.map(({ uriTemplate }) => uriTemplate)).toContain("demo://resource/dynamic/text/{resourceId}");
    expect(await list.run({ server: "other" }, host())).toEqual({ status: "failed", output: 'Not run: there is no MCP server "other" with resources. There are: every.' });
    const read = await mcp.tool("read_mcp_resource");
    expect((await read.run({ server: "every", uri: "demo://resource/dynamic/text/7" }, host())).output).toMatch(/^\[resource demo:\/\/resource\/dynamic\/text\/7 \(text\/plain\)\]\nResource 7/u);
    expect((await read.run({ server: "every", uri: "demo://nowhere" }, host())).status).toBe("failed");
    expect(await read.assess!({ server: "every", uri: "x" }, { ...host(), approval: "untrusted" })).toMatchObject({ safe: false, rule: null, grant: { keys: ["tool:read_mcp_resource:every"] } });
  });

  test("it asks the user, and is told where the work is", async () => {
    const at = host({ answer: { action: "accept", content: { name: "Ada", check: true } } });
    const outcome = await (await later("mcp__every__trigger-elicitation-request")).run({}, at);
    expect(at.asked).toMatchObject([{ kind: "elicitation", server: "every", message: "Please provide inputs for the following fields:", schema: { type: "object" } }]);
    expect(outcome.output).toContain("Ada");
    expect((await (await later("mcp__every__get-roots-list")).run({}, host())).output).toContain(`URI: ${pathToFileURL(cwd).href}`);
  });
});

test("server-filesystem reads and writes where it may, and says why it may not elsewhere", async () => {
  const folder = realpathSync(newFolder());
  const outside = realpathSync(newFolder());
  mkdirSync(join(folder, "sub"));
  writeFileSync(join(folder, "a.txt"), "alpha\n");
  writeFileSync(join(outside, "b.txt"), "beta\n");
  const mcp = source({ files: { ...BASE, command: process.execPath, args: [FILESYSTEM, folder], disabled_tools: ["move_file"] } }, { cwd: folder });
  await mcp.ready();
  const names = (await mcp.tools()).map(({ name }) => name);
  expect(names).toContain("mcp__files__read_text_file");
  expect(names).not.toContain("mcp__files__move_file");
  const call = async (name: string, input: object) => (await mcp.tool(`mcp__files__${name}`)).run(input, host({ cwd: folder }));
  expect(await call("read_text_file", { path: join(folder, "a.txt") })).toEqual({ status: "done", output: "alpha\n" });
  expect(await call("write_file", { path: join(folder, "sub/c.txt"), content: "gamma\n" })).toMatchObject({ status: "done" });
  expect(readFileSync(join(folder, "sub/c.txt"), "utf8")).toBe("gamma\n");
  const refused = await call("read_text_file", { path: join(outside, "b.txt") });
  expect(refused).toMatchObject({ status: "failed", output: expect.stringContaining("Access denied") as string });
  const [reader, writer] = [await mcp.tool("mcp__files__read_text_file"), await mcp.tool("mcp__files__write_file")];
  expect([reader.effect, writer.effect]).toEqual(["read", "exec"]);
});
