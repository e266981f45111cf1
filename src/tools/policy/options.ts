/**
 * Options: whether the arguments of a program stay within a list of options that are known to do no harm. What is not listed is not
 * allowed, so an option that a newer version adds, or the shortened name of a long one, is refused.
 *
 * A value in an argument of its own may not begin with `-`: should the program not take a value there after all, it would be an option.
 */
export interface Allowed {
  /** Letters without a value, and letters with one. */
  readonly flags?: string;
  readonly values?: string;
  /** Long options without a value, and with one (`--name=value` or `--name value`). */
  readonly long?: readonly string[];
  readonly longValues?: readonly string[];
  /** Long options whose value, if any, is behind `=`. */
  readonly longMaybe?: readonly string[];
  /** `-10` is a number. */
  readonly numbers?: true;
  /** What each operand must be, and how many there may be. */
  readonly operand?: RegExp;
  readonly most?: number;
}

export function allows(allowed: Allowed, args: readonly string[]): boolean {
  let operands = 0;
  let ended = false;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (ended || !arg.startsWith("-") || arg === "-") {
      operands += 1;
      if (allowed.operand && !allowed.operand.test(arg)) return false;
    } else if (arg === "--") {
      ended = true;
    } else {
      const taken = arg.startsWith("--") ? long(allowed, arg) : short(allowed, arg);
      if (taken === "refused") return false;
      if (taken === "with next") {
        index += 1;
        if (args[index] === undefined || args[index]!.startsWith("-")) return false;
      }
    }
  }
  return operands <= (allowed.most ?? Infinity);
}

type Taken = "alone" | "with next" | "refused";

function long(allowed: Allowed, arg: string): Taken {
  const equals = arg.indexOf("=");
  const name = arg.slice(2, equals < 0 ? undefined : equals);
  if (equals < 0 && allowed.long?.includes(name)) return "alone";
  if (allowed.longMaybe?.includes(name)) return "alone";
  if (!allowed.longValues?.includes(name)) return "refused";
  return equals < 0 ? "with next" : "alone";
}

function short(allowed: Allowed, arg: string): Taken {
  if (allowed.numbers && /^-\d+$/u.test(arg)) return "alone";
  for (let at = 1; at < arg.length; at++) {
    if (allowed.values?.includes(arg[at]!)) return at + 1 < arg.length ? "alone" : "with next";
    if (!allowed.flags?.includes(arg[at]!)) return "refused";
  }
  return "alone";
}
