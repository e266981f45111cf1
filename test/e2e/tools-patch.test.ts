/** apply_patch through the real binary: both forms, what is recorded, and what is refused. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import type { Call } from "../model-server/script.ts";
import { scene } from "./scene.ts";
import { itemsOf, jsonLines, log, run, type World } from "./skein.ts";
import { outputOf, told } from "./told.ts";

const WRITE = ["-s", "workspace-write"];
const patch = (...lines: string[]) => `${["*** Begin Patch", ...lines, "*** End Patch"].join("\n")}\n`;
const free = (input: string, id = "patch"): Call => ({ name: "apply_patch", arguments: input, custom: true, id });
const call = (input: string, id = "patch"): Call => ({ name: "apply_patch", arguments: { input }, id });
const sha256 = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");

const BEFORE = "one\r\ntwo \r\nthr\u00e9e\r\n";

function furnish({ project }: World): void {
  writeFileSync(join(project, "kept.sh"), BEFORE);
  chmodSync(join(project, "kept.sh"), 0o754);
  writeFileSync(join(project, "moved.txt"), "here\n");
  writeFileSync(join(project, "gone.txt"), "gone\n");
}

const WORK = patch("*** Update File: kept.sh", "@@", " one", "-two", "+TWO", "*** Add File: new/file.txt", "+new", "*** Update File: moved.txt", "*** Move to: there.txt", "@@", "-here", "+there", "*** Delete File: gone.txt");

it.each([
  ["gpt-5.1", "free-form", free(WORK)],
  ["gpt-5.1", "as a function all the same", call(WORK)],
  ["test-model", "as a function", call(WORK)],
])("%s patches %s: files, log and pre-images agree", async (model, _, made) => {
  const { server, world } = await scene([{ text: "I patch.", calls: [made] }, { text: "Done." }], { validate: true });
  furnish(world);
  const { code, stdout, stderr } = await run(world, ["exec", "-m", model, ...WRITE, "--json", "go"]);
  expect(code, stderr).toBe(0);
  const tools = server.requests[0]!.body.tools as { type: string; name: string }[];
  expect(tools.find(({ name }) => name === "apply_patch")!.type).toBe(model === "test-model" ? "function" : "custom");

  const at = (name: string) => join(world.project, name);
  expect([readFileSync(at("kept.sh"), "utf8"), statSync(at("kept.sh")).mode & 0o777]).toEqual(["one\r\nTWO\r\nthr\u00e9e\r\n", 0o754]);
  expect([readFileSync(at("new/file.txt"), "utf8"), readFileSync(at("there.txt"), "utf8"), existsSync(at("moved.txt")), existsSync(at("gone.txt"))]).toEqual(["new\n", "there\n", false, false]);
  expect(told(server, "patch")).toEqual(["M kept.sh\nA new/file.txt\nD moved.txt\nA there.txt\nD gone.txt"]);

  const item = itemsOf(jsonLines(stdout)).findLast(({ type }) => type === "file_change");
  expect(item).toMatchObject({ status: "completed", changes: [{ path: at("kept.sh"), kind: "update" }, { path: at("new/file.txt"), kind: "add" }, { path: at("moved.txt"), kind: "update" }, { path: at("gone.txt"), kind: "delete" }] });

  const changed = log(world).filter(({ type }) => type === "file.changed");
  const file = (content: string, mode = 0o644) => ({ kind: "file", hash: sha256(content), mode });
  const kept = (content: string, mode?: number) => ({ ...file(content, mode), content: { sha256: sha256(content), bytes: Buffer.byteLength(content) } });
  const absent = { kind: "absent" };
  expect(changed.map(({ path, before, after }) => ({ path, before, after }))).toEqual([
    { path: at("kept.sh"), before: kept(BEFORE, 0o754), after: file("one\r\nTWO\r\nthr\u00e9e\r\n", 0o754) },
    { path: at("new/file.txt"), before: absent, after: file("new\n") },
    { path: at("moved.txt"), before: kept("here\n"), after: absent },
    { path: at("there.txt"), before: absent, after: file("there\n") },
    { path: at("gone.txt"), before: kept("gone\n"), after: absent },
  ]);
  const blobs = join(world.home, "sessions", "active", "blobs");
  for (const content of [BEFORE, "here\n", "gone\n"]) expect(readFileSync(join(blobs, sha256(content)), "utf8")).toBe(content);
  expect(readdirSync(blobs).filter((name) => (statSync(join(blobs, name)).mode & 0o777) !== 0o600)).toEqual([]);
});

it("a patch without a place is told with what is nearest, changes nothing at all, and is shown as failed", async () => {
  const wrong = patch("*** Update File: moved.txt", "@@", "-here", "+there", "*** Update File: kept.sh", "@@", " one", "-tow", "+TWO");
  const { server, world } = await scene([{ text: "I patch.", calls: [free(wrong)] }, { text: "Sorry." }]);
  furnish(world);
  const { code, stdout } = await run(world, ["exec", "-m", "gpt-5", ...WRITE, "--json", "go"]);
  expect(code).toBe(0);
  expect(outputOf(server, "patch")).toBe('Nothing was changed. kept.sh: these lines are not in the file:\n\tone\n\ttow\nThe nearest in the file:\n1\tone\n2\ttwo \nWhat differs: line 2 is "two ", not "tow".');
  expect(readFileSync(join(world.project, "moved.txt"), "utf8")).toBe("here\n");
  expect(itemsOf(jsonLines(stdout)).findLast(({ type }) => type === "file_change")).toMatchObject({ status: "failed", output: outputOf(server, "patch") });
  expect(log(world).filter(({ type }) => type === "file.changed")).toEqual([]);
});

it("what acts on its own is not patched, by whatever name, nor anything outside", async () => {
  const places = [".git/hooks/pre-commit", ".skein/config.toml", ".agents/skills/x/SKILL.md", ".codex/config.toml", "src/../.git/x", "link/x", "out/x", "../x", "/etc/skein-test"];
  const { server, world } = await scene([{ text: "I patch.", calls: places.map((place, index) => call(patch(`*** Add File: ${place}`, "+x"), `p${index}`)) }, { text: "Fine." }]);
  mkdirSync(join(world.root, "elsewhere"));
  symlinkSync(".git", join(world.project, "link"));
  symlinkSync(join(world.root, "elsewhere"), join(world.project, "out"));
  const { code, stdout } = await run(world, ["exec", ...WRITE, "--json", "go"]);
  expect(code).toBe(0);
  const items = itemsOf(jsonLines(stdout)).filter(({ type, status }) => type === "file_change" && status !== "in_progress");
  expect(told(server, ...places.map((_, index) => `p${index}`))).toEqual(places.map((place) => expect.stringContaining(`it would run outside the sandbox: ${place} `) as string));
  expect(items.map(({ status }) => status)).toEqual(places.map(() => "declined"));
  expect(places.filter((place) => existsSync(resolve(world.project, place)))).toEqual([]);
});

it("a patch that comes as a command is recorded and told as one, with the files that it changed", async () => {
  const { server, world } = await scene([{ calls: [{ name: "shell", arguments: { command: ["bash", "-lc", `apply_patch <<'EOF'\n${WORK}EOF`] }, id: "patch" }] }, { text: "Done." }]);
  furnish(world);
  const { code, stdout, stderr } = await run(world, ["exec", ...WRITE, "--json", "go"]);
  expect(code, stderr).toBe(0);
  expect(told(server, "patch")).toEqual(["M kept.sh\nA new/file.txt\nD moved.txt\nA there.txt\nD gone.txt"]);
  expect(itemsOf(jsonLines(stdout)).findLast(({ type }) => type === "command_execution")).toMatchObject({ status: "completed", exit_code: 0, aggregated_output: expect.stringContaining("M kept.sh") });
  expect(log(world).filter(({ type }) => type === "file.changed").length).toBe(5);
});
