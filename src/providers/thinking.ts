/**
 * What Claude models take for effort and length, by name. Up to 4.5 thinking has a budget of tokens; from 4.6 on it is adaptive and has
 * an effort; before 3.7 there is none. A model of another maker that speaks this wire gets the older form, which is the one that was
 * copied.
 */
export interface Thinking {
  thinking?: { type: "enabled"; budget_tokens: number } | { type: "adaptive"; display: "summarized" };
  effort?: string;
}

const BUDGETS: Readonly<Record<string, number>> = { minimal: 1024, low: 4096, medium: 10_240, high: 20_480, xhigh: 28_672, max: 28_672 };

export function thinkingOf(model: string, effort: string | null): Thinking {
  if (effort === null || effort === "none") return {};
  const kind = kindOf(model);
  if (kind === "none") return {};
  if (kind === "budget") return { thinking: { type: "enabled", budget_tokens: BUDGETS[effort] ?? BUDGETS["medium"]! } };
  const level = effort === "minimal" ? "low" : effort === "xhigh" && /-4-6/u.test(model) ? "high" : effort;
  return { thinking: { type: "adaptive", display: "summarized" }, effort: level };
}

function kindOf(model: string): "none" | "budget" | "adaptive" {
  if (!/claude/iu.test(model)) return "budget";
  if (/claude-(?:[12]|instant|3-(?!7)|3\.(?!7))/iu.test(model)) return "none";
  if (/claude-3[-.]7|(?:opus|sonnet|haiku)-4(?:[-.][0-5])?(?![-.]?\d)|(?:opus|sonnet|haiku)-4(?:[-.][0-5])?-\d{8}/iu.test(model)) return "budget";
  return "adaptive";
}

/** The longest answer to ask for: below what each model allows, above every budget. */
export function maxTokensOf(model: string): number {
  if (/claude-3-(?:opus|sonnet|haiku)/iu.test(model)) return 4096;
  if (/claude-3-5/iu.test(model)) return 8192;
  // Older models refuse a request whose input and longest answer together exceed the window; newer ones do not.
  return kindOf(model) === "adaptive" ? 64_000 : 32_000;
}
