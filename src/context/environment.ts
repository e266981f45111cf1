/**
 * Environment: where the model works and what it may do there. It says only what stays the same over many turns (a date, no time; no
 * branch), so that a request begins like the one before it.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalPolicy, SandboxMode, Settings } from "../protocol/record.ts";

const SANDBOX: Readonly<Record<SandboxMode, string>> = {
  "read-only": "files can be read; nothing can be written, and there is no network",
  "workspace-write": "files can be read; only the writable folders can be written",
  "danger-full-access": "none: commands have all the rights of the user",
};
const APPROVALS: Readonly<Record<ApprovalPolicy, string>> = {
  untrusted: "the user is asked before anything that is not known to be safe",
  "on-failure": "the user is asked when the sandbox stood in the way",
  "on-request": "the user is asked before anything leaves the sandbox",
  never: "nobody is asked; what would need approval is refused",
};

interface Given {
  settings: Settings;
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  now: Date | string;
}

export function environmentText({ settings, env, platform, now }: Given): string {
  const { cwd, sandbox_mode: mode, approval_policy: policy } = settings;
  const lines = [
    `cwd: ${shown(cwd)}`,
    `shell: ${hasProgram("bash", env["PATH"]) ? "bash" : "sh"}`,
    `platform: ${platform}`,
    `date: ${dateOf(now)}`,
    `sandbox: ${mode} (${SANDBOX[mode]})`,
    ...(mode === "workspace-write" ? writable(settings) : []),
    `approvals: ${policy} (${APPROVALS[policy]})`,
  ];
  return `<environment>\n${lines.join("\n")}\n</environment>`;
}

function writable(settings: Settings): string[] {
  const { writable_roots: roots, network_access: network } = (settings["sandbox_workspace_write"] ?? {}) as { writable_roots?: readonly string[]; network_access?: boolean };
  return [`writable: ${[settings.cwd, ...(roots ?? [])].map(shown).join(", ")}`, `network: ${network === true ? "on" : "off"}`];
}

/** A name that could be taken for something else is quoted. */
function shown(path: string): string {
  return /^[^\p{Cc}<>,"]+$/u.test(path) ? path : JSON.stringify(path);
}

/** The day where the user is. */
function dateOf(now: Date | string): string {
  if (typeof now === "string") return now.slice(0, 10);
  return [String(now.getFullYear()), String(now.getMonth() + 1).padStart(2, "0"), String(now.getDate()).padStart(2, "0")].join("-");
}

function hasProgram(name: string, path: string | undefined): boolean {
  return (path ?? "").split(":").some((folder) => folder.startsWith("/") && isFile(join(folder, name)));
}

/** What cannot be looked at is not there for us. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
