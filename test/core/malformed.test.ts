import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/protocol/record.ts";
import { asKnown } from "../../src/core/known.ts";
import { live } from "../../src/core/lineage.ts";
import { load, runReads } from "../../src/core/load.ts";

const AT = "2026-01-01T00:00:00.000Z";
const settings = { model: "m", model_provider: "p", cwd: "/", approval_policy: "never", sandbox_mode: "read-only" };
const created = (id: string, seq: number, base: { thread: string; before: number } | null): LogRecord => ({ v: 1, seq, at: AT, type: "thread.created", id, base, source: "exec", settings }) as LogRecord;

const open = (logs: Map<string, LogRecord[]>, thread: string, before: number) =>
  runReads(load({ thread, before }), (need) => {
    const log = logs.get(need.thread) ?? [];
    return need.kind === "header" ? log.slice(0, 1) : log.filter(({ seq }) => seq < need.before).reverse();
  });

describe("a record of a known type without what gives it its meaning", () => {
  const bodies = [
    { type: "turn.started" },
    { type: "state.saved", carry: {} },
    { type: "state.saved", carry: { thread: { ops: [], grants: [] }, talk: null } },
    { type: "history.compacted", summary: [], keepFrom: 0, carry: {} },
    { type: "context.changed", instructions: {}, tools: {} },
    { type: "thread.rewound", before: "1", carry: {} },
    { type: "item.added", id: "1", item: null },
    { type: "call.ended", call: "c" },
    { type: "input.queued", op: "o", items: "text" },
  ];
  it.each(bodies)("%j is kept and means nothing: the thread opens without it", (body) => {
    const record = { v: 1, seq: 1, at: AT, ...body } as unknown as LogRecord;
    expect(asKnown(record)).toBeNull();
    const state = open(new Map([["a", [created("a", 0, null), record]]]), "a", 2);
    expect(state).toMatchObject({ head: 2, thread: { id: "a" }, history: { entries: [] } });
  });
});

describe("headers that name each other as base", () => {
  it("end the walk instead of going round for ever", () => {
    const logs = new Map([
      ["a", [created("a", 5, { thread: "b", before: 5 })]],
      ["b", [created("b", 5, { thread: "a", before: 5 })]],
    ]);
    expect(live(logs, { thread: "a", before: 6 }).map(({ seq }) => seq)).toEqual([5]);
    expect(open(logs, "a", 6)).toMatchObject({ thread: { id: "a" }, head: 6 });
  });
});
