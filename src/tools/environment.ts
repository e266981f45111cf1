/**
 * Environment: which variables a command sees. What looks like a secret is left out unless the user says otherwise: by its name, and
 * by its value where that has a known format. The fields are those of `[shell_environment_policy]`, applied in this order:
 * inherit, default excludes, exclude, set, include_only. Patterns are globs (`*`, `?`), without regard to case.
 */
import { createRedactor } from "../core/redact.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface EnvironmentPolicy {
  inherit?: "all" | "core" | "none";
  /** Keep variables that look like secrets. */
  ignore_default_excludes?: boolean;
  exclude?: readonly string[];
  set?: Readonly<Record<string, string>>;
  include_only?: readonly string[];
}

const CORE: readonly string[] = ["PATH", "HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "LANG", "LC_*", "LANGUAGE", "TERM", "COLORTERM", "TZ", "TMPDIR", "TEMP", "TMP"];

const SECRET_NAMES: readonly string[] = [
  "*KEY*",
  "*SECRET*",
  "*TOKEN*",
  "*PASSWORD*",
  "*PASSWD*",
  "*PASSPHRASE*",
  "*CREDENTIAL*",
  "*_AUTH",
  "*_PWD",
];

const redactor = createRedactor();

export function shellEnvironment(variables: Variables, policy: EnvironmentPolicy = {}): Record<string, string> {
  const inherited = policy.inherit === "none" ? [] : policy.inherit === "core" ? CORE : ["*"];
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined || !matchesAny(inherited, name)) continue;
    if (policy.ignore_default_excludes !== true && isSecret(name, value)) continue;
    if (matchesAny(policy.exclude ?? [], name)) continue;
    shown[name] = value;
  }
  Object.assign(shown, policy.set);
  if (!policy.include_only || policy.include_only.length === 0) return shown;
  return Object.fromEntries(Object.entries(shown).filter(([name]) => matchesAny(policy.include_only!, name)));
}

function isSecret(name: string, value: string): boolean {
  return matchesAny(SECRET_NAMES, name) || redactor.text(value) !== value;
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern.toUpperCase(), name.toUpperCase()));
}

/** Glob that goes back to its last star only, so that it cannot explode. */
function matches(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    if (pattern[p] === "*") {
      star = p++;
      resume = n;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === name[n])) {
      p += 1;
      n += 1;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else return false;
  }
  while (pattern[p] === "*") p += 1;
  return p === pattern.length;
}
