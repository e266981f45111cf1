/** Flags: what the command line says outright → the strongest layer. `--ask-for-approval` wins over what `--full-auto` says of it. */
import { existsSync } from "node:fs";
import { APPROVAL_POLICIES, SANDBOX_MODES, type Leaf, type Mode, type Problem, type Value } from "./config.ts";
import { nearest, quoted } from "./keys.ts";

export interface Flags {
  model?: string;
  sandbox?: string;
  askForApproval?: string;
  cd?: string;
  addDirs?: readonly string[];
  fullAuto?: boolean;
  /** --dangerously-bypass-approvals-and-sandbox */
  bypass?: boolean;
}

interface Given {
  mode: Mode;
  absolute(path: string): string;
  /** The writable folders of the layers below, to which --add-dir adds. */
  writableRoots: readonly string[];
}

const BYPASS = "--dangerously-bypass-approvals-and-sandbox";

export function readFlags(flags: Flags, given: Given): { leaves: Leaf[]; problems: Problem[] } {
  const leaves: Leaf[] = [];
  const problems: Problem[] = [];
  const set = (name: string, path: readonly string[], value: Value) => void leaves.push({ path, value, origin: { layer: "flag", name } });
  const refuse = (name: string, text: string) => void problems.push({ severity: "error", at: { layer: "flag", name }, text });
  const choose = (name: string, key: string, { value, values }: { value: string; values: readonly string[] }) => {
    if (values.includes(value)) return set(name, [key], value);
    const meant = nearest(value, values);
    refuse(name, `must be one of ${values.join(", ")}, not ${quoted(value)}.${meant === null ? "" : ` Did you mean ${meant}?`}`);
  };

  if (flags.model !== undefined) {
    if (flags.model.trim() === "") refuse("--model", "must name a model.");
    else set("--model", ["model"], flags.model);
  }
  if (flags.fullAuto) {
    if (flags.sandbox !== undefined && !flags.bypass) refuse("--full-auto", "contradicts --sandbox; give one or the other.");
    set("--full-auto", ["sandbox_mode"], "workspace-write");
    set("--full-auto", ["approval_policy"], given.mode === "exec" ? "never" : "on-request");
  }
  if (flags.sandbox !== undefined) choose("--sandbox", "sandbox_mode", { value: flags.sandbox, values: SANDBOX_MODES });
  if (flags.askForApproval !== undefined) choose("--ask-for-approval", "approval_policy", { value: flags.askForApproval, values: APPROVAL_POLICIES });
  if (flags.bypass) {
    const others = [flags.fullAuto ? "--full-auto" : "", flags.sandbox === undefined ? "" : "--sandbox", flags.askForApproval === undefined ? "" : "--ask-for-approval"].filter(Boolean);
    if (others.length > 0) refuse(BYPASS, `contradicts ${others.join(" and ")}; give one or the other.`);
    set(BYPASS, ["sandbox_mode"], "danger-full-access");
    set(BYPASS, ["approval_policy"], "never");
  }
  const added = (flags.addDirs ?? []).map((folder) => given.absolute(folder));
  for (const folder of added) if (!existsSync(folder)) problems.push({ severity: "warning", at: { layer: "flag", name: "--add-dir" }, text: `the folder ${folder} does not exist.` });
  if (flags.addDirs?.includes("")) refuse("--add-dir", "must name a folder.");
  else if (added.length > 0) set("--add-dir", ["sandbox_workspace_write", "writable_roots"], [...new Set([...given.writableRoots, ...added])]);
  return { leaves, problems };
}
