import { describe, expect, it } from "vitest";
import { textOf } from "../../src/protocol/item.ts";
import { visible } from "../../src/core/history.ts";
import { ask, collect, createHost, eventually, heldTool, input, op, records, say, startSession, turnEnds } from "./given.ts";

const shown = (session: { state: { history: Parameters<typeof visible>[0] } }) => visible(session.state.history).map(({ item }) => `${item.type}:${textOf(item)}`);

describe("a turn", () => {
  it("runs reads together and a write alone, and gives outputs back in call order", async () => {
    const look = heldTool("look", "read");
    const write = heldTool("write", "write");
    const samples = [[ask("a", "look", { key: "a" }), ask("b", "look", { key: "b" }), ask("c", "write", { key: "c" })], [say("Done.")]];
    const { session } = await startSession(createHost({ samples, tools: [look.tool, write.tool] }));
    await session.submit(input("go"));
    await Promise.all([look.until("a"), look.until("b")]);
    expect(write.running.size).toBe(0);
    look.running.get("b")!.end("B");
    look.running.get("a")!.end("A");
    await write.until("c");
    write.running.get("c")!.end("C");
    await turnEnds(session);
    expect(shown(session)).toEqual(["message:go", "function_call:", "function_call:", "function_call:", "function_call_output:A", "function_call_output:B", "function_call_output:C", "message:Done."]);
  });

  it("takes a steering message before the next request, and a queued one as the next turn", async () => {
    const look = heldTool("look", "read");
    const samples = [[ask("a", "look")], [say("One.")], [say("Two.")]];
    const { session } = await startSession(createHost({ samples, tools: [look.tool] }));
    await session.submit(input("first"));
    await look.until("look");
    await session.submit(input("steered"));
    await session.submit(input("queued", "next"));
    look.running.get("look")!.end("seen");
    await turnEnds(session, 2);
    expect(shown(session)).toEqual(["message:first", "function_call:", "function_call_output:seen", "message:steered", "message:One.", "message:queued", "message:Two."]);
    expect(session.state.talk.turns).toBe(2);
  });

  it("changes and withdraws input that still waits, and refuses it afterwards", async () => {
    const look = heldTool("look", "read");
    const { session } = await startSession(createHost({ samples: [[ask("a", "look")], [say("One.")], [say("Two.")]], tools: [look.tool] }));
    await session.submit(input("first"));
    await look.until("look");
    const kept = input("old", "next");
    const dropped = input("dropped", "next");
    await session.submit(kept);
    await session.submit(dropped);
    await session.submit(op({ type: "change_input", input: kept.id, items: [{ type: "message", role: "user", content: [{ type: "input_text", text: "new" }] }] }));
    await session.submit(op({ type: "withdraw_input", input: dropped.id }));
    look.running.get("look")!.end("seen");
    await turnEnds(session, 2);
    expect(shown(session).filter((line) => line.startsWith("message"))).toEqual(["message:first", "message:One.", "message:new", "message:Two."]);
    expect(await session.submit(op({ type: "withdraw_input", input: kept.id }))).toMatchObject({ ok: false, refusal: { code: "not_found" } });
  });

  it("is interrupted while a tool runs: the tool is aborted, every call is answered, the next turn works", async () => {
    const write = heldTool("write", "write");
    const samples = [[ask("a", "write", { key: "a" }), ask("b", "write", { key: "b" })], [say("Back.")]];
    const host = createHost({ samples, tools: [write.tool] });
    const { session } = await startSession(host);
    await session.submit(input("go"));
    await write.until("a");
    await session.submit(op({ type: "interrupt" }));
    await turnEnds(session);
    expect(write.running.get("a")!.aborted).toBe(true);
    expect(write.running.has("b")).toBe(false);
    expect(session.state.talk.lastTurn).toMatchObject({ status: "cancelled" });
    await session.submit(input("again"));
    await turnEnds(session, 2);
    expect(shown(session).slice(3, 5)).toEqual(["function_call_output:aborted", "function_call_output:Not run: the turn ended before this call was started."]);
  });

  it("acts once on an op that is sent twice", async () => {
    const host = createHost({ samples: [[say("One.")], [say("Two.")]] });
    const { session } = await startSession(host);
    const once = input("hello");
    await session.submit(once);
    await turnEnds(session);
    expect(await session.submit(once)).toMatchObject({ ok: true });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await records(host.store, session.thread)).filter(({ type }) => type === "turn.started")).toHaveLength(1);
  });

  it("stays parked after it was left open, and goes on when it is continued", async () => {
    const look = heldTool("look", "read");
    const host = createHost({ samples: [[ask("a", "look")], [say("On I go.")]], tools: [look.tool] });
    const { threads, session } = await startSession(host);
    await session.submit(input("go"));
    await look.until("look");
    await threads.close(session.thread, "test");
    const again = await threads.resume(session.thread);
    if (!again.ok) throw new Error(again.refusal.message);
    expect(again.resumed.parked).not.toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(again.session.state.talk.turn).not.toBeNull();
    await again.session.submit(op({ type: "continue" }));
    await turnEnds(again.session);
    expect(again.session.state.talk.lastTurn).toMatchObject({ status: "completed" });
    expect(shown(again.session).at(-1)).toBe("message:On I go.");
  });
});

describe("rewind and fork", () => {
  const samples = [[say("One.")], [say("Two.")], [say("Three.")]];
  async function threeTurns() {
    const host = createHost({ samples });
    const started = await startSession(host);
    for (const [index, text] of ["first", "second", "third"].entries()) {
      await started.session.submit(input(text));
      await turnEnds(started.session, index + 1);
    }
    return { host, ...started };
  }
  const positionOf = async (host: ReturnType<typeof createHost>, thread: string, n: number) => Number((await records(host.store, thread)).filter(({ type }) => type === "turn.started")[n]!["seq"]);

  it("goes back in place, and can go forward again into what was left behind", async () => {
    const { host, session } = await threeTurns();
    const end = session.state.head;
    await session.submit(op({ type: "rewind", before: await positionOf(host, session.thread, 1) }));
    expect(shown(session)).toEqual(["message:first", "message:One."]);
    await session.submit(op({ type: "rewind", before: end }));
    expect(shown(session)).toEqual(["message:first", "message:One.", "message:second", "message:Two.", "message:third", "message:Three."]);
  });

  it("forks before the n-th message, at the end, and out of a range that was left behind", async () => {
    const { host, threads, session } = await threeTurns();
    const before = await positionOf(host, session.thread, 2);
    await session.submit(op({ type: "rewind", before: await positionOf(host, session.thread, 1) }));
    const out = await threads.fork({ thread: session.thread, source: "exec", before });
    if (!out.ok) throw new Error("refused");
    expect(shown(out.session)).toEqual(["message:first", "message:One.", "message:second", "message:Two."]);
    const nth = await threads.fork({ thread: out.session.thread, source: "exec", nthUserMessage: 1 });
    if (!nth.ok) throw new Error("refused");
    expect(shown(nth.session)).toEqual(["message:first", "message:One."]);
    const whole = await threads.fork({ thread: session.thread, source: "exec" });
    if (!whole.ok) throw new Error("refused");
    expect(shown(whole.session)).toEqual(["message:first", "message:One."]);
    expect(await threads.fork({ thread: session.thread, source: "exec", nthUserMessage: 7 })).toMatchObject({ ok: false, refusal: { code: "not_found" } });
  });

  it("refuses to rewind while a turn is open", async () => {
    const look = heldTool("look", "read");
    const { session } = await startSession(createHost({ samples: [[ask("a", "look")]], tools: [look.tool] }));
    await session.submit(input("go"));
    await look.until("look");
    expect(await session.submit(op({ type: "rewind", before: 1 }))).toMatchObject({ ok: false, refusal: { code: "busy" } });
    await session.close("test");
  });
});

describe("events", () => {
  it("replay from any cursor gives exactly the rest, gapless and without duplicates", async () => {
    const { session } = await startSession(createHost({ samples: [[say("One.")], [say("Two.")]] }));
    await session.submit(input("a"));
    await turnEnds(session);
    await session.submit(input("b"));
    await turnEnds(session, 2);
    let ended = 0;
    const all = await collect(session, null, (event) => event.type === "turn/completed" && ++ended === 2);
    expect(all[0]).toMatchObject({ type: "session/configured" });
    for (const [index, event] of all.slice(0, -1).entries()) {
      const last = all.at(-1)!.cursor;
      expect(await collect(session, event.cursor!, (each) => each.cursor === last)).toEqual(all.slice(index + 1));
    }
  });

  it("says thread/reset for a cursor that the log does not know", async () => {
    const { session } = await startSession(createHost({ samples: [[say("One.")]] }));
    await session.submit(input("a"));
    await turnEnds(session);
    for (const cursor of ["1.999999.0", "nonsense", "7.3.0"]) {
      const events = await collect(session, cursor, (event) => event.type === "turn/completed");
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["thread/reset", "session/configured"]);
    }
  });

  it("first says thread/rewound to a client whose cursor lies in a range that was left behind", async () => {
    const host = createHost({ samples: [[say("One.")], [say("Two.")]] });
    const { session } = await startSession(host);
    await session.submit(input("a"));
    await turnEnds(session);
    const { cursor } = session;
    await session.submit(op({ type: "rewind", before: 2 }));
    const events = await collect(session, cursor, (event) => event.type === "thread/rewound");
    expect(events).toMatchObject([{ type: "thread/rewound", before: 2 }]);
  });

  it("a subscriber that does not read never blocks a turn, and still gets everything", async () => {
    const long = "word ".repeat(40_000);
    const { session } = await startSession(createHost({ samples: [[say(long)], [say("Two.")]] }));
    const stop = new AbortController();
    const slow = session.watch(null, stop.signal);
    await slow.next();
    await session.submit(input("a"));
    await turnEnds(session);
    const types: string[] = [];
    for await (const event of slow) {
      types.push(event.type);
      if (event.type === "turn/completed") break;
    }
    expect(types.filter((type) => type === "item/completed")).toHaveLength(2);
    expect(types.filter((type) => type === "turn/completed")).toHaveLength(1);
  });

  it("a subscriber who joins in mid-stream first gets the text so far, and then each delta at its offset", async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const provider = {
      name: "gated",
      retries: 0,
      requestRetries: 0,
      remoteCompact: null,
      origin: (model: string) => ({ wire: "replay" as const, provider: "gated", model }),
      async *stream() {
        yield { type: "item.started" as const, index: 0, item: say("") };
        yield { type: "text.delta" as const, index: 0, delta: "so far " };
        await gate;
        yield { type: "text.delta" as const, index: 0, delta: "and on " };
        yield { type: "item.done" as const, index: 0, item: say("so far and on ") };
        yield { type: "done" as const, usage: null };
      },
    };
    const { session } = await startSession(createHost({ provider }));
    await session.submit(input("a"));
    await eventually(() => session.live.snapshot().length > 0);
    const late = collect(session, null, (event) => event.type === "turn/completed");
    await new Promise((resolve) => setTimeout(resolve, 10));
    go();
    const deltas = (await late).filter((event) => event.type === "item/agentMessage/delta");
    expect(deltas.map((event) => ("delta" in event ? [event.offset, event.delta] : []))).toEqual([
      [0, "so far "],
      [7, "and on "],
    ]);
  });
});
