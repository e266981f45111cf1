import { expect, test } from "vitest";
import { run, world } from "./given.ts";

const place = world();

test("the plan is the outcome, without fields that are not known", async () => {
  const plan = [
    { step: "look", status: "completed", note: "x" },
    { step: "change", status: "in_progress" },
  ];
  expect(await run("update_plan", { explanation: "because", plan }, place)).toMatchObject({
    status: "done",
    output: "Plan updated.",
    plan: [
      { step: "look", status: "completed" },
      { step: "change", status: "in_progress" },
    ],
  });
});

test("several steps in progress are advised against, not refused", async () => {
  const step = { step: "a", status: "in_progress" };
  expect(await run("update_plan", { plan: [step, step] }, place)).toMatchObject({ status: "done", output: "Plan updated. 2 steps are in_progress: at most one should be.", plan: [step, step] });
});

test.each([
  [{}, "`plan` must be a list of steps."],
  [{ plan: "x" }, "`plan` must be a list of steps."],
  [{ plan: [{ step: "a", status: "pending" }, { step: "b", status: "done" }] }, '`plan` must be a list of {"step": text, "status": "pending" or "in_progress" or "completed"}; step 2 is not.'],
  [{ plan: [null] }, '`plan` must be a list of {"step": text, "status": "pending" or "in_progress" or "completed"}; step 1 is not.'],
  [{ plan: [], explanation: 7 }, "`explanation` must be a text that is not empty."],
  [[], "The arguments must be an object with explanation, plan."],
])("%j is explained", async (input, why) => {
  expect(await run("update_plan", input, place)).toMatchObject({ status: "failed", output: `The plan was not changed. ${why}` });
});
