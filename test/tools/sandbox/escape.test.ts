/**
 * The escape suite: each attempt succeeds without a sandbox, on a canary, and fails in each mode of the sandbox. As root everything is
 * tried; without root, what root alone could do is left out by name.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { detectSandbox, machine } from "../../../src/tools/sandbox/detect.ts";
import { FILE_ESCAPES, KERNEL_ESCAPES, PROCESS_ESCAPES, PROTECTED_ESCAPES, SESSION_ESCAPES, SOCKET_ESCAPES, VSOCK_ESCAPE, defaultEscaped, type Escape } from "./escapes.ts";
import { createGround, runOn } from "./ground.ts";
import type { SandboxMode } from "../../../src/protocol/record.ts";

const isRoot = process.getuid?.() === 0;
const hasVsock = readFileSync("/proc/net/protocols", "utf8").includes("AF_VSOCK");

beforeAll(async () => {
  const detected = await detectSandbox(machine(process.platform, ""));
  if (!detected.ok) throw new Error(`The escape suite needs a working sandbox. ${detected.why} ${detected.remedy}`);
});

async function tryIt(escape: Escape, mode: SandboxMode): Promise<{ escaped: boolean; output: string }> {
  const ground = createGround();
  try {
    const ran = await runOn(ground, await escape.attempt(ground), { sandbox: mode, ...(escape.env ? { env: escape.env } : {}) });
    return { escaped: await (escape.escaped ?? defaultEscaped)(ground, ran), output: ran.output };
  } finally {
    ground.close();
  }
}

const suites: [string, readonly Escape[]][] = [
  ["files", FILE_ESCAPES],
  ["protected names", PROTECTED_ESCAPES],
  ["the kernel", KERNEL_ESCAPES],
  ["processes", PROCESS_ESCAPES],
  ["sessions and terminals", SESSION_ESCAPES],
  ["sockets and networks", hasVsock ? [...SOCKET_ESCAPES, VSOCK_ESCAPE] : SOCKET_ESCAPES],
];

let tried = 0;
afterAll(() => console.log(`${tried} ways out tried${isRoot ? " as root" : "; those that only root could use were left out"}`));

describe.each(suites)("%s: a command that", (_, escapes) => {
  const possible = escapes.filter(({ asRoot }) => isRoot || asRoot !== true);
  test.each(possible)("$name", async (escape) => {
    tried += 1;
    const free = await tryIt(escape, "danger-full-access");
    expect(free.escaped, `it should succeed without a sandbox, or it proves nothing:\n${free.output}`).toBe(true);
    const modes: SandboxMode[] = escape.onlyReadOnly ? ["read-only"] : ["read-only", "workspace-write"];
    for (const mode of modes) {
      const confined = await tryIt(escape, mode);
      expect(confined.output, `it should have been run in ${mode}`).toMatch(/^(?:Exit code: \d+|Process running)/u);
      expect(confined.escaped, `it got out of ${mode}:\n${confined.output}`).toBe(false);
    }
  });
});
