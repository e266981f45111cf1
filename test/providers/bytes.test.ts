/** The same conversation gives the same bytes on the wire, and each request of a turn begins with the one before. */
import { expect, test } from "vitest";
import { isCall, outputFor, userText, type Item } from "../../src/protocol/item.ts";
import { answerOf, collect, madeBy, MODEL, PATCH_TOOL, providerAt, requestFor, shown, TOOL, WIRES, withServer } from "./given.ts";

const REPLIES = [{ reasoning: "Hm.", search: { query: "weather", results: [{ title: "Weather", url: "https://weather.test/" }] }, text: "I look.", calls: [{ name: "exec_command", arguments: { cmd: "ls" } }, { name: "apply_patch", arguments: "*** Begin", custom: true }] }, { text: "Done." }, { text: "Done." }];

const REQUEST = { webSearch: "live" as const, tools: [TOOL, PATCH_TOOL] };

test.each(WIRES)("%s", async (wire) => {
  await withServer({ script: REPLIES }, async (server) => {
    const first = providerAt(wire, server.url);
    const { items } = answerOf(await collect(first, requestFor(wire, REQUEST)));
    const outputs = items.filter(isCall).map((call): Item => outputFor(call, "ok"));
    const input = [...shown(userText("hi")), ...madeBy(first.origin(MODEL[wire]), ...items), ...shown(...outputs)];
    await collect(first, requestFor(wire, { ...REQUEST, input }));
    // As after a restart: items come from the log as JSON, and everything is made anew.
    await collect(providerAt(wire, server.url), requestFor(wire, { ...REQUEST, input: JSON.parse(JSON.stringify(input)) as typeof input }));

    expect(server.problems).toEqual([]);
    const [one, two, three] = server.requests.map(({ raw }) => raw.toString()) as [string, string, string];
    expect(three).toBe(two);
    const list = (raw: string) => {
      const { input: items_, messages } = JSON.parse(raw.replaceAll(',"cache_control":{"type":"ephemeral"}', "")) as { input?: unknown[]; messages?: unknown[] };
      return items_ ?? messages ?? [];
    };
    expect(list(two).slice(0, list(one).length)).toEqual(list(one));
    if (wire !== "chat") expect(two).toContain("opaque-reasoning-0");
  });
});
