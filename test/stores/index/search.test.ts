import { appendFileSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mark } from "../../../src/stores/file/index/marks.ts";
import { homeAt } from "../../../src/stores/file/layout.ts";
import { readCounters } from "../../../src/stores/file/scan.ts";
import type { Draft } from "../../../src/protocol/record.ts";
import { indexOf, removeHome, runs, temporaryHome, type TestIndex } from "./indexing.ts";
import { answered, appendDrafts, folderOf, idAt, makeSession, printed, ran, said, summaryOf, writeSummary } from "./sessions.ts";

let index: TestIndex;
beforeEach(() => {
  index = indexOf(temporaryHome());
});
afterEach(() => {
  index.close();
  removeHome(index.home);
});

const ID = idAt(1_750_000_000_000);
const found = (text: string) => index.search({ text }).items.map(({ kind, snippet }) => `${kind}: ${snippet}`);
const make = (drafts: Draft[], more = {}) => makeSession(index.home, { id: ID, drafts, ...more });
const touch = (id = ID) => mark(homeAt(index.home), id);

describe("what is found", () => {
  test("messages, commands, outputs, titles and diffs, each with its place", () => {
    const diff = "--- a/x\n+++ b/x\n+const needle = 5;\n";
    const sha256 = createHash("sha256").update(diff).digest("hex");
    const folder = make(
      [
        said("find the needle"),
        answered("The needle is in the haystack."),
        ran("grep needle src"),
        printed("src/x.ts: needle"),
        { type: "turn.ended", status: "completed", diff: { sha256, bytes: diff.length } },
        { type: "call.requested", op: "o", call: "u", by: "user", command: "ls needle" },
      ],
      { title: "Needle hunt", preview: "find the needle" },
    );
    mkdirSync(join(folder, "blobs"));
    writeFileSync(join(folder, "blobs", sha256), diff);
    index.pass();
    expect(index.search({ text: "needle" })).toEqual({
      items: [
        { thread: ID, seq: 7, kind: "command", at: "2026-01-01T00:00:00.000Z", snippet: "ls «needle»" },
        { thread: ID, seq: 6, kind: "diff", at: "2026-01-01T00:00:00.000Z", snippet: "--- a/x +++ b/x +const «needle» = 5;" },
        { thread: ID, seq: 5, kind: "output", at: "2026-01-01T00:00:00.000Z", snippet: "src/x.ts: «needle»" },
        { thread: ID, seq: 4, kind: "command", at: "2026-01-01T00:00:00.000Z", snippet: "grep «needle» src" },
        { thread: ID, seq: 3, kind: "assistant", at: "2026-01-01T00:00:00.000Z", snippet: "The «needle» is in the haystack." },
        { thread: ID, seq: 2, kind: "user", at: "2026-01-01T00:00:00.000Z", snippet: "find the «needle»" },
        { thread: ID, seq: 0, kind: "title", at: "2026-01-01T00:00:01.000Z", snippet: "«Needle» hunt" },
      ],
      next: null,
      incomplete: false,
      need: "nothing",
    });
  });

  test("a command in any shape that a model uses", () => {
    const call = (item: object): Draft => ({ type: "item.added", id: "c", item: { call_id: "c", ...item } as never });
    make([
      call({ type: "function_call", name: "shell", arguments: '{"command":["bash","-lc","needle one"]}' }),
      call({ type: "local_shell_call", action: { command: ["needle", "two"] } }),
      call({ type: "function_call", name: "exec_command", arguments: "needle, not JSON" }),
      call({ type: "function_call", name: "mcp__x__y", arguments: '{"a":"needle"}' }),
    ]);
    index.pass();
    expect(found("needle")).toEqual(["command: «needle», not JSON", "command: «needle» two", "command: bash -lc «needle» one"]);
  });

  test("the first 2 KB of an output, not the rest; images, reasoning and context never", () => {
    make([
      printed(`early ${"x ".repeat(2000)} late`),
      { type: "item.added", id: "r", item: { type: "reasoning", summary: [{ type: "summary_text", text: "secretly" }] } },
      { type: "context.changed", instructions: { sha256: "0".repeat(64), bytes: 1 }, tools: { sha256: "0".repeat(64), bytes: 1 }, items: [{ type: "message", role: "user", content: [{ type: "input_text", text: "secretly" }] }] },
    ]);
    index.pass();
    expect(found("early")).toHaveLength(1);
    expect(found("late")).toEqual([]);
    expect(found("secretly")).toEqual([]);
  });

  test("newest session first, in it the latest first; a cursor goes on, whatever arrives", () => {
    const ids = [0, 1, 2, 3].map((n) => idAt(1_750_000_000_000 + n * 5000));
    for (const id of ids) makeSession(index.home, { id, drafts: [said("needle first"), answered("needle second")] });
    index.pass();
    const all = index.search({ text: "needle" }).items.map(({ thread, seq }) => [thread, seq]);
    expect(all).toEqual(ids.toReversed().flatMap((id) => [[id, 3], [id, 2]]));
    const pages: unknown[] = [];
    for (let cursor: string | null = null; ; ) {
      const page = index.search({ text: "needle", limit: 3, cursor });
      pages.push(...page.items.map(({ thread, seq }) => [thread, seq]));
      if (pages.length === 3) {
        makeSession(index.home, { id: idAt(1_750_000_100_000), drafts: [said("needle new")] });
        index.pass();
      }
      cursor = page.next;
      if (cursor === null) break;
    }
    expect(pages).toEqual(all);
  });

  test("archived sessions too; removed and hidden ones not, even before the index knows", () => {
    const [archived, removed, hidden] = [1, 2, 3].map((n) => idAt(1_750_000_000_000 + n * 5000)) as [string, string, string];
    for (const id of [archived, removed, hidden]) makeSession(index.home, { id, drafts: [said("needle")] }, { archived: id === archived });
    index.pass();
    rmSync(folderOf(index.home, removed), { recursive: true });
    writeFileSync(join(folderOf(index.home, hidden), "hidden"), "");
    expect(index.search({ text: "needle" }).items.map(({ thread }) => thread)).toEqual([archived]);
  });

  test("a thread without a log, an empty query and a query of nothing but signs", () => {
    make([said("x")]);
    rmSync(join(folderOf(index.home, ID), "rollout.jsonl"));
    index.pass();
    for (const text of ["", "   ", "!?", "\0", "x"]) expect(index.search({ text }).items).toEqual([]);
  });

  test("any text can be searched for", () => {
    make([said("some words, \0 and: \"quotes\" (or) AND NOT * 漢字 🙂")]);
    index.pass();
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 50 }), fc.string({ unit: "grapheme" }), fc.constantFrom("AND", '"', "a* OR", "words AND", "(words")), fc.option(fc.string()), (text, cursor) => {
        expect(Array.isArray(index.search({ text, cursor }).items)).toBe(true);
        expect(Array.isArray(index.list({ text, cursor }).items)).toBe(true);
      }),
      runs(500),
    );
  });
});

describe("a log that changes", () => {
  test("what is appended is taken from the watermark on", () => {
    const folder = make([said("first"), printed("y ".repeat(100_000))]);
    index.pass();
    appendDrafts(folder, { id: ID, seq: 5, drafts: [said("second")] });
    touch();
    const before = readCounters.bytes;
    index.pass();
    expect(readCounters.bytes - before).toBeLessThan(80_000);
    expect(found("second")).toEqual(["user: «second»"]);
    expect(found("first")).toEqual(["user: «first»"]);
  });

  test("a torn tail is taken when it is complete", () => {
    const folder = make([said("first")]);
    const log = join(folder, "rollout.jsonl");
    const complete = readFileSync(log);
    appendDrafts(folder, { id: ID, seq: 4, drafts: [said("second")] });
    const whole = readFileSync(log);
    writeFileSync(log, whole.subarray(0, complete.length + 20));
    index.pass();
    expect(index.search({ text: "first" })).toMatchObject({ items: [{ seq: 2 }], incomplete: false });
    appendFileSync(log, whole.subarray(complete.length + 20));
    touch();
    index.pass();
    expect(found("second")).toEqual(["user: «second»"]);
    expect(found("first")).toEqual(["user: «first»"]);
  });

  test("bad lines are passed over", () => {
    const folder = make([said("first"), said("broken"), said("third")]);
    const log = join(folder, "rollout.jsonl");
    writeFileSync(log, readFileSync(log, "latin1").replace("broken", "br0ken"), "latin1");
    index.pass();
    expect([found("first").length, found("br0ken").length, found("third").length]).toEqual([1, 0, 1]);
  });

  test("a log that was replaced or cut is taken anew", () => {
    const folder = make([said("old words")]);
    index.pass();
    const fresh = join(index.home, "fresh");
    copyFileSync(join(folder, "rollout.jsonl"), fresh);
    renameSync(fresh, join(folder, "rollout.jsonl"));
    appendDrafts(folder, { id: ID, seq: 4, drafts: [said("new words")] });
    touch();
    index.pass();
    expect(found("words")).toEqual(["user: new «words»", "user: old «words»"]);
    truncateSync(join(folder, "rollout.jsonl"), 10);
    touch();
    expect(found("words")).toEqual([]);
    index.pass();
    expect(index.search({ text: "words" })).toMatchObject({ items: [], incomplete: false });
  });

  test("a new title is found, the old one is not", () => {
    const folder = make([], { title: "before" });
    index.pass();
    writeSummary(folder, { id: ID, title: "after" });
    touch();
    index.pass();
    expect([found("before"), found("after")]).toEqual([[], ["title: «after»"]]);
    expect(index.list({ text: "after" }).items).toEqual([summaryOf({ id: ID, title: "after" })]);
  });

  test("an archived session keeps its texts without being read again", () => {
    make([said("needle")]);
    index.pass();
    mkdirSync(join(index.home, "archive"));
    renameSync(folderOf(index.home, ID), folderOf(index.home, ID, { archived: true }));
    touch();
    const before = readCounters.bytes;
    index.pass();
    expect(readCounters.bytes - before).toBeLessThan(10_000);
    expect(found("needle")).toEqual(["user: «needle»"]);
  });
});

describe("incomplete", () => {
  test("without an index", () => {
    make([said("needle")]);
    expect(index.search({ text: "needle" })).toMatchObject({ items: [], incomplete: true, need: "rebuild" });
  });
  test("while a marked log is ahead of the index, and no longer after a pass", () => {
    const folder = make([said("needle")], { open: true });
    touch();
    index.pass();
    expect(index.search({ text: "needle" }).incomplete).toBe(false);
    appendDrafts(folder, { id: ID, seq: 3, drafts: [answered("more")] });
    expect(index.search({ text: "needle" }).incomplete).toBe(true);
    expect(index.list({ text: "nowhere" }).incomplete).toBe(true);
    index.pass();
    expect(index.search({ text: "needle" }).incomplete).toBe(false);
  });
  test("while full text is being taken", () => {
    for (let n = 0; n < 5; n++) makeSession(index.home, { id: idAt(1_750_000_000_000 + n * 5000), drafts: [said("needle")] });
    expect(index.pass({ stopAt: 9 })).toBe("stopped");
    expect(index.search({ text: "needle" }).incomplete).toBe(true);
    index.pass();
    expect(index.search({ text: "needle" })).toMatchObject({ items: { length: 5 }, incomplete: false });
  });
  test("when a session came that the index has not seen", () => {
    make([said("needle")]);
    index.pass();
    makeSession(index.home, { id: idAt(1_750_000_100_000), drafts: [said("needle")] });
    expect(index.search({ text: "needle" })).toMatchObject({ items: { length: 1 }, incomplete: true, need: "reconcile" });
  });
});
