import { describe, expect, it } from "vitest";
import type { Json } from "../../src/protocol/json.ts";
import { textOf } from "../../src/protocol/item.ts";
import type { ApprovalPolicy, SandboxMode } from "../../src/protocol/record.ts";
import { visible } from "../../src/core/history.ts";
import type { Assessment, Tool, ToolOutcome } from "../../src/core/tool.ts";
import { createThreads } from "../../src/runtime/threads.ts";
import type { Session } from "../../src/runtime/session.ts";
import { ask, collect, createHost, eventually, input, op, records, say, SETTINGS, turnEnds } from "./given.ts";

/** A tool that notes where it ran, and says what the test wants of each run. */
function doer(assess: Partial<Assessment> = {}, outcome: (sandbox: SandboxMode) => ToolOutcome = () => ({ status: "done", output: "did it" })) {
  const runs: string[] = [];
  const tool: Tool = {
    name: "do",
    description: "do",
    parameters: { type: "object" },
    effect: "exec",
    assess: async (given) => ({ safe: false, rule: null, outside: null, shown: { kind: "tool", tool: "do", arguments: given as Json }, grant: { keys: [`do ${JSON.stringify(given)}`], text: "do" }, ...assess }),
    async run(given, host) {
      runs.push(`${(given as { what?: string }).what ?? "it"} in ${host.sandbox}`);
      return outcome(host.sandbox);
    },
  };
  return { tool, runs };
}

async function start(given: { tool: Tool; samples: ReturnType<typeof say>[][]; policy?: ApprovalPolicy; sandbox?: SandboxMode }) {
  const host = createHost({ samples: given.samples, tools: [given.tool] });
  const threads = createThreads(host);
  const settings = { ...SETTINGS, approval_policy: given.policy ?? "untrusted", sandbox_mode: given.sandbox ?? "read-only" };
  return { host, threads, session: await threads.start({ source: "interactive", settings }) };
}

async function asked(session: Session): Promise<{ ask: string; body: Json; kind: string }> {
  await eventually(() => session.state.talk.asks.some((open) => open.answer === undefined));
  return session.state.talk.asks.find((open) => open.answer === undefined)!;
}
const answer = async (session: Session, decision: Json) => session.submit(op({ type: "answer", ask: (await asked(session)).ask, answer: decision }));
const outputs = (session: Session) => visible(session.state.history).map(({ item }) => item).filter((item) => item.type === "function_call_output").map(textOf);

describe("a call that must be asked about", () => {
  it("waits for the answer, and runs once when it is yes", async () => {
    const { tool, runs } = doer();
    const { session } = await start({ tool, samples: [[ask("a", "do", { what: "this" })], [say("Done.")]] });
    await session.submit(input("go"));
    expect((await asked(session)).body).toEqual({
      shown: { kind: "tool", tool: "do", arguments: { what: "this" } },
      why: "it is not known to be safe",
      sandbox: "read-only",
      grant: { keys: ['do {"what":"this"}'], text: "do", sandbox: "read-only" },
      expires: "when this process closes the thread, or when it is revoked",
    });
    expect(runs).toEqual([]);
    await answer(session, { decision: "yes" });
    await turnEnds(session);
    expect([runs, outputs(session), session.state.talk.asks]).toEqual([["this in read-only"], ["did it"], []]);
  });

  it("is not run when the answer is no, and the model is told why", async () => {
    const { tool, runs } = doer();
    const { session } = await start({ tool, samples: [[ask("a", "do")], [say("Fine.")]] });
    await session.submit(input("go"));
    await answer(session, { decision: "no", reason: "use the other one" });
    await turnEnds(session);
    expect([runs, outputs(session)]).toEqual([[], ["Not run: the user did not allow it. The user said: use the other one Do not try it in another form."]]);
  });

  it("allowed for the session, is not asked about again, until that is revoked; another one is", async () => {
    const { tool, runs } = doer();
    const samples = [[ask("a", "do")], [ask("b", "do")], [ask("c", "do", { what: "other" })], [say("One.")], [ask("d", "do")], [say("Two.")]];
    const { session } = await start({ tool, samples });
    await session.submit(input("go"));
    await answer(session, { decision: "session" });
    await answer(session, { decision: "no" });
    await turnEnds(session);
    expect(runs).toEqual(["it in read-only", "it in read-only"]);
    const [grant] = session.state.thread.grants;
    await session.submit(op({ type: "revoke_grant", grant: grant!.grant }));
    expect(await session.submit(op({ type: "revoke_grant", grant: grant!.grant }))).toMatchObject({ ok: false, refusal: { code: "not_found" } });
    await session.submit(input("again"));
    await answer(session, "no");
    await turnEnds(session, 2);
    expect(runs.length).toBe(2);
  });

  it("is asked about again after a restart, and answered there; what was allowed for the session before is not any more", async () => {
    const { tool, runs } = doer();
    const { host, threads, session } = await start({ tool, samples: [[ask("a", "do")], [ask("b", "do", { what: "b" })], [say("Done.")]] });
    await session.submit(input("go"));
    await answer(session, { decision: "session" });
    await asked(session);
    await threads.close(session.thread, "test");
    const resumed = await createThreads(host).resume(session.thread);
    if (!resumed.ok) throw new Error(resumed.refusal.message);
    expect(resumed.session.state.thread.grants).toEqual([]);
    expect(runs).toEqual(["it in read-only"]);
    await answer(resumed.session, { decision: "yes" });
    await turnEnds(resumed.session);
    expect(runs).toEqual(["it in read-only", "b in read-only"]);
  });

  it("can be interrupted while it waits", async () => {
    const { tool, runs } = doer();
    const { session } = await start({ tool, samples: [[ask("a", "do")], [say("Back.")]] });
    await session.submit(input("go"));
    await asked(session);
    await session.submit(op({ type: "interrupt" }));
    await turnEnds(session);
    expect([runs, outputs(session), session.state.talk.lastTurn?.status]).toEqual([[], ["Not run: the turn ended before this call was started."], "cancelled"]);
  });

  it("is refused where nobody is asked", async () => {
    const { tool, runs } = doer({ outside: "it needs the network" });
    const { session } = await start({ tool, policy: "never", samples: [[ask("a", "do")], [say("Fine.")]] });
    await session.submit(input("go"));
    await turnEnds(session);
    expect(runs).toEqual([]);
    expect(outputs(session)[0]).toContain("nobody is asked here");
  });
});

describe("a call that the sandbox stood in the way of", () => {
  const blocked = (sandbox: SandboxMode): ToolOutcome =>
    sandbox === "danger-full-access" ? { status: "done", output: "wrote it", exit: 0 } : { status: "done", output: "no", exit: 1, denied: { what: "writing /etc/x", path: "/etc/x" } };

  it("is run outside when the user says so: two starts, one end", async () => {
    const { tool, runs } = doer({}, blocked);
    const { host, session } = await start({ tool, policy: "on-failure", samples: [[ask("a", "do")], [say("Done.")]] });
    await session.submit(input("go"));
    const { kind, body } = await asked(session);
    expect([kind, body]).toEqual([
      "escalation",
      {
        shown: { kind: "tool", tool: "do", arguments: {} },
        why: "the sandbox kept it from writing /etc/x",
        sandbox: "danger-full-access",
        grant: { keys: ["do {}"], text: "do", sandbox: "danger-full-access" },
        expires: "when this process closes the thread, or when it is revoked",
        denied: { what: "writing /etc/x", path: "/etc/x" },
        outcome: { status: "done", output: "no", exit: 1 },
      },
    ]);
    await answer(session, { decision: "yes" });
    await turnEnds(session);
    const log = await records(host.store, session.thread);
    expect([runs, outputs(session), log.filter(({ type }) => type === "call.started").length, log.filter(({ type }) => type === "call.ended").length]).toEqual([
      ["it in read-only", "it in danger-full-access"],
      ["wrote it"],
      2,
      1,
    ]);
  });

  it("keeps its first outcome when the user says no, or interrupts, or the process ends in between", async () => {
    const { tool, runs } = doer({}, blocked);
    const { host, threads, session } = await start({ tool, policy: "on-request", samples: [[ask("a", "do")], [ask("b", "do")], [ask("c", "do")], [say("Done.")]] });
    await session.submit(input("go"));
    await answer(session, { decision: "no", reason: "leave it" });
    await eventually(() => session.state.talk.asks.some((open) => open.call === "b"));
    await threads.close(session.thread, "test");
    const resumed = await createThreads(host).resume(session.thread);
    if (!resumed.ok) throw new Error(resumed.refusal.message);
    await answer(resumed.session, { decision: "no" });
    await eventually(() => resumed.session.state.talk.asks.some((open) => open.call === "c"));
    await resumed.session.submit(op({ type: "interrupt" }));
    await turnEnds(resumed.session);
    expect([runs.length, outputs(resumed.session)]).toEqual([
      3,
      ["no\nThe user did not allow it to run outside the sandbox. The user said: leave it", "no\nThe user did not allow it to run outside the sandbox.", "no"],
    ]);
  });
});

describe("a call that held a secret", () => {
  const KEY = `sk-${"a".repeat(40)}`;
  it("runs with what the model sent, while the log has it redacted", async () => {
    const { tool, runs } = doer({ safe: true });
    const { host, session } = await start({ tool, samples: [[ask("a", "do", { what: KEY })], [say("Done.")]] });
    await session.submit(input("go"));
    await turnEnds(session);
    expect(runs).toEqual([`${KEY} in read-only`]);
    expect(JSON.stringify(await records(host.store, session.thread))).not.toContain(KEY);
  });

  it("is not run by a later process, which does not have the secret", async () => {
    const { tool, runs } = doer();
    const { host, threads, session } = await start({ tool, samples: [[ask("a", "do", { what: KEY })], [say("Done.")]] });
    await session.submit(input("go"));
    await asked(session);
    await threads.close(session.thread, "test");
    const resumed = await createThreads(host).resume(session.thread);
    if (!resumed.ok) throw new Error(resumed.refusal.message);
    await answer(resumed.session, { decision: "yes" });
    await turnEnds(resumed.session);
    expect([runs, outputs(resumed.session)]).toEqual([[], ["Not run: this call held a secret, which is not kept, and the process that received it has ended. Issue it again."]]);
  });
});

it("a tool that asks while it runs gets the user's answer", async () => {
  const tool: Tool = { name: "do", description: "", parameters: {}, effect: "exec", run: async (_input, host) => ({ status: "done", output: JSON.stringify(await host.ask({ message: "Which?" })) }) };
  const { session } = await start({ tool, samples: [[ask("a", "do")], [say("Done.")]] });
  await session.submit(input("go"));
  expect(await asked(session)).toMatchObject({ kind: "elicitation", body: { message: "Which?" } });
  await answer(session, { action: "accept", content: { which: 2 } });
  await turnEnds(session);
  expect(outputs(session)).toEqual(['{"action":"accept","content":{"which":2}}']);
});

describe("the user's own command", () => {
  const shell: Tool = {
    name: "exec_command",
    description: "",
    parameters: {},
    effect: "exec",
    async run(given, host) {
      host.emit({ stream: "stdout", text: "hi\n" });
      if ((given as { cmd: string }).cmd === "hang") await new Promise((resolve) => host.signal.addEventListener("abort", resolve));
      return { status: "done", exit: 0, output: `Exit code: 0\nWall time: 0.0 seconds\nOutput:\n${(given as { cmd: string }).cmd} in ${host.sandbox}\n` };
    },
  };
  it("runs without a turn, outside the sandbox, is shown, and is told to the model with the next input", async () => {
    const { session } = await start({ tool: shell, samples: [[say("Seen.")]] });
    await session.submit(op({ type: "run_user_shell_command", call: "u1", command: "ls" }));
    const events = await collect(session, null, (event) => event.type === "item/completed");
    expect(events.map((event) => event.type)).toEqual(["session/configured", "item/started", "item/commandExecution/started", "item/commandExecution/outputDelta", "item/completed"]);
    expect(events.at(-1)).toMatchObject({ item_id: "u1", item_kind: "commandExecution", result: { status: "done", output: "ls in danger-full-access\n", exit_code: 0 } });
    await session.submit(input("what did I do?"));
    await turnEnds(session);
    expect(visible(session.state.history).map(({ item }) => textOf(item))).toEqual([
      "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nWall time: 0.0 seconds\nOutput:\nls in danger-full-access\n\n</result>\n</user_shell_command>",
      "what did I do?",
      "Seen.",
    ]);
  });

  it("beside an open call does not part the call from its output", async () => {
    let release = (): void => {};
    const slow: Tool = { name: "slow", description: "", parameters: {}, effect: "exec", run: () => new Promise((resolve) => (release = () => resolve({ status: "done", output: "slow" }))) };
    const host = createHost({ samples: [[ask("a", "slow")], [say("Done.")]], tools: [shell, slow] });
    const session = await createThreads(host).start({ source: "interactive", settings: SETTINGS });
    await session.submit(input("go"));
    await eventually(() => session.state.talk.turn?.calls[0]?.started === true);
    await session.submit(op({ type: "run_user_shell_command", call: "u1", command: "ls" }));
    await eventually(() => session.state.talk.requested === undefined);
    release();
    await turnEnds(session);
    expect(visible(session.state.history).map(({ item }) => item.type)).toEqual(["message", "function_call", "function_call_output", "message", "message"]);
  });

  it("is ended by an interrupt, and lost with its process", async () => {
    const { host, threads, session } = await start({ tool: shell, samples: [] });
    await session.submit(op({ type: "run_user_shell_command", call: "u1", command: "hang" }));
    await eventually(() => session.state.talk.requested?.[0]?.started === true);
    await session.submit(op({ type: "interrupt" }));
    await eventually(() => session.state.talk.requested === undefined);
    await threads.close(session.thread, "test");
    const types = (await records(host.store, session.thread)).map(({ type }) => type);
    expect(types.slice(2)).toEqual(["call.requested", "call.started", "turn.interrupted", "call.ended", "writer.closed"]);
  });
});

it("an output that is too long is cut in the middle, whoever made it, and kept in full", async () => {
  const tool: Tool = { name: "do", description: "", parameters: {}, effect: "read", run: async () => ({ status: "done", output: `first\n${"x".repeat(60_000)}\nlast` }) };
  const { host, session } = await start({ tool, samples: [[ask("a", "do")], [say("Done.")]] });
  await session.submit(input("go"));
  await turnEnds(session);
  const [told] = outputs(session);
  expect([told!.startsWith("first\n"), told!.endsWith("\nlast"), told!.length < 43_000]).toEqual([true, true, true]);
  expect(told).toMatch(/\[… \d+ characters left out; read_file "blob:[0-9a-f]{64}" has it all …\]/u);
  const { full } = (await records(host.store, session.thread)).find(({ type }) => type === "call.ended") as { full: { sha256: string; bytes: number } };
  expect(new TextDecoder().decode((await host.store.blobs.get(session.thread, full))!)).toBe(`first\n${"x".repeat(60_000)}\nlast`);
});
