/** The few checks that all wires share. A problem reads `path: what is wrong`, with the API's own wording where it is known. */
export type Fields = Readonly<Record<string, unknown>>;
export type Refuse = (path: string, why: string) => void;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0;
}

/** Keys that the API does not know, each refused. */
export function onlyKeys(value: Fields, known: ReadonlySet<string>, path: string, refuse: Refuse): void {
  for (const key of Object.keys(value)) if (!known.has(key)) refuse(path === "" ? key : `${path}.${key}`, "unknown parameter");
}

export function keys(...names: string[]): ReadonlySet<string> {
  return new Set(names.flatMap((name) => name.split(" ")));
}

/** Absent is fine; a wrong type is not. null counts as absent where the API takes it so. */
export function optional(value: unknown, type: "string" | "boolean" | "number", path: string, refuse: Refuse): void {
  if (value !== undefined && value !== null && typeof value !== type) refuse(path, `expected a ${type}`);
}

export function oneOf(value: unknown, allowed: readonly string[], path: string, refuse: Refuse): void {
  if (value === undefined || value === null) return;
  if (typeof value !== "string" || !allowed.includes(value)) refuse(path, `invalid value ${JSON.stringify(value)}; expected one of ${allowed.join(", ")}`);
}

/** Runs a validator's body and returns what it refused. */
export function problemsOf(check: (refuse: Refuse) => void): string[] {
  const problems: string[] = [];
  check((path, why) => problems.push(`${path}: ${why}`));
  return problems;
}
