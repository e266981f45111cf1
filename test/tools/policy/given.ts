/** Assessing a command as the tools do, in a folder that is a plain git repository. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Assessment } from "../../../src/core/tool.ts";
import type { Command } from "../../../src/tools/exec-arguments.ts";
import { assessCommand } from "../../../src/tools/policy/assess.ts";
import type { Rule } from "../../../src/tools/policy/rules.ts";

export function scratchFolder(): { path: string; remove(): void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "skein-policy-")));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function scratchRepository(): { path: string; remove(): void } {
  const folder = scratchFolder();
  execFileSync("git", ["init", "-q", folder.path]);
  return folder;
}

export function asCommand(command: string | readonly [string, ...string[]]): Command {
  return typeof command === "string" ? { kind: "script", script: command, shell: null, login: false } : { kind: "program", argv: command };
}

export function assess(command: string | readonly [string, ...string[]], given: { cwd: string; rules?: readonly Rule[] }): Promise<Assessment> {
  return assessCommand({ command: asCommand(command), cwd: given.cwd, rules: given.rules ?? [], outside: null });
}

/** `deny git push` → a rule. */
export function rule(text: string): Rule {
  const [decision, ...argv_prefix] = text.split(" ");
  return { decision: decision as Rule["decision"], argv_prefix };
}
