/** Whatever a log holds, its events can be shown, each under a cursor of its own, and the same again tomorrow. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Draft, LogRecord } from "../../src/protocol/record.ts";
import { createProjection, parseCursor, project } from "../../src/core/events.ts";
import { live } from "../../src/core/lineage.ts";
import { createRedactor } from "../../src/core/redact.ts";
import { worlds } from "./arbitrary.ts";
import { headOf, runs } from "./given.ts";

function eventsOf(thread: string, records: readonly LogRecord[]) {
  const projection = createProjection(thread, 0);
  return records.flatMap((record) => project(projection, record));
}

describe.each(["orderly", "hostile"] as const)("events of %s logs", (level) => {
  test("are the same each time, with cursors that differ and can be read back", () => {
    fc.assert(
      fc.property(worlds(level), ({ logs }) => {
        for (const thread of logs.keys()) {
          const records = live(logs, headOf(logs, thread));
          const events = eventsOf(thread, records);
          expect(JSON.stringify(eventsOf(thread, records))).toBe(JSON.stringify(events));
          const cursors = events.map((event) => event.cursor!);
          expect(new Set(cursors).size).toBe(cursors.length);
          expect(cursors.filter((cursor) => parseCursor(cursor) === null)).toEqual([]);
        }
      }),
      runs(60),
    );
  });
});

test("redaction changes nothing the second time, so that a carry equals the records that it stands for", () => {
  const secrets = fc.constantFrom(`sk-${"a1".repeat(30)}`, `AKIA${"Z".repeat(16)}`, `ghp_${"x".repeat(36)}`, "password=hunter2", "password: ", "-----BEGIN PRIVATE KEY-----\nabc", " ", "[REDACTED:", "]", "=", "\n");
  const redactor = createRedactor(["password", "secret"]);
  fc.assert(
    fc.property(fc.array(fc.oneof(secrets, fc.string()), { maxLength: 8 }), (parts) => {
      const draft: Draft = { type: "item.added", id: "i", item: { type: "message", role: "user", content: [{ type: "input_text", text: parts.join("") }] } };
      const once = redactor.draft(draft);
      expect(redactor.draft(once)).toEqual(once);
    }),
    runs(500),
  );
});
