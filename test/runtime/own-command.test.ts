import { expect, it } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { createThreads } from "../../src/runtime/threads.ts";
import { createHost, eventually, op, SETTINGS } from "./given.ts";

it("the user's own command is not ended for taking long", async () => {
  const inputs: unknown[] = [];
  const shell: Tool = { name: "exec_command", description: "", parameters: {}, effect: "exec", run: async (given) => (inputs.push(given), { status: "done", output: "", exit: 0 }) };
  const session = await createThreads(createHost({ samples: [], tools: [shell] })).start({ source: "interactive", settings: SETTINGS });
  await session.submit(op({ type: "run_user_shell_command", call: "u1", command: "npm run dev" }));
  await eventually(() => inputs.length === 1);
  expect(inputs).toEqual([{ cmd: "npm run dev", yield_time_ms: 600_000 }]);
});
