/** update_plan: the model's plan, as people see it beside the conversation. It does nothing else. */
import type { Tool } from "../../core/tool.ts";
import type { PlanStep } from "../../protocol/record.ts";
import { failed, optional, readArguments, text, type Field } from "./arguments.ts";

const STATUSES: readonly PlanStep["status"][] = ["pending", "in_progress", "completed"];
const MOST_STEPS = 100;

const PARAMETERS = {
  type: "object",
  properties: {
    explanation: { type: "string", description: "Why the plan changed, if it did." },
    plan: {
      type: "array",
      items: {
        type: "object",
        properties: { step: { type: "string" }, status: { type: "string", enum: STATUSES } },
        required: ["step", "status"],
        additionalProperties: false,
      },
    },
  },
  required: ["plan"],
  additionalProperties: false,
} as const;

const plan: Field<PlanStep[]> = (value) => {
  if (!Array.isArray(value)) return { wrong: "a list of steps" };
  if (value.length > MOST_STEPS) return { wrong: `a list of at most ${MOST_STEPS} steps` };
  const wrong = value.findIndex((each) => !isStep(each));
  if (wrong >= 0) return { wrong: `a list of {"step": text, "status": ${STATUSES.map((status) => `"${status}"`).join(" or ")}}; step ${wrong + 1} is not` };
  return { value: (value as PlanStep[]).map(({ step, status }) => ({ step, status })) };
};

function isStep(value: unknown): value is PlanStep {
  const { step, status } = (value ?? {}) as Partial<Record<keyof PlanStep, unknown>>;
  return typeof step === "string" && step.trim() !== "" && STATUSES.includes(status as PlanStep["status"]);
}

export function updatePlan(): Tool {
  return {
    name: "update_plan",
    description: "Shows the user a plan for work of several steps and how far it is. Send the whole plan each time; at most one step should be in_progress.",
    parameters: PARAMETERS,
    effect: "read",
    run(input) {
      const read = readArguments(input, { explanation: optional(text), plan });
      if (!read.ok) return Promise.resolve(failed(`The plan was not changed. ${read.message}`));
      const busy = read.value.plan.filter(({ status }) => status === "in_progress").length;
      const advice = busy > 1 ? ` ${busy} steps are in_progress: at most one should be.` : "";
      return Promise.resolve({ status: "done", output: `Plan updated.${advice}`, plan: read.value.plan });
    },
  };
}
