import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { events, textOf } from "./fetch-events.ts";
import type { SseEvent } from "./fetch-events.ts";
import type { Wire } from "./script.ts";

const runner = fileURLToPath(new URL("./run.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "model-server-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("--help explains, a wrong option is refused with the help", async () => {
  expect((await promisify(execFile)(process.execPath, [runner, "--help"])).stdout).toContain("--script");
  await expect(promisify(execFile)(process.execPath, [runner, "--wire", "telegraph"])).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("unknown wire") });
});

test.each(["responses", "chat", "messages"] as const)("without a script it greets and echoes: %s", async (wire) => {
  expect(textOf(await byHand([], wire))).toBe("Hello from the scripted server. You said: hi");
});

test("with a script it plays it; a field that does not exist is refused", async () => {
  const file = join(folder, "script.json");
  writeFileSync(file, JSON.stringify([{ text: "from a file" }]));
  expect(textOf(await byHand(["--script", file, "--profile", "llamacpp"], "chat"))).toBe("from a file");
  writeFileSync(file, JSON.stringify([{ txet: "typo" }]));
  await expect(promisify(execFile)(process.execPath, [runner, "--script", file])).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("unknown field 'txet'") });
});

test("replies with a condition and a limit of tokens work from the command line", async () => {
  const file = join(folder, "rules.json");
  writeFileSync(file, JSON.stringify([{ text: "in order" }, { when: "hi", text: "by rule" }]));
  expect(textOf(await byHand(["--script", file], "messages"))).toBe("by rule");
  await expect(byHand(["--script", file, "--max-tokens", "5"], "messages")).rejects.toThrow("prompt is too long");
  await expect(promisify(execFile)(process.execPath, [runner, "--max-tokens", "few"])).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("--max-tokens") });
});

async function byHand(args: string[], wire: Wire): Promise<SseEvent[]> {
  const child = spawn(process.execPath, [runner, "--port", "0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    let said = "";
    for await (const chunk of child.stdout.setEncoding("utf8")) {
      said += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
      if (url !== undefined) return await events({ url }, wire);
    }
    throw new Error(`It did not start: ${said}`);
  } finally {
    child.kill();
  }
}
