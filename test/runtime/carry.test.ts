import { describe, expect, it } from "vitest";
import { createThreads } from "../../src/runtime/threads.ts";
import { createHost, input, op, records, say, startSession, turnEnds } from "./given.ts";

describe("carries", () => {
  it("are written about every megabyte, also when no process writes that much by itself", async () => {
    const long = "word ".repeat(60_000);
    const host = createHost({ samples: Array.from({ length: 8 }, (_, index) => [say(`${index} ${long}`)]), window: 10_000_000 });
    const { threads, session } = await startSession(host);
    await threads.close(session.thread, "test");
    for (let turn = 0; turn < 8; turn++) {
      const process = createThreads(host);
      const resumed = await process.resume(session.thread);
      if (!resumed.ok) throw new Error(resumed.refusal.message);
      await resumed.session.submit(input(`${turn}`));
      await turnEnds(resumed.session, turn + 1);
      await process.close(session.thread, "test");
    }
    const saved = (await records(host.store, session.thread)).filter(({ type }) => type === "state.saved");
    expect(saved.length).toBeGreaterThanOrEqual(2);
    expect(saved.length).toBeLessThanOrEqual(3);
  });

  it("leave the op that rewound remembered, so that a retry acts once after a restart", async () => {
    const host = createHost({ samples: [[say("One.")]] });
    const { threads, session } = await startSession(host);
    await session.submit(input("a"));
    await turnEnds(session);
    const rewind = op({ type: "rewind", before: 2 });
    await session.submit(rewind);
    await threads.close(session.thread, "test");
    const again = await createThreads(host).resume(session.thread);
    if (!again.ok) throw new Error(again.refusal.message);
    const { head } = again.session.state;
    expect(await again.session.submit(rewind)).toMatchObject({ ok: true });
    expect(again.session.state.head).toBe(head);
  });
});
