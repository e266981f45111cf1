/**
 * Arguments: what a model sent, as what a tool needs. A field of the wrong kind is refused with what it should be; fields that are not
 * known are ignored, and null or "" is as good as nothing where a field may be missing.
 */
import type { ToolOutcome } from "../../core/tool.ts";

export type Read<T> = { ok: true; value: T } | { ok: false; message: string };

/** Reads one value; a text in `wrong` is what it should be. */
export type Field<T> = (value: unknown) => { value: T } | { wrong: string };

type Shape<T> = { readonly [K in keyof T]: Field<T[K]> };

/** Names that models know some fields by. */
const ALIASES: Readonly<Record<string, readonly string[]>> = { path: ["file_path", "dir_path"], glob: ["include"], input: ["patch"] };

export function readArguments<T extends object>(input: unknown, shape: Shape<T>): Read<T> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return { ok: false, message: `The arguments must be an object with ${Object.keys(shape).join(", ")}.` };
  const given = input as Readonly<Record<string, unknown>>;
  const value: Partial<T> = {};
  for (const name of Object.keys(shape) as (keyof T & string)[]) {
    const known = [name, ...(ALIASES[name] ?? [])].find((each) => Object.hasOwn(given, each) && given[each] !== null);
    const read = shape[name](known === undefined ? undefined : given[known]);
    if ("wrong" in read) return { ok: false, message: `\`${name}\` must be ${read.wrong}.` };
    value[name] = read.value;
  }
  return { ok: true, value: value as T };
}

export const text: Field<string> = (value) => (typeof value === "string" && value.trim() !== "" ? { value } : { wrong: "a text that is not empty" });

export const path: Field<string> = (value) => (typeof value === "string" && value.trim() !== "" && !/[\0\p{Surrogate}]/u.test(value) ? { value } : { wrong: "the path of a file or folder" });

export const flag: Field<boolean> = (value) => (value === undefined ? { value: false } : typeof value === "boolean" ? { value } : { wrong: "true or false" });

export function optional<T>(field: Field<T>): Field<T | null> {
  return (value) => (value === undefined || value === "" ? { value: null } : field(value));
}

/** A whole number; one above `most` is taken as `most`. */
export function count({ least, most, usual }: { least: number; most: number; usual: number }): Field<number> {
  return (value) => {
    const number = typeof value === "string" && /^\d{1,15}$/u.test(value) ? Number(value) : (value ?? usual);
    return Number.isSafeInteger(number) && (number as number) >= least ? { value: Math.min(number as number, most) } : { wrong: `a whole number from ${least} to ${most}` };
  };
}

export function failed(output: string): ToolOutcome {
  return { status: "failed", output };
}
