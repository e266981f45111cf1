/**
 * A tool whose arguments a schema describes: zod's, or any other that says itself in the Standard Schema way. The model is told the
 * JSON Schema of it; what the model sends is checked before `run` sees it, typed; what is wrong with it is told to the model.
 */
import type { Tool, ToolHost, ToolOutcome } from "../core/tool.ts";
import type { Json } from "../protocol/json.ts";

/** What is used of https://standardschema.dev and its JSON Schema part. */
export interface ArgumentsSchema<Value = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly validate: (value: unknown) => Checked<Value> | Promise<Checked<Value>>;
    readonly types?: { readonly input: unknown; readonly output: Value } | undefined;
    readonly jsonSchema?: { readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown> };
  };
}
type Checked<Value> = { readonly value: Value; readonly issues?: undefined } | { readonly issues: readonly Issue[] };
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface OwnTool<Value> extends Omit<Tool, "parameters" | "run"> {
  readonly parameters: ArgumentsSchema<Value>;
  /** A text is an outcome that is done. */
  run(input: Value, host: ToolHost): Promise<ToolOutcome | string>;
}

export function tool<Value>({ parameters, run, ...rest }: OwnTool<Value>): Tool {
  const schema = parameters["~standard"];
  if (!schema.jsonSchema) throw new TypeError(`The tool "${rest.name}" has a schema that gives no JSON Schema (zod does from 4.2 on): describe \`parameters\` by a JSON Schema instead.`);
  const { $schema: _, ...described } = schema.jsonSchema.input({ target: "draft-2020-12" });
  return {
    ...rest,
    parameters: described as Json,
    async run(input, host) {
      const checked = await schema.validate(input);
      if (checked.issues) return { status: "failed", output: `The arguments do not fit: ${checked.issues.map(sayIssue).join("; ")}.` };
      const outcome = await run(checked.value, host);
      return typeof outcome === "string" ? { status: "done", output: outcome } : outcome;
    },
  };
}

function sayIssue({ message, path = [] }: Issue): string {
  const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return place === "" ? message : `\`${place}\`: ${message}`;
}
