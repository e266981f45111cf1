/** JSON Schemas as the APIs take them. */
import type { Json } from "../protocol/json.ts";
import type { ToolSpec } from "../core/tool.ts";
import { asObject, isObject } from "./json.ts";

/** A tool's parameters: an object with properties and, at its root, none of the combinations that the APIs refuse there. */
export function parametersOf({ parameters }: ToolSpec): object {
  const schema = asObject(parameters);
  const refused = ROOT_COMBINATIONS.filter((word) => word in schema);
  if (schema["type"] === "object" && isObject(schema["properties"]) && refused.length === 0) return schema;
  const rest = Object.entries(schema).filter(([key]) => !ROOT_COMBINATIONS.includes(key) && key !== "type" && key !== "properties");
  return { type: "object", properties: asObject(schema["properties"]), ...Object.fromEntries(rest) };
}

const ROOT_COMBINATIONS = ["oneOf", "anyOf", "allOf", "enum", "not"];

/** Whether OpenAI would follow the schema strictly: every object is closed and requires all that it lists. Otherwise it is followed loosely. */
export function isStrict(schema: Json): boolean {
  if (Array.isArray(schema)) return (schema as readonly Json[]).every(isStrict);
  if (!isObject(schema)) return true;
  const properties = asObject(schema["properties"]);
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly unknown[]) : [];
  const types = Array.isArray(schema["type"]) ? (schema["type"] as readonly unknown[]) : [schema["type"]];
  if (types.includes("object") && (schema["additionalProperties"] !== false || !Object.keys(properties).every((name) => required.includes(name)))) return false;
  return Object.values(schema).every((value) => isStrict(value));
}
