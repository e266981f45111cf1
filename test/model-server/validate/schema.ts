/** The rules for the JSON Schema of a function's parameters, and for schemas that are to be followed strictly. */
import { isObject } from "./shape.ts";
import type { Fields, Refuse } from "./shape.ts";

const types = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const combinations = ["oneOf", "anyOf", "allOf", "enum", "not"];

/** OpenAI: the root is an object without combinations, arrays say what they hold. */
export function checkParameters(schema: unknown, path: string, strict: boolean, refuse: Refuse): void {
  if (!isObject(schema)) return refuse(path, "must be a JSON Schema object");
  if (schema["type"] !== "object") refuse(path, `schema must be a JSON Schema of 'type: "object"', got ${JSON.stringify(schema["type"] ?? null)}`);
  for (const word of combinations) if (word in schema) refuse(path, `schema must not have '${word}' at the top level`);
  checkSchema(schema, path, strict, refuse);
}

/** Anthropic: the root is an object; three of the combinations are refused at the top. */
export function checkInputSchema(schema: unknown, path: string, refuse: Refuse): void {
  if (!isObject(schema)) return refuse(path, "field required, must be an object");
  if (schema["type"] !== "object") refuse(`${path}.type`, 'must be "object"');
  for (const word of ["oneOf", "anyOf", "allOf"]) if (word in schema) refuse(path, `does not support ${word} at the top level`);
  checkSchema(schema, path, false, (where, why) => {
    if (!why.startsWith("array schema")) refuse(where, why);
  });
}

export function checkSchema(schema: unknown, path: string, strict: boolean, refuse: Refuse): void {
  if (typeof schema === "boolean") return;
  if (!isObject(schema)) return refuse(path, "must be a JSON Schema object");
  const named = schema["type"];
  const list = named === undefined ? [] : Array.isArray(named) ? named : [named];
  for (const type of list) if (typeof type !== "string" || !types.has(type)) refuse(path, `${JSON.stringify(type)} is not a valid type`);
  if (list.includes("array") && !("items" in schema) && !("prefixItems" in schema)) refuse(path, "array schema missing items");
  const properties = schema["properties"];
  if (properties !== undefined && !isObject(properties)) refuse(`${path}.properties`, "must be an object");
  const required = schema["required"];
  if (required !== undefined && !(Array.isArray(required) && required.every((key) => typeof key === "string"))) {
    refuse(`${path}.required`, "must be an array of strings");
  }
  if (strict && list.includes("object")) checkStrictObject(schema, path, refuse);
  for (const [child, where] of children(schema, path)) checkSchema(child, where, strict, refuse);
}

function checkStrictObject(schema: Fields, path: string, refuse: Refuse): void {
  if (schema["additionalProperties"] !== false) refuse(path, "'additionalProperties' is required to be supplied and to be false");
  const names = isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  for (const name of names) if (!required.includes(name)) refuse(path, `'required' must include every key in properties; missing '${name}'`);
}

function* children(schema: Fields, path: string): Generator<[unknown, string]> {
  for (const group of ["properties", "$defs", "definitions"]) {
    const found = schema[group];
    if (isObject(found)) for (const [name, child] of Object.entries(found)) yield [child, `${path}.${group}.${name}`];
  }
  for (const group of ["anyOf", "oneOf", "allOf", "prefixItems"]) {
    const found = schema[group];
    if (Array.isArray(found)) for (const [i, child] of found.entries()) yield [child, `${path}.${group}[${i}]`];
  }
  if ("items" in schema) yield [schema["items"], `${path}.items`];
  if (isObject(schema["additionalProperties"])) yield [schema["additionalProperties"], `${path}.additionalProperties`];
}
