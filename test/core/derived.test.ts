import { describe, expect, test } from "vitest";
import type { Draft } from "../../src/protocol/record.ts";
import { stateFile, statusOf, summaryOf } from "../../src/core/derived.ts";
import { added, append, called, created, given, queued, ROOT, rootWith, stateOf, threadId } from "./given.ts";

const open: Draft[] = [queued("a", "fix the test"), { type: "turn.started", turn: "t1", inputs: [1] }];
const over = (status: string): Draft => ({ type: "turn.ended", status, turn: "t1" });
const opened = (epoch: number): Draft => ({ type: "writer.opened", epoch, pid: 1, host: "h" });

describe("status", () => {
  test.each<[string, string, Draft[]]>([
    ["new", "an empty thread", []],
    ["new", "a thread whose first input still waits", [queued("a")]],
    ["active", "an open turn", open],
    ["active", "a parked turn that was continued", [...open, opened(2), { type: "turn.continued", op: "c" }]],
    ["paused", "a turn that lost its writer", [...open, opened(2)]],
    ["paused", "a turn whose writer closed the log", [...open, { type: "writer.closed" }]],
    ["paused", "a cancelled turn", [...open, over("cancelled")]],
    ["paused", "a failed turn", [...open, over("failed")]],
    ["complete", "a completed turn", [...open, over("completed")]],
    ["complete", "a completed turn, opened again", [...open, over("completed"), opened(2)]],
    ["complete", "a completed turn with input waiting", [...open, over("completed"), queued("b")]],
  ])("is %s for %s", (status, _what, drafts) => {
    expect(statusOf(given(...drafts))).toBe(status);
  });

  test("is paused for a fork out of an open turn, and new for a fork from before the first", () => {
    const logs = rootWith(...open);
    const [middle, start] = [threadId(1), threadId(2)];
    append(logs, middle, created(middle, { thread: ROOT, before: 3 }));
    append(logs, start, created(start, { thread: ROOT, before: 2 }));
    expect([statusOf(stateOf(logs, middle)), statusOf(stateOf(logs, start))]).toEqual(["paused", "new"]);
  });
});

describe("summary", () => {
  test("of a new thread", () => {
    expect(summaryOf(given())).toEqual({
      id: ROOT,
      title: null,
      preview: null,
      created_at: "2026-01-31T09:00:00.000Z",
      updated_at: "2026-01-31T09:00:00.000Z",
      model: "gpt-test",
      model_provider: "openai",
      cwd: "/repo",
      session_source: "exec",
      status: "new",
      resumed: false,
      forked: false,
      approval_policy: "on-request",
      sandbox_mode: "workspace-write",
      total_tokens: 0,
      turns: 0,
      parent: null,
    });
  });

  test("of a fork that was resumed and used", () => {
    const logs = rootWith(...open, over("completed"));
    const fork = threadId(1);
    append(
      logs,
      fork,
      created(fork, { thread: ROOT, before: 4 }),
      opened(2),
      { type: "thread.described", op: "d", title: "The other way" },
      { type: "settings.changed", op: "s", settings: { model: "m2", approval_policy: "never" } },
      queued("b", "again"),
      { type: "turn.started", turn: "t2", inputs: [8] },
      { type: "sample.started" },
      { type: "sample.ended", sample: 10, status: "done", usage: { input_tokens: 90, output_tokens: 10, total_tokens: 100 } },
      over("completed"),
    );
    expect(summaryOf(stateOf(logs, fork))).toEqual({
      id: fork,
      title: "The other way",
      preview: "fix the test",
      created_at: "2026-01-31T09:00:04.000Z",
      updated_at: "2026-01-31T09:00:12.000Z",
      model: "m2",
      model_provider: "openai",
      cwd: "/repo",
      session_source: "exec",
      status: "complete",
      resumed: true,
      forked: true,
      approval_policy: "never",
      sandbox_mode: "workspace-write",
      total_tokens: 100,
      turns: 2,
      parent: { thread: ROOT, before: 4 },
    });
  });
});

describe("state file", () => {
  test("says what is open: turn, calls, waiting input, unanswered approvals, plan", () => {
    const ask = (id: string): Draft => ({ type: "ask.opened", ask: id, call: "x", kind: "approval", body: { command: "rm" } });
    const state = given(...open, added("1", called("x")), ask("q1"), ask("q2"), { type: "ask.answered", op: "o", ask: "q1", answer: "yes" }, { type: "plan.changed", plan: [{ step: "look", status: "in_progress" }] }, queued("b", "b", "steer"));
    expect(stateFile(state)).toEqual({
      thread_id: ROOT,
      status: "active",
      last_turn_id: "t1",
      open_turn: { id: "t1", state: "awaiting_approval", parked: false, calls: ["x"] },
      queued_inputs: ["b"],
      pending_approvals: [{ ask: "q2", call: "x", kind: "approval", body: { command: "rm" } }],
      mcp_servers: [],
      compacted: false,
      history: { compaction: null, from: 0 },
      plan: [{ step: "look", status: "in_progress" }],
      usage: { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, total_tokens: 0 },
    });
  });

  test("names the last turn when none is open", () => {
    expect(stateFile(given(...open, over("failed")))).toMatchObject({ status: "paused", last_turn_id: "t1", open_turn: null, queued_inputs: [], pending_approvals: [] });
  });
});
