import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import type { Check, Shell } from "../../src/cli/shell.ts";

const FINE: Check = { name: "node", state: "ok", text: "22.1.0" };
const WORSE: Check = { name: "ripgrep", state: "warning", text: "not installed", remedy: "Install it." };
const BROKEN: Check = { name: "home", state: "broken", text: "cannot be written" };

async function doctor(args: readonly string[], checks: Check[]) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const nothing = () => Promise.reject(new Error("not for this command"));
  const shell = { ...streams, env: {}, cwd: "/", tour: { prompt: "", files: {} }, connect: nothing, config: nothing, skills: nothing, trust: nothing, mcp: nothing, connectTo: nothing, doctor: async () => checks } as Shell;
  return { code: await run(["doctor", ...args], shell), stdout: String(streams.stdout.read() ?? "") };
}

test("each check has a line, and what to do about it one below", async () => {
  expect(await doctor([], [FINE, WORSE, BROKEN])).toEqual({
    code: 1,
    stdout: ["ok      node     22.1.0", "!       ripgrep  not installed", "                 → Install it.", "BROKEN  home     cannot be written", ""].join("\n"),
  });
});

test("the exit code is 0 while nothing is broken", async () => {
  expect((await doctor([], [FINE, WORSE])).code).toBe(0);
});

test("as JSON, one check a line", async () => {
  expect(await doctor(["--json"], [FINE, BROKEN])).toEqual({ code: 1, stdout: `${JSON.stringify(FINE)}\n${JSON.stringify(BROKEN)}\n` });
});
