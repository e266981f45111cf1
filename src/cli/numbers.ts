import { EXIT, UserError } from "./shell.ts";

/** A number from the command line; null when it was not given. */
export function positive(value: string | boolean | (string | boolean)[] | undefined, name: string): number | null {
  if (value === undefined) return null;
  const number = Number(value);
  if (!Number.isFinite(number) || number <= 0) throw new UserError(`${name} takes a positive number, not "${String(value)}".`, EXIT.usage);
  return number;
}

/** The same, for what is counted. */
export function whole(value: Parameters<typeof positive>[0], name: string): number | null {
  const number = positive(value, name);
  if (number !== null && !Number.isSafeInteger(number)) throw new UserError(`${name} takes a whole number, not "${String(number)}".`, EXIT.usage);
  return number;
}
