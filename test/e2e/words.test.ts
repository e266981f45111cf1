/** Words on the command line that make no sense are refused with a sentence, before anything is done; ids are found as people type them. */
import { describe, expect, it } from "vitest";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { scene } from "./scene.ts";
import { log, run } from "./skein.ts";

describe("refused, with exit code 2:", () => {
  it.each<[string[], string]>([
    [["list", "everything"], '"everything" is a word too many. usage: skein list'],
    [["config", "model"], '"model" is a word too many'],
    [["tour", "again"], '"again" is a word too many'],
    [["usage", "today"], '"today" is a word too many'],
    [["skills", "mine"], '"mine" is a word too many'],
    [["help", "nope"], 'There is no command "nope"'],
    [["list", "--cursor", "foo"], '--cursor takes what the page before gave as "more"; not "foo".'],
    [["search", "x", "--cursor", "foo"], '--cursor takes what the page before gave as "more"; not "foo".'],
    [["usage", "--since", "2026-02-31"], '--since takes a date such as 2026-01-31, or a number of days such as 7d; not "2026-02-31".'],
    [["exec", "--take-over", "x"], "--take-over goes with `skein exec resume`."],
    [["exec", "--full-auto", "-s", "read-only", "x"], "--full-auto: contradicts --sandbox; give one or the other."],
    [["exec", "--timeout", "-1", "x"], '--timeout takes a positive number, not "-1".'],
    [["list", "--limit", "-5"], '--limit takes a positive number, not "-5".'],
  ])("%j", async (args, why) => {
    const { server, world } = await scene([]);
    expect(await run(world, args)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(why) });
    expect(server.requests).toEqual([]);
    expect(existsSync(join(world.home, "sessions"))).toBe(false);
  });
});

it("a folder of --add-dir that does not exist is warned about", async () => {
  const { world } = await scene([{ text: "Fine." }]);
  expect(await run(world, ["exec", "--add-dir", "nowhere", "x"])).toMatchObject({ code: 0, stderr: expect.stringContaining(`! --add-dir: the folder ${join(world.project, "nowhere")} does not exist.`) });
});

describe("an id", () => {
  it("is found in upper case, and by its beginning", async () => {
    const { world } = await scene([{ text: "One." }, { text: "Two." }]);
    await run(world, ["exec", "one"]);
    const id = String(log(world)[0]!["id"]);
    expect(await run(world, ["exec", "resume", id.toUpperCase(), "two"])).toMatchObject({ code: 0, stdout: "Two.\n" });
    expect(await run(world, ["exec", "resume", "not/an/id", "two"])).toMatchObject({ code: 2, stderr: 'skein: "not/an/id" is not a thread id. `skein list` shows them.\n' });
  });

  it("that fits several shows the newest of them, with date and preview, and how many more there are", async () => {
    const { world } = await scene(Array.from({ length: 7 }, () => ({ text: "Fine." })));
    for (let n = 1; n <= 7; n++) await run(world, ["exec", `question ${n}`]);
    const { code, stderr } = await run(world, ["fork", "0"]);
    expect(code).toBe(2);
    const lines = stderr.trimEnd().split("\n");
    expect(lines[0]).toBe('skein: "0" fits more than one thread:');
    expect(lines.slice(1, 6).map((line) => /^ {2}[0-9a-f-]{36} {2}\d{4}-\d{2}-\d{2} \d{2}:\d{2} {2}(.*)$/u.exec(line)?.[1])).toEqual([7, 6, 5, 4, 3].map((n) => `question ${n}`));
    expect(lines.slice(6)).toEqual(["  and 2 more", "Give more of the id."]);
  });
});
