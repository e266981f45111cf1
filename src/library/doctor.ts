/**
 * Doctor: does what Skein stands on hold? It looks, and changes nothing but one file that it makes in the home and removes. What other
 * layers know (the sandbox, the configuration) comes in as plain data. Of keys only the names are ever told.
 *
 * A check is `broken` when something that was asked for cannot work, and `warning` when something is worse than it could be.
 */
import { execFile } from "node:child_process";
import { closeSync, existsSync, lstatSync, mkdtempSync, openSync, readSync, rmdirSync, statfsSync } from "node:fs";
import { join } from "node:path";

export interface Check {
  name: string;
  state: "ok" | "warning" | "broken";
  text: string;
  /** One line that people can act on. */
  remedy?: string;
}

export interface Patient {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  /** `process.versions.node` */
  node: string;
  /** Where the ripgrep is that comes with Skein; null: nowhere. */
  ripgrep: string | null;
  /** As the sandbox says of itself. */
  sandbox: { ok: true; kind: string; path: string; notes: readonly string[] } | { ok: false; why: string; remedy: string };
  /** `keys`: the variables that hold the keys of its providers. */
  config: { ok: true; warnings: readonly string[]; servers: readonly string[]; keys: readonly string[] } | { ok: false; message: string };
  trust: { projects: number; problem: string | null };
}

const OLDEST_NODE = [20, 19] as const;
const LITTLE = 1e9;
const TOO_LITTLE = 50e6;

export async function examine(patient: Patient): Promise<Check[]> {
  const { home, env, config } = patient;
  const programs = await Promise.all([
    program("git", { env, without: "Diffs and what belongs to a repository are missing.", install: "git" }),
    // The one that comes with Skein, else the system's.
    program(patient.ripgrep ?? "rg", { env, without: "The tools grep and glob cannot search.", install: "ripgrep" }),
  ]);
  return [nodeCheck(patient.node), ...homeChecks(home), configCheck(config), sandboxCheck(patient.sandbox), ...programs, keysCheck(config, env), serversCheck(config), trustCheck(patient.trust), indexCheck(home)];
}

function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  if (!isOld) return { name: "node", state: "ok", text: version };
  return { name: "node", state: "broken", text: `${version} is too old`, remedy: `Install Node ${OLDEST_NODE.join(".")} or later.` };
}

function homeChecks(home: string): Check[] {
  const stat = lstatSync(home, { throwIfNoEntry: false });
  if (!stat) return [{ name: "home", state: "ok", text: `${home} does not exist yet; the first thread makes it` }];
  if (!existsSync(home)) return [{ name: "home", state: "broken", text: `${home} is a link to nowhere`, remedy: "Make the folder that it points to, or set SKEIN_HOME." }];
  try {
    rmdirSync(mkdtempSync(join(home, ".doctor-")));
  } catch (error) {
    return [{ name: "home", state: "broken", text: `${home} cannot be written: ${(error as Error).message}`, remedy: `Make it a folder of yours (chown, chmod 700), or set SKEIN_HOME to another.` }];
  }
  const open = stat.isDirectory() && (stat.mode & 0o077) !== 0;
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
  const rights: Check = open
    ? { name: "home", state: "warning", text: `${home} is open to others (${mode})`, remedy: `chmod 700 ${home}` }
    : { name: "home", state: "ok", text: `${home}, ${mode}, writable` };
  return [rights, spaceCheck(home)];
}

function spaceCheck(home: string): Check {
  const { bavail, bsize } = statfsSync(home);
  const free = bavail * bsize;
  const text = `${(free / 1e9).toFixed(1)} GB free`;
  if (free > LITTLE) return { name: "space", state: "ok", text };
  return { name: "space", state: free > TOO_LITTLE ? "warning" : "broken", text, remedy: "Make room on the disk of the home, or set SKEIN_HOME to another." };
}

function configCheck(config: Patient["config"]): Check {
  if (!config.ok) return { name: "config", state: "broken", text: config.message, remedy: "Correct the file; `skein config` shows what is in force." };
  return config.warnings.length === 0 ? { name: "config", state: "ok", text: "read without complaint" } : { name: "config", state: "warning", text: config.warnings.join("; ") };
}

function sandboxCheck(sandbox: Patient["sandbox"]): Check {
  if (!sandbox.ok) return { name: "sandbox", state: "broken", text: sandbox.why, remedy: sandbox.remedy };
  const text = `${sandbox.kind} (${sandbox.path})`;
  return sandbox.notes.length === 0 ? { name: "sandbox", state: "ok", text: `${text} holds what it promises` } : { name: "sandbox", state: "warning", text: `${text}: ${sandbox.notes.join(" ")}` };
}

function program(name: string, { env, without, install }: { env: Patient["env"]; without: string; install: string }): Promise<Check> {
  return new Promise((resolve) => {
    execFile(name, ["--version"], { env: { PATH: env["PATH"] ?? "" }, timeout: 5000 }, (error, stdout) => {
      if (!error) resolve({ name: install, state: "ok", text: stdout.split("\n")[0]!.trim() });
      else if (error.code === "ENOENT") resolve({ name: install, state: "warning", text: `not installed. ${without}`, remedy: `Install it (Debian, Ubuntu: \`sudo apt-get install ${install}\`).` });
      else resolve({ name: install, state: "warning", text: `does not run: ${error.message.split("\n")[0]}` });
    });
  });
}

function keysCheck(config: Patient["config"], env: Patient["env"]): Check {
  if (!config.ok) return unknown("keys");
  const present = config.keys.filter((name) => (env[name] ?? "") !== "");
  const text = present.length > 0 ? `${present.join(", ")} set` : `none set of ${config.keys.join(", ")}`;
  if (present.length > 0) return { name: "keys", state: "ok", text };
  return { name: "keys", state: "warning", text, remedy: "Export the key of a provider, or run a local model (Ollama, LM Studio). `skein tour` needs none." };
}

function serversCheck(config: Patient["config"]): Check {
  if (!config.ok) return unknown("mcp");
  const names = config.servers;
  return { name: "mcp", state: "ok", text: names.length === 0 ? "no servers are configured" : `${names.join(", ")} (\`skein mcp test\` starts them)` };
}

function unknown(name: string): Check {
  return { name, state: "warning", text: "not known while the configuration cannot be read" };
}

function trustCheck({ projects, problem }: Patient["trust"]): Check {
  if (problem !== null) return { name: "trust", state: "broken", text: problem };
  return { name: "trust", state: "ok", text: projects === 1 ? "1 project is trusted" : `${projects} projects are trusted` };
}

const SQLITE = "SQLite format 3\0";

/** It is derived: whatever is wrong with it costs time, not data. */
function indexCheck(home: string): Check {
  const file = join(home, "index.sqlite");
  if (!existsSync(file)) return { name: "index", state: "ok", text: "there is none yet; it is made from the logs when it is needed" };
  try {
    const bytes = Buffer.alloc(SQLITE.length);
    const open = openSync(file, "r");
    const read = readSync(open, bytes);
    closeSync(open);
    if (read === 0 || bytes.toString("latin1") === SQLITE) return { name: "index", state: "ok", text: file };
    return { name: "index", state: "warning", text: `${file} is not a database`, remedy: "Delete it: it is made again from the logs." };
  } catch (error) {
    return { name: "index", state: "broken", text: `${file} cannot be read: ${(error as Error).message}`, remedy: `chmod 600 ${file}` };
  }
}
