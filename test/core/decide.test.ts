/** Given records, when an op arrives, then these records, or this refusal. */
import { describe, expect, test } from "vitest";
import { userText } from "../../src/protocol/item.ts";
import type { Op, Refusal } from "../../src/protocol/op.ts";
import type { Draft } from "../../src/protocol/record.ts";
import { decide, type Decision } from "../../src/core/decide.ts";
import { added, given, queued, ROOT, rootWith, said, SETTINGS, stateAt, stateOf } from "./given.ts";

const open: Draft[] = [queued("a"), { type: "turn.started", turn: "t1", inputs: [1] }];
const parked: Draft = { type: "writer.opened", epoch: 2, pid: 1, host: "h" };
const interrupted: Draft = { type: "turn.interrupted", op: "i", turn: "t1" };
const asked: Draft = { type: "ask.opened", ask: "q", kind: "approval", body: null, turn: "t1" };

const accepted = (...records: Draft[]): Decision => ({ ok: true, records });
const refused = (code: Refusal["code"], message: string): Decision => ({ ok: false, refusal: { code, message } });
const when = (records: Draft[], op: Op) => decide(given(...records), op);

const NOT_WAITING = "That input is no longer waiting: it was taken or withdrawn.";

describe("user_input", () => {
  const items = [userText("hello")];
  const op: Op = { id: "o", type: "user_input", items };

  test("without an open turn waits for the next", () => {
    expect(when([], op)).toEqual(accepted({ type: "input.queued", op: "o", items, deliver: "next" }));
  });
  test("during a turn steers it", () => {
    expect(when(open, op)).toEqual(accepted({ type: "input.queued", op: "o", items, deliver: "steer" }));
  });
  test("is delivered as it asks to be", () => {
    expect([when(open, { ...op, deliver: "next" }), when([], { ...op, deliver: "steer" })]).toEqual([
      accepted({ type: "input.queued", op: "o", items, deliver: "next" }),
      accepted({ type: "input.queued", op: "o", items, deliver: "steer" }),
    ]);
  });
  test("keeps the schema that its answer must follow", () => {
    expect(when([], { ...op, output_schema: { type: "object" } })).toEqual(accepted({ type: "input.queued", op: "o", items, deliver: "next", schema: { type: "object" } }));
  });
  test("takes the place of queued input in the same step, as far as that still waits", () => {
    const withdrawn = { type: "input.withdrawn", op: "o", input: "b" } as const;
    expect(when([...open, queued("b")], { ...op, replaces: ["a", "b"] })).toEqual(accepted(withdrawn, { type: "input.queued", op: "o", items, deliver: "steer" }));
  });
  test("continues a parked turn", () => {
    expect(when([...open, parked], op)).toEqual(accepted({ type: "input.queued", op: "o", items, deliver: "steer" }, { type: "turn.continued", op: "o", turn: "t1" }));
  });
  test("that is empty is refused", () => {
    expect(when([], { ...op, items: [] })).toEqual(refused("bad_request", "The input is empty; nothing was sent."));
  });
});

describe("change_input", () => {
  const op: Op = { id: "o", type: "change_input", input: "a", items: [userText("new")] };

  test("changes what waits", () => {
    expect(when([queued("a")], op)).toEqual(accepted({ type: "input.changed", op: "o", input: "a", items: [userText("new")] }));
  });
  test("of what was taken, withdrawn or never there is refused", () => {
    expect([when(open, op), when([queued("a"), { type: "input.withdrawn", op: "w", input: "a" }], op), when([], op)]).toEqual([1, 2, 3].map(() => refused("not_found", NOT_WAITING)));
  });
  test("to nothing is refused", () => {
    expect(when([queued("a")], { ...op, items: [] })).toEqual(refused("bad_request", "The changed input is empty; the queued one was kept."));
  });
});

describe("withdraw_input", () => {
  const op: Op = { id: "o", type: "withdraw_input", input: "a" };

  test("takes out what waits", () => {
    expect(when([queued("a")], op)).toEqual(accepted({ type: "input.withdrawn", op: "o", input: "a" }));
  });
  test("of what was taken is refused", () => {
    expect(when(open, op)).toEqual(refused("not_found", NOT_WAITING));
  });
});

describe("interrupt", () => {
  const op: Op = { id: "o", type: "interrupt" };

  test("interrupts the open turn, parked or not", () => {
    expect([when(open, op), when([...open, parked], op)]).toEqual([1, 2].map(() => accepted({ type: "turn.interrupted", op: "o", turn: "t1" })));
  });
  test("has nothing to do without a turn, and when it was interrupted already", () => {
    expect([when([], op), when([...open, interrupted], op)]).toEqual([accepted(), accepted()]);
  });
});

describe("continue", () => {
  const op: Op = { id: "o", type: "continue" };

  test("continues a parked turn", () => {
    expect(when([...open, parked], op)).toEqual(accepted({ type: "turn.continued", op: "o", turn: "t1" }));
  });
  test("has nothing to do when the turn goes on anyway", () => {
    expect(when(open, op)).toEqual(accepted());
  });
  test("lets go of input that a new writer found waiting", () => {
    expect(when([queued("a"), parked], op)).toEqual(accepted({ type: "turn.continued", op: "o" }));
  });
  test("lets input begin that a new writer found waiting", () => {
    expect(when([queued("a"), parked], op)).toEqual(accepted({ type: "turn.continued", op: "o" }));
  });
  test("without a turn is refused", () => {
    expect([when([], op), when([queued("a")], op)]).toEqual([1, 2].map(() => refused("bad_request", "No turn is open: there is nothing to continue.")));
  });
});

describe("answer", () => {
  const op: Op = { id: "o", type: "answer", ask: "q", answer: { approve: true } };

  test("answers what is open", () => {
    expect(when([...open, asked], op)).toEqual(accepted({ type: "ask.answered", op: "o", ask: "q", answer: { approve: true }, turn: "t1" }));
  });
  test("to a question outside of a turn belongs to none", () => {
    expect(when([{ type: "ask.opened", ask: "q", kind: "elicitation", body: null }], op)).toEqual(accepted({ type: "ask.answered", op: "o", ask: "q", answer: { approve: true } }));
  });
  test("to what is not open is refused", () => {
    expect([when(open, op), when([...open, asked, { type: "ask.withdrawn", ask: "q", why: "" }], op), when([...open, asked, { type: "turn.ended", status: "cancelled" }], op)]).toEqual(
      [1, 2, 3].map(() => refused("not_found", "That question is no longer open.")),
    );
  });
  test("to what was answered is refused, even when that answer was null", () => {
    expect(when([...open, asked, { type: "ask.answered", op: "x", ask: "q", answer: null }], op)).toEqual(refused("bad_request", "That question was already answered."));
  });
});

describe("rewind", () => {
  const done: Draft[] = [...open, asked, queued("b", "b", "steer"), { type: "turn.ended", status: "completed" }, { type: "settings.changed", op: "s", settings: { model: "new" } }];

  test("goes back in the conversation and not in the thread; what was open there is closed", () => {
    const logs = rootWith(...done);
    const target = stateAt(logs, { thread: ROOT, before: 5 })!;
    const decision = decide(stateOf(logs), { id: "o", type: "rewind", before: 5 }, { target });
    expect(decision).toEqual(
      accepted({
        type: "thread.rewound",
        op: "o",
        before: 5,
        carry: {
          thread: {
            id: ROOT,
            base: null,
            source: "exec",
            createdAt: "2026-01-31T09:00:00.000Z",
            title: null,
            tags: [],
            settings: { ...SETTINGS, model: "new" },
            epoch: 0,
            grants: [],
            ops: ["a", "b", "s"],
            usage: { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, total_tokens: 0 },
            diffs: 0,
          },
          talk: {
            history: { compaction: null, from: 0 },
            preview: "a",
            updatedAt: "2026-01-31T09:00:04.000Z",
            turns: 1,
            userMessages: 1,
            turn: null,
            lastTurn: { id: "t1", status: "cancelled" },
            queue: [],
            asks: [],
            plan: [],
            context: null,
            origin: null,
            tokens: 0,
          },
        },
      }),
    );
  });
  test("changes neither the state that it was given nor its target", () => {
    const logs = rootWith(...done);
    const [state, target] = [stateOf(logs), stateAt(logs, { thread: ROOT, before: 5 })!];
    decide(state, { id: "o", type: "rewind", before: 5 }, { target });
    expect([state, target]).toEqual([stateOf(logs), stateAt(logs, { thread: ROOT, before: 5 })]);
  });
  test("is refused while a turn is open", () => {
    expect(when(open, { id: "o", type: "rewind", before: 1 })).toEqual(refused("busy", "A turn is open: interrupt it before rewinding. Nothing was changed."));
  });
  test("is refused when there is nothing to go back to", () => {
    expect(when([], { id: "o", type: "rewind", before: 0 })).toEqual(refused("bad_request", "There is no record before 0 to go back to; nothing was changed."));
  });
});

test("override_settings changes settings, at any time", () => {
  const op: Op = { id: "o", type: "override_settings", settings: { model: "m", sandbox_mode: "read-only" } };
  const records = accepted({ type: "settings.changed", op: "o", settings: { model: "m", sandbox_mode: "read-only" } });
  expect([when([], op), when(open, op)]).toEqual([records, records]);
});

test("describe says what it was given and nothing else", () => {
  expect([
    when([], { id: "o", type: "describe", title: "T" }),
    when([], { id: "o", type: "describe", tags: [] }),
    when(open, { id: "o", type: "describe", title: "T", tags: ["x"] }),
  ]).toEqual([
    accepted({ type: "thread.described", op: "o", title: "T" }),
    accepted({ type: "thread.described", op: "o", tags: [] }),
    accepted({ type: "thread.described", op: "o", title: "T", tags: ["x"] }),
  ]);
});

test("a command of the user's own is requested under an id that no open call has", () => {
  expect([
    when([], { id: "o", type: "run_user_shell_command", call: "c", command: "ls" }),
    when([], { id: "o", type: "run_user_shell_command", call: "c", command: " " }),
    when([{ type: "call.requested", op: "p", call: "c", by: "user", command: "ls" }], { id: "o", type: "run_user_shell_command", call: "c", command: "ls" }),
  ]).toEqual([
    accepted({ type: "call.requested", op: "o", call: "c", by: "user", command: "ls" }),
    refused("bad_request", "The command is empty; nothing was run."),
    refused("bad_request", "A call c is open already; nothing was run."),
  ]);
});

test("a compaction needs something to compact and no open turn; an undone one needs one in force", () => {
  const started: Draft = { type: "turn.started", turn: "t1", inputs: [1] };
  expect([
    when([], { id: "o", type: "compact" }),
    when([queued("a"), started], { id: "o", type: "compact" }),
    when([{ type: "settings.changed", op: "s", settings: { compact: { keep_turns: 0 } } }, queued("a"), { ...started, inputs: [2] }, added("i", said("b")), { type: "turn.ended", turn: "t1", status: "completed" }], { id: "o", type: "compact", instructions: "brief", review: true }),
    when([], { id: "o", type: "restore_history" }),
    when([queued("a"), started], { id: "o", type: "restore_history" }),
  ]).toEqual([
    refused("bad_request", "There is nothing to compact: the last turns are kept as they are (compact.keep_turns), and there are no others."),
    refused("busy", "A turn is open: interrupt it, or wait for its end, before compacting. Nothing was changed."),
    accepted({ type: "compaction.requested", op: "o", instructions: "brief", review: true }),
    refused("bad_request", "The history is not compacted: there is nothing to restore."),
    refused("busy", "A turn is open: interrupt it, or wait for its end, before restoring history. Nothing was changed."),
  ]);
});

test.each<Op>([
  { id: "o", type: "undo" },
])("$type is refused as not yet possible", (op) => {
  expect(when([], op)).toEqual(refused("unsupported", `This version of Skein cannot do "${op.type}" yet; nothing was changed.`));
});

describe("an op that is already in the log", () => {
  test("is accepted and gives no records, whatever it says now", () => {
    expect([when(open, { id: "a", type: "user_input", items: [] }), when(open, { id: "a", type: "undo" })]).toEqual([accepted(), accepted()]);
  });
  test("is accepted also where nothing may be written any more", () => {
    expect(when([...open, { type: "future.rule", critical: true }], { id: "a", type: "user_input", items: [userText("a")] })).toEqual(accepted());
  });
});

test.each<Op>([
  { id: "o", type: "user_input", items: [userText("x")] },
  { id: "o", type: "interrupt" },
  { id: "o", type: "override_settings", settings: {} },
  { id: "o", type: "describe", title: "T" },
])("behind a record that this build must understand, $type is refused", (op) => {
  expect(when([...open, { v: 4, type: "future.rule", critical: true }], op)).toEqual(
    refused(
      "read_only",
      'Record 3 ("future.rule", log version 4) was written by a newer Skein and must be understood before anything is added. ' +
        "The thread is read-only here: everything is kept; use the newer version to go on, or fork from before that record.",
    ),
  );
});
