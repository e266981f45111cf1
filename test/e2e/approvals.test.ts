/** Approvals with a person, through the built package, its socket and the scripted model. */
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/protocol/json.ts";
import type { ModelServer } from "../model-server/server.ts";
import { person, type Person } from "./person.ts";
import { scene } from "./scene.ts";
import { contentOf, log, shell, until } from "./skein.ts";
import { outputOf } from "./told.ts";

const EVERYTHING = join(dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")), "dist", "index.js");

/** Tools of a server that is late join at the next turn: says "go" until a request has them; the number of that turn. */
async function goUntil(me: Person, server: ModelServer, has: (body: Body) => boolean): Promise<number> {
  for (let turn = 1; ; turn++) {
    await me.say("go");
    await server.waitForRequest(turn - 1);
    if (has(server.requests[turn - 1]!.body as Body)) return turn;
    await me.ended(turn);
  }
}
interface Body {
  tools: { name: string }[];
}
const hasTool = (tool: string) => (body: Body) => body.tools.some(({ name }) => name === tool);

describe("what a person is asked", () => {
  it.each([
    ["untrusted", ["touch a.txt", "curl --version"]],
    ["on-request", []],
    ["on-failure", []],
    ["never", []],
  ])("%s: looking is not asked about; of the rest, what the policy says", async (approval, expected) => {
    const { world } = await scene([{ text: "I go.", calls: [shell("ls -a", "c1"), shell("touch a.txt", "c2"), shell("git status --short", "c3"), shell("curl --version", "c4")] }, { text: "Done." }]);
    const me = await person(world, { approval, sandbox: "workspace-write" });
    expect(me.socketMode).toBe(0o600);
    await me.say("go");
    const shown: Json[] = [];
    for (const _ of expected) shown.push((await me.answer({ decision: "yes" })).body["shown"]!);
    expect(await me.ended()).toBe("completed");
    expect(shown).toEqual(expected.map((command) => ({ kind: "command", command, cwd: world.project })));
    expect(existsSync(join(world.project, "a.txt"))).toBe(true);
  });

  it("is the exact command, why, where it would run, what a session's yes would cover and until when", async () => {
    const { server, world } = await scene([{ text: "I go.", calls: [shell("touch a.txt && rm -f b.txt", "c1")] }, { text: "Fine." }]);
    const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
    await me.say("go");
    const { kind, body } = await me.answer({ decision: "no", reason: "not now" });
    expect([kind, body]).toEqual([
      "approval",
      {
        shown: { kind: "command", command: "touch a.txt && rm -f b.txt", cwd: world.project },
        why: "it is not known to be safe",
        sandbox: "workspace-write",
        grant: { keys: [JSON.stringify(["argv", world.project, "touch", "a.txt"]), JSON.stringify(["argv", world.project, "rm", "-f", "b.txt"])], text: `exactly this, in ${world.project}: touch a.txt; rm -f b.txt`, sandbox: "workspace-write" },
        expires: "when this process closes the thread, or when it is revoked",
      },
    ]);
    expect(await me.ended()).toBe("completed");
    expect(outputOf(server, "c1")).toBe("Not run: the user did not allow it. The user said: not now Do not try it in another form.");
    expect(existsSync(join(world.project, "a.txt"))).toBe(false);
  });

  it("is the diff of a patch", async () => {
    const input = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
    const { world } = await scene([{ text: "I go.", calls: [{ name: "apply_patch", arguments: { input }, id: "c1" }] }, { text: "Fine." }]);
    writeFileSync(join(world.project, "a.txt"), "one\n");
    const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
    await me.say("go");
    const { body } = await me.answer({ decision: "yes" });
    expect(body["shown"]).toEqual({ kind: "patch", diff: "--- a.txt\n+++ a.txt\n@@ -1,1 +1,1 @@\n-one\n+two", paths: ["a.txt"] });
    expect(body["grant"]).toEqual({ keys: [`write:${world.project}`], text: `changes to files in ${world.project}`, sandbox: "workspace-write" });
    expect(await me.ended()).toBe("completed");
    expect(readFileSync(join(world.project, "a.txt"), "utf8")).toBe("two\n");
  });
});

it("a yes for the session is listed, covers the same again, is revoked, and then it is asked about again", async () => {
  const again = (id: string) => ({ text: "", calls: [shell("touch a.txt", id)] });
  const { world } = await scene([again("c1"), again("c2"), { text: "One." }, again("c3"), { text: "Two." }]);
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await me.say("go");
  await me.answer({ decision: "session" });
  expect(await me.ended()).toBe("completed");
  const { grants } = await me.client.call("thread/status", { thread: me.thread });
  expect(grants).toEqual([{ grant: expect.any(String) as string, text: `exactly this, in ${world.project}: touch a.txt`, sandbox: "workspace-write" }]);
  expect(log(world).filter(({ type }) => type === "grant.added")).toMatchObject([{ grant: grants[0]!.grant }]);
  await me.do({ type: "revoke_grant", grant: grants[0]!.grant });
  expect((await me.client.call("thread/status", { thread: me.thread })).grants).toEqual([]);
  await me.say("again");
  expect((await me.answer({ decision: "no" })).body["shown"]).toMatchObject({ command: "touch a.txt" });
  expect(await me.ended(2)).toBe("completed");
  expect(log(world).filter(({ type }) => type === "call.started").length).toBe(2);
});

it("an interrupt ends the waiting, and nothing is run", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("touch a.txt", "c1")] }, { text: "Back." }]);
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await me.say("go");
  const { id } = await me.asked();
  await me.do({ type: "interrupt" });
  expect(await me.ended()).toBe("cancelled");
  await expect(me.do({ type: "answer", ask: id, answer: { decision: "yes" } })).rejects.toThrow();
  await me.say("well?");
  expect(await me.ended(2)).toBe("completed");
  expect(outputOf(server, "c1")).toBe("Not run: the turn ended before this call was started.");
  expect(existsSync(join(world.project, "a.txt"))).toBe(false);
});

it("killed while a question is open, it is asked again after resume, and the answer works; a session's yes is gone", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("touch first", "c1")] }, { text: "", calls: [shell("echo ran >> second", "c2")] }, { text: "", calls: [shell("touch first", "c3")] }, { text: "Done." }]);
  const before = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await before.say("go");
  await before.answer({ decision: "session" });
  const first = await before.asked();
  before.child.kill("SIGKILL");
  await new Promise((settle) => before.child.once("close", settle));
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write", resume: before.thread });
  expect((await me.client.call("thread/status", { thread: me.thread })).grants).toEqual([]);
  const second = await me.answer({ decision: "yes" });
  expect(second.body["shown"]).toEqual(first.body["shown"]);
  expect((await me.answer({ decision: "no" })).body["shown"]).toMatchObject({ command: "touch first" });
  expect(await me.ended()).toBe("completed");
  expect(readFileSync(join(world.project, "second"), "utf8")).toBe("ran\n");
  expect(outputOf(server, "c2")).toContain("Exit code: 0");
});

describe("what the sandbox stood in the way of", () => {
  const CMD = "echo tried >> inside; echo out > ../outside";

  it.each(["on-request", "on-failure"])("%s: a yes runs it outside, once", async (approval) => {
    const { server, world } = await scene([{ text: "", calls: [shell(CMD, "c1")] }, { text: "Done." }]);
    const me = await person(world, { approval, sandbox: "workspace-write" });
    await me.say("go");
    const { kind, body } = await me.answer({ decision: "yes" });
    const path = join(world.root, "outside");
    expect([kind, body["why"], body["denied"], body["sandbox"]]).toEqual(["escalation", `the sandbox kept it from writing ${path}`, { what: `writing ${path}`, path }, "danger-full-access"]);
    expect(await me.ended()).toBe("completed");
    expect([readFileSync(join(world.project, "inside"), "utf8"), readFileSync(join(world.root, "outside"), "utf8")]).toEqual(["tried\ntried\n", "out\n"]);
    expect(outputOf(server, "c1")).toMatch(/^Exit code: 0\n/u);
    expect(log(world).filter(({ type }) => type === "call.started").map(({ envelope }) => envelope)).toEqual([{ cwd: world.project, sandbox: "workspace-write" }, { cwd: world.project, sandbox: "danger-full-access" }]);
  });

  it("a no keeps what came of it inside; with never nobody is asked", async () => {
    const { server, world } = await scene([{ text: "", calls: [shell(CMD, "c1")] }, { text: "One." }, { text: "", calls: [shell(CMD, "c2")] }, { text: "Two." }]);
    const me = await person(world, { approval: "on-request", sandbox: "workspace-write" });
    await me.say("go");
    await me.answer({ decision: "no", reason: "stay inside" });
    expect(await me.ended()).toBe("completed");
    expect(outputOf(server, "c1")).toMatch(/^Exit code: 1\n[^]*Read-only file system\n\nThe user did not allow it to run outside the sandbox\. The user said: stay inside$/u);
    await me.do({ type: "override_settings", settings: { approval_policy: "never" } });
    await me.say("again");
    expect(await me.ended(2)).toBe("completed");
    expect([existsSync(join(world.root, "outside")), readFileSync(join(world.project, "inside"), "utf8")]).toEqual([false, "tried\ntried\n"]);
  });

  it("a yes for the session covers the same again, outside at once, and nothing else", async () => {
    const { world } = await scene([{ text: "", calls: [shell("cp a ../outside", "c1")] }, { text: "", calls: [shell("cp a ../outside", "c2")] }, { text: "", calls: [shell("cp a ../other", "c3")] }, { text: "Done." }]);
    writeFileSync(join(world.project, "a"), "");
    const me = await person(world, { approval: "on-request", sandbox: "workspace-write" });
    await me.say("go");
    await me.answer({ decision: "session" });
    expect((await me.answer({ decision: "no" })).body["shown"]).toMatchObject({ command: "cp a ../other" });
    expect(await me.ended()).toBe("completed");
    const started = log(world).filter(({ type }) => type === "call.started") as unknown as { call: string; envelope: { sandbox: string } }[];
    expect(started.map(({ call, envelope }) => `${call} ${envelope.sandbox}`)).toEqual(["c1 workspace-write", "c1 danger-full-access", "c2 danger-full-access", "c3 workspace-write"]);
  });

  it("a command in the background and a patch are asked about as well, and a yes is kept with what it changed", async () => {
    const outside = { name: "exec_command", arguments: { cmd: "cp a ../from-command", yield_time_ms: 10_000 }, id: "c1" };
    const patch = { name: "apply_patch", arguments: { input: "*** Begin Patch\n*** Update File: ../known\n@@\n-one\n+two\n*** Add File: .git/hooks/x\n+x\n*** End Patch\n" }, id: "c2" };
    const { server, world } = await scene([{ text: "", calls: [outside] }, { text: "", calls: [patch] }, { text: "Done." }]);
    for (const file of [join(world.project, "a"), join(world.root, "known")]) writeFileSync(file, "one\n");
    const me = await person(world, { approval: "on-request", sandbox: "workspace-write" });
    await me.say("go");
    expect(await me.answer({ decision: "yes" })).toMatchObject({ kind: "escalation", body: { denied: { path: join(world.root, "from-command") } } });
    const { kind, body } = await me.answer({ decision: "yes" });
    expect([kind, body["why"], body["shown"]]).toMatchObject(["approval", expect.stringContaining("../known lies outside"), { kind: "patch", paths: ["../known", ".git/hooks/x"] }]);
    expect(await me.ended()).toBe("completed");
    expect([outputOf(server, "c2"), readFileSync(join(world.root, "known"), "utf8"), existsSync(join(world.root, "from-command"))]).toEqual(["M ../known\nA .git/hooks/x", "two\n", true]);
    expect(log(world).filter(({ type }) => type === "file.changed").map(({ path }) => path)).toEqual([join(world.root, "known"), join(world.project, ".git/hooks/x")]);
  });

  it.each(["on-request", "on-failure", "untrusted"])("%s: the model may ask for it beforehand, with its reason", async (approval) => {
    const outside = { name: "exec_command", arguments: { cmd: "echo out > ../outside", sandbox_permissions: "require_escalated", justification: "The file belongs there." }, id: "c1" };
    const { world } = await scene([{ text: "", calls: [outside] }, { text: "Done." }]);
    const me = await person(world, { approval, sandbox: "read-only" });
    await me.say("go");
    const { kind, body } = await me.answer({ decision: "yes" });
    expect([kind, body["why"], body["sandbox"]]).toEqual(["approval", "it would run outside the sandbox: The file belongs there.", "danger-full-access"]);
    expect(await me.ended()).toBe("completed");
    expect(readFileSync(join(world.root, "outside"), "utf8")).toBe("out\n");
    expect(log(world).filter(({ type }) => type === "call.started").length).toBe(1);
  });
});

it("killed while it is asked whether to run outside, the question comes again, and yes runs it there once", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("echo tried >> inside; cp inside ../outside", "c1")] }, { text: "Done." }]);
  const before = await person(world, { approval: "on-request", sandbox: "workspace-write" });
  await before.say("go");
  await before.asked();
  before.child.kill("SIGKILL");
  await new Promise((settle) => before.child.once("close", settle));
  const me = await person(world, { approval: "on-request", sandbox: "workspace-write", resume: before.thread });
  expect(await me.answer({ decision: "yes" })).toMatchObject({ kind: "escalation", body: { denied: { path: join(world.root, "outside") } } });
  expect(await me.ended()).toBe("completed");
  expect([outputOf(server, "c1"), readFileSync(join(world.root, "outside"), "utf8")]).toEqual([expect.stringMatching(/^Exit code: 0/u), "tried\ntried\n"]);
});

it("killed while a command runs that was allowed, it is not run again: the model is told that nobody knows what came of it", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("echo ran >> times; sleep 100", "c1")] }, { text: "Done." }]);
  const before = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await before.say("go");
  await before.answer({ decision: "yes" });
  await until(() => contentOf(join(world.project, "times")) === "ran\n");
  before.child.kill("SIGKILL");
  await new Promise((settle) => before.child.once("close", settle));
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write", resume: before.thread });
  await me.do({ type: "continue" });
  expect(await me.ended()).toBe("completed");
  expect(readFileSync(join(world.project, "times"), "utf8")).toBe("ran\n");
  expect(outputOf(server, "c1")).toBe("The process that ran this call ended before the call did: outcome unknown. It was not run again. Check its effects before you repeat it.");
});

it("what a command looks at is seen beside it", async () => {
  const { world } = await scene([{ text: "", calls: [shell("rg -n needle src | head -5 && sed -n 1,5p src/a.ts", "c1"), shell("rm -rf x", "c2")] }, { text: "Done." }]);
  mkdirSync(join(world.project, "src"));
  writeFileSync(join(world.project, "src", "a.ts"), "needle\n");
  const me = await person(world, { approval: "on-request", sandbox: "read-only" });
  await me.say("go");
  expect(await me.ended()).toBe("completed");
  const seen = me.events.filter((event) => event.type === "item/commandExecution/explored");
  expect(seen.map(({ item_id, actions }) => ({ item_id, actions }))).toEqual([{ item_id: "c1", actions: [{ type: "search", query: "needle", path: "src" }, { type: "read", path: "src/a.ts" }] }]);
});

describe("tools of an MCP server", () => {

  it("are asked about where the user wants that, with their arguments; a yes for the session is for the tool; what the server asks reaches the user", async () => {
    const replies = [
      { text: "", calls: [{ name: "mcp__every__echo", arguments: { message: "one" }, id: "c1" }] },
      { text: "", calls: [{ name: "mcp__every__echo", arguments: { message: "two" }, id: "c2" }] },
      { text: "", calls: [{ name: "mcp__every__trigger-elicitation-request", arguments: {}, id: "c3" }] },
    ];
    const isThere = hasTool("mcp__every__echo");
    const { server, world } = await scene(({ body }) => (isThere(body as Body) ? replies.shift() : undefined) ?? { text: "Done." });
    mkdirSync(world.home);
    writeFileSync(join(world.home, "config.toml"), `[mcp_servers.every]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(EVERYTHING)}, "stdio"]\n[mcp_servers.every.tools.echo]\napproval_mode = "prompt"\n`);
    const me = await person(world, { approval: "on-request", sandbox: "workspace-write" });
    const turn = await goUntil(me, server, isThere);
    const { body } = await me.answer({ decision: "session" });
    expect([body["shown"], body["why"], body["grant"]]).toEqual([
      { kind: "tool", tool: "mcp__every__echo", arguments: { message: "one" } },
      "a rule of the configuration says to ask",
      { keys: ["tool:mcp__every__echo"], text: 'the tool "echo" of the MCP server "every"', sandbox: "workspace-write" },
    ]);
    const question = await me.answer({ action: "accept", content: { name: "Ada" } });
    expect([question.kind, question.body]).toEqual(["elicitation", expect.objectContaining({ kind: "elicitation", server: "every", message: expect.any(String) as string })]);
    expect(await me.ended(turn)).toBe("completed");
    expect([outputOf(server, "c1"), outputOf(server, "c2"), outputOf(server, "c3")]).toEqual(["Echo: one", "Echo: two", expect.stringContaining("- Name: Ada")]);
  });
});

it("several questions may be open at once and are answered in any order; each call goes its own way", async () => {
  const calls = ["one", "two", "three"].map((message) => ({ name: "mcp__every__echo", arguments: { message }, id: message }));
  let done = false;
  const { server, world } = await scene(({ body }) => {
    if (done || !hasTool("mcp__every__echo")(body as Body)) return { text: "Done." };
    done = true;
    return { text: "", calls };
  });
  mkdirSync(world.home);
  writeFileSync(join(world.home, "config.toml"), `[mcp_servers.every]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(EVERYTHING)}, "stdio"]\ndefault_tools_approval_mode = "prompt"\n`);
  const me = await person(world, { approval: "on-request", sandbox: "workspace-write" });
  const turn = await goUntil(me, server, hasTool("mcp__every__echo"));
  const asked = [await me.asked(), await me.asked(), await me.asked()];
  expect(asked.map(({ body }) => (body["shown"] as { arguments: { message: string } }).arguments.message)).toEqual(["one", "two", "three"]);
  for (const [index, decision] of [[2, "yes"], [0, "no"], [1, "yes"]] as const) await me.do({ type: "answer", ask: asked[index]!.id, answer: { decision } });
  expect(await me.ended(turn)).toBe("completed");
  expect(["one", "two", "three"].map((id) => outputOf(server, id))).toEqual([expect.stringContaining("Not run"), "Echo: two", "Echo: three"]);
});

it("killed while a tool that runs asks something, the question is gone after resume, and the model is told that nobody knows what came of the call", async () => {
  const isThere = hasTool("mcp__every__trigger-elicitation-request");
  let asks = 0;
  const { server, world } = await scene(({ body }) => (isThere(body as Body) && asks++ === 0 ? { text: "", calls: [{ name: "mcp__every__trigger-elicitation-request", arguments: {}, id: "c1" }] } : { text: "Done." }));
  mkdirSync(world.home);
  writeFileSync(join(world.home, "config.toml"), `[mcp_servers.every]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(EVERYTHING)}, "stdio"]\n`);
  const before = await person(world, { approval: "on-request", sandbox: "workspace-write" });
  await goUntil(before, server, isThere);
  expect((await before.asked()).kind).toBe("elicitation");
  before.child.kill("SIGKILL");
  await new Promise((settle) => before.child.once("close", settle));
  const me = await person(world, { resume: before.thread });
  expect((await me.client.call("thread/status", { thread: me.thread })).asks).toEqual([]);
  await me.do({ type: "continue" });
  await until(() => server.requests.at(-1)!.raw.includes("outcome unknown"));
  expect(outputOf(server, "c1")).toContain("outcome unknown");
});

describe("rules of the configuration", () => {
  const RULES = `
[[rules]]
argv_prefix = ["touch", "allowed"]
decision = "allow"
[[rules]]
argv_prefix = ["date"]
decision = "ask"
[[rules]]
argv_prefix = ["git", "push"]
decision = "deny"
`;
  it("allow runs without a question, ask asks, deny denies, whatever the policy", async () => {
    const { server, world } = await scene([{ text: "", calls: [shell("touch allowed", "c1"), shell("date", "c2"), shell("sh -c 'git push --force'", "c3"), { name: "shell", arguments: { command: ["git", "push"] }, id: "c4" }] }, { text: "Done." }]);
    mkdirSync(world.home);
    writeFileSync(join(world.home, "config.toml"), RULES);
    const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
    await me.say("go");
    expect((await me.answer({ decision: "yes" })).body).toMatchObject({ shown: { command: "date" }, why: "a rule of the configuration says to ask" });
    expect(await me.ended()).toBe("completed");
    expect(existsSync(join(world.project, "allowed"))).toBe(true);
    const denied = "Not run: a rule of the configuration denies it. Do not try it in another form.";
    expect([outputOf(server, "c3"), outputOf(server, "c4")]).toEqual([denied, denied]);
  });
});

it("a rule that came while the question was open binds, whatever the answer", async () => {
  const { server, world } = await scene([{ text: "", calls: [shell("touch a.txt", "c1")] }, { text: "Done." }]);
  const before = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await before.say("go");
  await before.asked();
  before.child.kill("SIGKILL");
  await new Promise((settle) => before.child.once("close", settle));
  writeFileSync(join(world.home, "config.toml"), '[[rules]]\nargv_prefix = ["touch"]\ndecision = "deny"\n');
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write", resume: before.thread });
  await me.answer({ decision: "yes" });
  expect(await me.ended()).toBe("completed");
  expect([outputOf(server, "c1"), existsSync(join(world.project, "a.txt"))]).toEqual(["Not run: a rule of the configuration denies it. Do not try it in another form.", false]);
});

it("what a rule denies is not typed into a shell either, and what a rule asks about is asked about there", async () => {
  let session = 0;
  const type = (chars: string, id: string) => ({ text: "", calls: [{ name: "write_stdin", arguments: { session_id: session, chars }, id }] });
  const { server, world } = await scene(({ body }, n) => {
    session ||= Number(/session ID (\d+)/u.exec(JSON.stringify(body.input))?.[1] ?? 0);
    const typed = [type("git push origin main\n", "c2"), type("date\n", "c3"), type("touch typed\n", "c4"), { text: "Done." }];
    return n === 0 ? { text: "", calls: [{ name: "exec_command", arguments: { cmd: "sh", stdin: true, yield_time_ms: 50 }, id: "c1" }] } : typed[n - 1]!;
  });
  mkdirSync(world.home);
  writeFileSync(join(world.home, "config.toml"), '[[rules]]\nargv_prefix = ["git", "push"]\ndecision = "deny"\n[[rules]]\nargv_prefix = ["date"]\ndecision = "ask"\n[[rules]]\nargv_prefix = ["touch"]\ndecision = "allow"\n');
  const me = await person(world, { approval: "on-request", sandbox: "workspace-write" });
  await me.say("go");
  expect((await me.answer({ decision: "yes" })).body["shown"]).toMatchObject({ command: "sh" });
  expect((await me.answer({ decision: "no" })).body["shown"]).toMatchObject({ command: "date\n" });
  expect(await me.ended()).toBe("completed");
  expect([outputOf(server, "c2"), outputOf(server, "c3")]).toEqual([expect.stringContaining("a rule of the configuration denies it"), expect.stringContaining("the user did not allow it")]);
  await until(() => existsSync(join(world.project, "typed")));
});

describe("the user's own command", () => {
  it("runs as the user, without a question, and the model is told with the next input", async () => {
    const { server, world } = await scene([{ text: "I see." }]);
    const me = await person(world, { approval: "untrusted", sandbox: "read-only" });
    await me.do({ type: "run_user_shell_command", call: "u1", command: "echo mine > ../mine; echo shown; exit 3" });
    const ended = () => me.events.find((event) => event.type === "item/completed" && event.item_id === "u1");
    await until(() => ended() !== undefined);
    expect(ended()).toMatchObject({ item_kind: "commandExecution", result: { status: "done", output: "shown\n", exit_code: 3 } });
    expect(readFileSync(join(world.root, "mine"), "utf8")).toBe("mine\n");
    await me.say("what did I do?");
    expect(await me.ended()).toBe("completed");
    const told = (server.requests[0]!.body.input as { content: { text: string }[] }[]).map(({ content }) => content[0]!.text).find((text) => text.startsWith("<user_shell_command>"));
    expect(told).toMatch(/^<user_shell_command>\n<command>\necho mine > \.\.\/mine; echo shown; exit 3\n<\/command>\n<result>\nExit code: 3\nWall time: .*\nOutput:\nshown\n\n<\/result>\n<\/user_shell_command>$/u);
  });

  it("is shown while it runs, ends by an interrupt with everything that it started, and dies with Skein", async () => {
    const { world } = await scene([]);
    const me = await person(world, { sandbox: "read-only" });
    const runs = () => existsSync(join(world.project, "on"));
    const command = "touch on; echo begun; sleep 100 & sleep 100";
    await me.do({ type: "run_user_shell_command", call: "u1", command });
    await until(() => me.events.some((event) => event.type === "item/commandExecution/outputDelta" && event.delta.includes("begun")));
    await me.do({ type: "interrupt" });
    await until(() => me.events.some((event) => event.type === "item/completed" && event.item_id === "u1"));
    await until(() => sleepersIn(world.project) === 0);
    rmSync(join(world.project, "on"));
    await me.do({ type: "run_user_shell_command", call: "u2", command });
    await until(runs);
    me.child.kill("SIGKILL");
    await until(() => sleepersIn(world.project) === 0);
  });
});

function sleepersIn(folder: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder && readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "sleep";
    } catch {
      return false;
    }
  }).length;
}

it("a secret in a command is not shown with the question, and the command has it all the same", async () => {
  const key = `sk-proj-${"a1B2".repeat(10)}`;
  const { world } = await scene([{ text: "", calls: [shell(`printf %s ${key} > key.txt`, "c1")] }, { text: "Done." }]);
  const me = await person(world, { approval: "untrusted", sandbox: "workspace-write" });
  await me.say("go");
  expect((await me.answer({ decision: "yes" })).body["shown"]).toMatchObject({ command: "printf %s [REDACTED:openai-key] > key.txt" });
  expect(await me.ended()).toBe("completed");
  expect(readFileSync(join(world.project, "key.txt"), "utf8")).toBe(key);
  expect([JSON.stringify(me.events).includes(key), JSON.stringify(log(world)).includes(key)]).toEqual([false, false]);
});
