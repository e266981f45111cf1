import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, Response } from "../../src/protocol/rpc.ts";
import { createThreads } from "../../src/runtime/threads.ts";
import { connect } from "../../src/server/dispatch.ts";
import { createHost, SETTINGS } from "./given.ts";

function server() {
  const answers: Message[] = [];
  const waiting: (() => void)[] = [];
  const connection = connect(createThreads(createHost({})), (message) => {
    answers.push(message);
    for (const wake of waiting.splice(0)) wake();
  });
  async function ask(message: unknown): Promise<Response> {
    const before = answers.length;
    connection.receive(message as Message);
    while (answers.length === before) await new Promise<void>((resolve) => waiting.push(resolve));
    return answers[before] as Response;
  }
  return { ask };
}

describe("dispatch", () => {
  it("starts a thread and takes an op", async () => {
    const { ask } = server();
    const started = await ask({ id: 1, method: "thread/start", params: { source: "exec", settings: SETTINGS } });
    const { thread } = started.result as { thread: string };
    expect(await ask({ id: 2, method: "thread/op", params: { thread, op: { id: "x", type: "describe", title: "Named" } } })).toMatchObject({ id: 2, result: { cursor: expect.any(String) } });
  });

  it.each([
    [{ id: 1, method: "no/such", params: {} }, -32601, "no/such"],
    [{ id: 1, method: "thread/resume", params: {} }, -32602, "params.thread is missing"],
    [{ id: 1, method: "thread/resume", params: { thread: "../../etc" } }, -32602, "params.thread is not valid"],
    [{ id: 1, method: "thread/resume", params: null }, -32602, "must be an object"],
    [{ id: 1, method: "thread/op", params: { thread: "x", op: { id: "1", type: "launch" } } }, -32602, "params.op.type"],
    [{ id: 1, method: "thread/op", params: { thread: "x", op: { type: "interrupt" } } }, -32602, "params.op.id is missing"],
    [{ id: 1, method: "thread/op", params: { thread: "x", op: { id: "1", type: "interrupt" } } }, -32004, "not open here"],
    [{ id: 1, method: "thread/resume", params: { thread: "0000aaaa" } }, -32004, "no thread"],
    [{ method: "thread/list" }, -32600, "id and a method"],
    [{ id: 1, method: "toString", params: {} }, -32601, "toString"],
  ])("answers %j with %i", async (message, code, text) => {
    const { error } = await server().ask(message);
    expect(error?.code).toBe(code);
    expect(error?.message).toContain(text);
  });

  it("answers any JSON with an error or a result, never with nothing", async () => {
    const { ask } = server();
    const methods = ["thread/start", "thread/resume", "thread/fork", "thread/op", "thread/list", "thread/search", "thread/find", "thread/unsubscribe", "owner/release", "__proto__"];
    await fc.assert(
      fc.asyncProperty(fc.record({ id: fc.oneof(fc.integer(), fc.string()), method: fc.constantFrom(...methods), params: fc.jsonValue() }), async (message) => {
        const answer = await ask(message);
        expect("result" in answer || "error" in answer).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
