import { expect, test, vi } from "vitest";
import { good } from "./given.ts";

const loads = vi.hoisted(() => ({ count: 0 }));
vi.mock("smol-toml", async (original) => {
  loads.count += 1;
  return original();
});

test("the parser is loaded only when there is something to parse", async () => {
  await good({ flags: { model: "m", fullAuto: true }, mode: "exec" });
  await good({ repo: "model = 1", flags: { sandbox: "read-only" } });
  expect(loads.count).toBe(0);
  await good({ overrides: ["model=m"] });
  expect(loads.count).toBe(1);
});
