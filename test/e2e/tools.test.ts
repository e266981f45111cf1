/** The tools that come with Skein, each through the real binary, in each sandbox mode. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Call } from "../model-server/script.ts";
import { PNG } from "./pictures.ts";
import { scene, type Scene } from "./scene.ts";
import { itemsOf, jsonLines, log, run, shell, until, type World } from "./skein.ts";
import { itemReply, outputOf, told } from "./told.ts";

const MODES = ["read-only", "workspace-write", "danger-full-access"] as const;

function furnish({ project }: World): void {
  mkdirSync(join(project, "src"));
  writeFileSync(join(project, "src", "a.ts"), "export const one = 1;\nexport const two = 2;\n");
  writeFileSync(join(project, "notes.md"), "# Notes\n\ntwo things\n");
  writeFileSync(join(project, "dot.png"), PNG);
}

/** One turn of these calls, in a project with a few files. */
async function turn(calls: readonly Call[], args: readonly string[] = []) {
  const given: Scene = await scene([{ text: "I work.", calls }, { text: "Done." }]);
  furnish(given.world);
  const ended = await run(given.world, ["exec", ...args, "--json", "go"]);
  expect(ended.code, ended.stderr).toBe(0);
  return { ...given, lines: jsonLines(ended.stdout), stderr: ended.stderr };
}

it.each(MODES)("in %s, looking works the same, whatever tool looks", async (mode) => {
  const { server, world, lines } = await turn(
    [
      { name: "list_dir", arguments: { path: "." }, id: "list" },
      shell("cat src/a.ts | head -n 1", "exec"),
      { name: "shell", arguments: { command: ["sed", "-n", "2p", "src/a.ts"] }, id: "argv" },
      { name: "read_file", arguments: { path: "src/a.ts", offset: 2 }, id: "read" },
      { name: "grep", arguments: { pattern: "two" }, id: "grep" },
      { name: "glob", arguments: { pattern: "**/*.ts" }, id: "glob" },
      { name: "view_image", arguments: { path: "dot.png" }, id: "view" },
      { name: "update_plan", arguments: { plan: [{ step: "look", status: "completed" }, { step: "say", status: "in_progress" }] }, id: "plan" },
      { name: "fly", arguments: {}, id: "unknown" },
      { name: "read_file", arguments: "{not json", id: "broken" },
      { name: "exec_command", arguments: { cmd: 7 }, id: "wrong" },
      { name: "grep", arguments: { pattern: "(" }, id: "pattern" },
    ],
    ["-s", mode],
  );
  const outputs = told(server, "exec", "argv", "read", "list", "grep", "glob", "plan", "unknown", "broken", "wrong", "pattern");
  expect(outputs.map((output) => output.replace(/^Wall time: .*\n/mu, ""))).toEqual([
    "Exit code: 0\nOutput:\nexport const one = 1;\n",
    "Exit code: 0\nOutput:\nexport const two = 2;\n",
    "2\texport const two = 2;",
    ".git/\ndot.png\nnotes.md\nsrc/",
    "notes.md:3:two things\nsrc/a.ts:2:export const two = 2;",
    "src/a.ts",
    "Plan updated.",
    'There is no tool named "fly". The tools are: exec_command, write_stdin, apply_patch, read_file, list_dir, grep, glob, view_image, update_plan.',
    expect.stringMatching(/^The arguments are not valid JSON \(.*\); nothing was run\. Send the call again with valid arguments\.$/u),
    "Not run: `cmd` must be a text that is not empty and has no NUL characters.",
    expect.stringContaining("Not searched: regex parse error"),
  ]);
  expect(outputOf(server, "view")).toEqual([
    { type: "input_text", text: "dot.png: a PNG image, 70 bytes." },
    { type: "input_image", image_url: `data:image/png;base64,${PNG.toString("base64")}` },
  ]);
  const ended = itemsOf(lines.filter(({ type }) => type === "item.completed")).filter((item) => item["type"] !== "agent_message");
  expect(Object.fromEntries(ended.map(({ id, type, status, tool, command }) => [id, [type, tool ?? command, status].join(" ").trim()]))).toEqual({
    item_1: "tool_call list_dir completed",
    item_2: "command_execution cat src/a.ts | head -n 1 completed",
    item_3: "command_execution sed -n 2p src/a.ts completed",
    item_4: "tool_call read_file completed",
    item_5: "tool_call grep completed",
    item_6: "tool_call glob completed",
    item_7: "tool_call view_image completed",
    item_8: "tool_call fly failed",
    item_9: "tool_call read_file failed",
    item_10: "tool_call exec_command failed",
    item_11: "tool_call grep failed",
    item_12: "todo_list",
  });
  const started = log(world).filter(({ type }) => type === "call.started");
  expect(started.map(({ envelope }) => envelope)).toEqual(started.map(() => ({ cwd: world.project, sandbox: mode })));
  // For "Explored": what commands look at is recorded with them, what tools look at is in their arguments.
  expect(started.filter(({ actions }) => actions).map(({ call, actions }) => [call, actions])).toEqual([
    ["exec", [{ type: "read", path: "src/a.ts" }]],
    ["argv", [{ type: "read", path: "src/a.ts" }]],
  ]);
  expect(log(world).find(({ type }) => type === "plan.changed")).toMatchObject({ plan: [{ step: "look", status: "completed" }, { step: "say", status: "in_progress" }] });
});

it("names that are held while a command runs are not listed as if they were there, and are gone afterwards", async () => {
  const { server, world } = await turn([{ name: "exec_command", arguments: { cmd: "sleep 100", yield_time_ms: 300 }, id: "sleeping" }, { name: "list_dir", arguments: {}, id: "list" }], ["-s", "workspace-write"]);
  expect(told(server, "sleeping", "list")).toEqual([expect.stringContaining("Process running"), ".git/\ndot.png\nnotes.md\nsrc/"]);
  expect(readdirSync(world.project).toSorted()).toEqual([".git", "dot.png", "notes.md", "src"]);
});

const ADD = "*** Begin Patch\n*** Add File: added.txt\n+added\n*** End Patch\n";
const ADD_OUTSIDE = "*** Begin Patch\n*** Add File: ../outside-patch.txt\n+added\n*** End Patch\n";

it.each([
  ["read-only", []],
  ["workspace-write", ["added.txt", "local.txt", "made.txt"]],
  ["danger-full-access", ["../outside-patch.txt", "../outside.txt", "added.txt", "local.txt", "made.txt"]],
] as const)("in %s, what may be written is written, and the rest is refused without a question", async (mode, written) => {
  const { server, world } = await scene([
    { text: "I write.", calls: [shell("echo made > made.txt", "inside"), shell("echo made > ../outside.txt", "outside"), { name: "apply_patch", arguments: { input: ADD }, id: "patch" }, { name: "apply_patch", arguments: { input: ADD_OUTSIDE }, id: "beyond" }] },
    itemReply({ type: "local_shell_call", id: "lsh_1", call_id: "local", status: "completed", action: { type: "exec", command: ["cp", "notes.md", "local.txt"], env: {}, timeout_ms: 5000 } }),
    { text: "Done." },
  ]);
  furnish(world);
  const { code, stdout, stderr } = await run(world, ["exec", "-s", mode, "--json", "go"]);
  expect(code, stderr).toBe(0);
  const places = ["../outside-patch.txt", "../outside.txt", "added.txt", "local.txt", "made.txt"];
  expect(places.filter((place) => existsSync(join(world.project, place)))).toEqual(written);
  const statuses = itemsOf(jsonLines(stdout).filter(({ type }) => type === "item.completed")).filter((item) => item["type"] !== "agent_message");
  expect(statuses.map(({ type, status }) => [type, status].join(" "))).toEqual(
    places.map((_, index) => {
      const patch = index === 2 || index === 3;
      const done = written.includes((["made.txt", "../outside.txt", "added.txt", "../outside-patch.txt", "local.txt"] as const)[index] as never);
      return `${patch ? "file_change" : "command_execution"} ${done ? "completed" : patch ? "declined" : "failed"}`;
    }),
  );
  const [outside, beyond] = told(server, "outside", "beyond");
  if (mode === "danger-full-access") return;
  expect(outside).toContain(`Note: it ran in the ${mode} sandbox: ${mode === "read-only" ? "no file can be written but under /tmp" : `only ${world.project} and /tmp can be written`}`);
  expect(beyond).toContain("Not run: it would need approval (it would run outside the sandbox: ../outside-patch.txt ");
});

it("in exec nothing is asked, whatever the policy: what would have to be is declined, the model is told, and the turn goes on", async () => {
  const rules = '[[rules]]\nargv_prefix = ["date"]\ndecision = "ask"\n[[rules]]\nargv_prefix = ["git", "push"]\ndecision = "deny"\n';
  const calls: Call[] = [
    shell("date", "rule"),
    { name: "exec_command", arguments: { cmd: "touch ../out", sandbox_permissions: "require_escalated", justification: "I want it." }, id: "outside" },
    shell("touch ../out", "blocked"),
    { name: "apply_patch", arguments: { input: ADD_OUTSIDE }, id: "patch" },
    shell("git push", "denied"),
    shell("touch inside", "fine"),
  ];
  for (const policy of ["never", "on-request", "on-failure", "untrusted"]) {
    const { server, world } = await scene([{ text: "I go.", calls }, { text: "Done." }]);
    mkdirSync(world.home);
    writeFileSync(join(world.home, "config.toml"), rules);
    const { code, stdout, stderr } = await run(world, ["exec", "-s", "workspace-write", "-a", policy, "--json", "go"]);
    expect(code, stderr).toBe(0);
    const [rule, outside, blocked, patch, denied, fine] = told(server, "rule", "outside", "blocked", "patch", "denied", "fine");
    const isNever = policy === "never";
    const declined = isNever ? /^Not run: it would need approval \(.*\), and nobody is asked here/u : /^Not run: it would need approval \(.*\), and nobody is there to be asked/u;
    for (const output of [rule, outside, patch]) expect(output).toMatch(declined);
    expect(denied).toBe("Not run: a rule of the configuration denies it. Do not try it in another form.");
    if (policy === "untrusted") for (const output of [blocked, fine]) expect(output).toMatch(declined);
    else expect([blocked, fine]).toEqual([expect.stringContaining("Read-only file system"), expect.stringMatching(/^Exit code: 0/u)]);
    expect([existsSync(join(world.project, "inside")), existsSync(join(world.root, "out"))]).toEqual([policy !== "untrusted", false]);
    const items = itemsOf(jsonLines(stdout).filter(({ type }) => type === "item.completed")).filter(({ type }) => type !== "agent_message");
    expect(items.map(({ status }) => status)).toEqual(policy === "untrusted" ? Array(6).fill("declined") : ["declined", "declined", "failed", "declined", "declined", "completed"]);
  }
});

it("a rule that denies binds where everything else is allowed", async () => {
  const { server, world } = await scene([{ text: "I go.", calls: [shell("git push", "plain"), shell("env git  push --force", "hidden"), shell("touch ../free", "free")] }, { text: "Done." }]);
  mkdirSync(world.home);
  writeFileSync(join(world.home, "config.toml"), '[[rules]]\nargv_prefix = ["git", "push"]\ndecision = "deny"\n');
  const { code, stderr } = await run(world, ["exec", "--dangerously-bypass-approvals-and-sandbox", "--json", "go"]);
  expect(code, stderr).toBe(0);
  const denied = "Not run: a rule of the configuration denies it. Do not try it in another form.";
  expect(told(server, "plain", "hidden")).toEqual([denied, denied]);
  expect(existsSync(join(world.root, "free"))).toBe(true);
});

it("a call that holds a secret runs with it; log, events and screen have it redacted", async () => {
  const key = `sk-proj-${"a1B2".repeat(10)}`;
  const calls = [shell(`printf %s ${key} > key.txt; echo the key is ${key}`, "command"), { name: "apply_patch", arguments: { input: `*** Begin Patch\n*** Add File: .env\n+KEY=${key}\n*** End Patch\n` }, id: "patch" }, { name: "read_file", arguments: { path: ".env" }, id: "read" }];
  const { server, world } = await scene([{ text: `I use ${key}.`, calls }, { text: "Done." }]);
  const json = await run(world, ["exec", "-s", "workspace-write", "--json", "go"]);
  expect(json.code, json.stderr).toBe(0);
  expect([readFileSync(join(world.project, "key.txt"), "utf8"), readFileSync(join(world.project, ".env"), "utf8")]).toEqual([key, `KEY=${key}\n`]);
  expect(told(server, "command", "read")).toEqual([expect.stringContaining("the key is [REDACTED:openai-key]"), "1\tKEY=[REDACTED:openai-key]"]);
  expect(JSON.stringify(server.requests[1]!.body)).not.toContain(key);
  expect(json.stdout + json.stderr).not.toContain(key);
  expect(json.stdout).toContain("[REDACTED:openai-key]");
  const thread = join(world.home, "sessions", String(log(world)[0]!["id"]));
  const files = readdirSync(thread, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => readFileSync(file, "latin1").includes(key))).toEqual([]);
});

it("a secret that a patch replaces is in its pre-image alone, which only its user can read", async () => {
  const key = `sk-proj-${"a1B2".repeat(10)}`;
  const input = "*** Begin Patch\n*** Update File: .env\n@@\n-KEY=[REDACTED:openai-key]\n-PORT=1\n+KEY=[REDACTED:openai-key]\n+PORT=2\n*** End Patch\n";
  const { world } = await scene([{ text: "", calls: [{ name: "apply_patch", arguments: { input }, id: "patch" }] }, { text: "Done." }]);
  writeFileSync(join(world.project, ".env"), `KEY=${key}\nPORT=1\n`);
  expect((await run(world, ["exec", "-s", "workspace-write", "--json", "go"])).code).toBe(0);
  expect(readFileSync(join(world.project, ".env"), "utf8")).toBe(`KEY=${key}\nPORT=2\n`);
  const thread = join(world.home, "sessions", String(log(world)[0]!["id"]));
  const files = readdirSync(thread, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const holding = files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => readFileSync(file, "latin1").includes(key));
  expect(holding.map((file) => [file.includes("/blobs/"), statSync(file).mode & 0o777])).toEqual([[true, 0o600]]);
});

it("of long output the model gets head and tail, and all of it is kept for it to read", async () => {
  const all = `${Array.from({ length: 100_000 }, (_, index) => index + 1).join("\n")}\n`;
  const path = `blob:${createHash("sha256").update(all).digest("hex")}`;
  const { server, world, lines } = await turn([shell("seq 1 100000", "long"), { name: "read_file", arguments: { path, offset: 50_000, limit: 40_000 }, id: "read" }], ["-s", "read-only"]);
  const [read] = told(server, "read");
  expect(read).toMatch(/^50000\t50000\n50001\t50001\n[^]*\n\[… more lines follow: go on with offset \d+ …\]$/u);
  expect(read).not.toContain("left out");
  const [output] = told(server, "long");
  expect(output).toMatch(/^Exit code: 0\nWall time: .*\nOutput:\n1\n2\n3\n[^]*left out; read_file "blob:[0-9a-f]{64}" has it all[^]*\n99999\n100000\n$/u);
  expect(output!.length).toBeLessThan(42_000);
  const ended = log(world).find(({ type }) => type === "call.ended") as { full: { sha256: string; bytes: number } } | undefined;
  expect(ended!.full.bytes).toBe(all.length);
  const blob = readFileSync(join(world.home, "sessions", "active", "blobs", ended!.full.sha256), "utf8");
  expect(blob === all).toBe(true);
  expect(itemsOf(lines).findLast(({ type }) => type === "command_execution")).toMatchObject({ status: "completed", exit_code: 0 });
});

it.each(MODES)("in %s a command that takes too long is ended with everything that it started", async (mode) => {
  const { server, world, lines } = await turn([{ name: "exec_command", arguments: { cmd: "echo begun; sleep 100 & setsid sleep 100 & sleep 100", timeout_ms: 1500 }, id: "slow" }], ["-s", mode]);
  expect(told(server, "slow")[0]).toMatch(/^Exit code: 124\nWall time: .*\nNote: timed out after 1500 ms; the command and (?:everything that it started|all of its processes that could be found) were ended\.\nOutput:\nbegun\n$/u);
  expect(itemsOf(lines).findLast(({ type }) => type === "command_execution")).toMatchObject({ status: "failed", exit_code: 124, aggregated_output: "begun\n" });
  await until(() => readdirSync("/proc").every((pid) => !/^\d+$/u.test(pid) || folderOf(pid) !== world.project));
});

function folderOf(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

it("--add-dir is writable for commands and patches, also in a thread that is resumed, and nothing else is", async () => {
  const write = (name: string): Call[] => [shell(`echo made > ../more/${name}`, `${name}-command`), { name: "apply_patch", arguments: { input: `*** Begin Patch\n*** Add File: ../more/${name}.patch\n+made\n*** End Patch\n` }, id: `${name}-patch` }, shell(`echo made > ../other/${name}`, `${name}-other`)];
  const { world } = await scene([{ text: "", calls: write("one") }, { text: "Done." }, { text: "", calls: write("two") }, { text: "Done." }]);
  for (const folder of ["more", "other"]) mkdirSync(join(world.root, folder));
  expect((await run(world, ["exec", "-s", "workspace-write", "--add-dir", "../more", "go"])).code).toBe(0);
  expect((await run(world, ["exec", "resume", "--last", "again"])).code).toBe(0);
  expect([readdirSync(join(world.root, "more")).toSorted(), readdirSync(join(world.root, "other"))]).toEqual([["one", "one.patch", "two", "two.patch"], []]);
});
