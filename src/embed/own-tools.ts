/**
 * Own tools: an embedder's, which are foreign code. What the port promises of a tool (core/tool.ts) holds for them whatever they do: a call
 * that goes wrong has failed, and one of which nobody can tell what it would do is not run.
 */
import type { Assessment, Tool, ToolOutcome } from "../core/tool.ts";

const NAME = /^[A-Za-z0-9_-]{1,64}$/u;

/** Throws for what its programmer got wrong. */
export function ownTools(tools: readonly Tool[]): Tool[] {
  for (const [index, { name }] of tools.entries()) {
    if (!NAME.test(name)) throw new TypeError(`A tool is called ${JSON.stringify(name)}: a name has 1 to 64 letters, digits, "_" and "-".`);
    if (tools.findIndex((other) => other.name === name) < index) throw new TypeError(`Two tools are called "${name}".`);
  }
  return tools.map(guarded);
}

function guarded(tool: Tool): Tool {
  const { name, description, parameters, effect, aliases, freeform } = tool;
  return {
    name,
    description,
    parameters,
    effect,
    ...(aliases ? { aliases } : {}),
    ...(freeform ? { freeform } : {}),
    ...(tool.assess ? { assess: async (input, host) => asAssessment(await tool.assess!(input, host)) } : {}),
    async run(input, host) {
      const outcome: unknown = await tool.run(input, host);
      if (!isOutcome(outcome)) throw new TypeError("it gave no outcome");
      return outcome;
    },
  };
}

function asAssessment(assessed: unknown): Assessment {
  const { safe, shown } = (assessed ?? {}) as Partial<Assessment>;
  if (typeof safe !== "boolean" || typeof shown !== "object") throw new TypeError("it does not say what it would do");
  return { rule: null, outside: null, grant: null, ...(assessed as Pick<Assessment, "safe" | "shown">) };
}

function isOutcome(outcome: unknown): outcome is ToolOutcome {
  const { status, output } = (outcome ?? {}) as Partial<ToolOutcome>;
  return (status === "done" || status === "failed") && (typeof output === "string" || Array.isArray(output));
}
