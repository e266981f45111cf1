import { EXIT, UserError } from "./shell.ts";

/** A number from the command line; null when it was not given. */
export function positive(value: string | boolean | (string | boolean)[] | undefined, name: string): number | null {
  if (value === undefined) return null;
  const number = Number(value);
  if (!Number.isFinite(number) || number <= 0) throw new UserError(`${name} takes a positive number, not "${String(value)}".`, EXIT.usage);
  return number;
}
