/**
 * Plan: what a sandbox on Linux must know of this machine before a command is run, gathered and decided here. The result is plain data
 * for bwrap.ts. A folder that cannot be made safe is refused, and nothing is run.
 */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isFolder } from "../files/real.ts";
import { isInside, type BwrapPlan } from "./bwrap.ts";
import { protect, type Protection } from "./protected.ts";
import { rootSecrets } from "./secrets.ts";
import { hostSockets } from "./sockets.ts";

export type Confined = "read-only" | "workspace-write";

export interface SandboxRequest {
  mode: Confined;
  cwd: string;
  workdir: string;
  /** Besides `cwd`, in workspace-write. */
  writableRoots: readonly string[];
  network: boolean;
  /** Skein's own: hidden, except for its skills. */
  home: string;
  env: Readonly<Record<string, string>>;
  uid: number;
  hasFilter: boolean;
  /** This process's own folder, and the part of it that a command sees as /tmp. */
  scratch: { path: string; tmp: string };
}

export type Planned = { ok: true; plan: BwrapPlan; protection: Protection } | { ok: false; message: string };

/** Variables that name sockets which are not there. */
const SOCKET_VARIABLES = ["SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"];

const SYSTEM = ["/proc", "/sys", "/dev"];

export function planSandbox(request: SandboxRequest): Planned {
  const cwd = realpathSync(request.cwd);
  const home = realOrPlanned(request.home);
  const roots = request.mode === "read-only" ? [] : [...new Set([cwd, ...request.writableRoots.filter(isFolder).map((root) => realpathSync(root))])];
  for (const root of roots) {
    const why = unsafe(root, home);
    if (why !== null) return { ok: false, message: `${root} cannot be made writable in a sandbox: ${why}` };
  }

  const fresh = ["/run", "/var/tmp"].filter((path) => existsSync(path) && realpathSync(path) === path);
  const secrets = request.uid === 0 ? rootSecrets() : { folders: [], files: [] };
  const userHome = realOrPlanned(request.env["HOME"] ?? "/");
  const maskedFolders = secrets.folders.filter((path) => path !== userHome && path !== cwd);
  const hiding = ["/tmp", ...fresh, ...maskedFolders, home];
  const isHidden = (path: string): boolean => hiding.some((place) => isInside(path, place));
  const isWritable = (path: string): boolean => roots.some((root) => path === root || isInside(path, root));
  const wanted = [cwd, userHome, join(home, "skills"), ...programFolders(request.env), ...(request.network ? resolverFiles() : [])];
  const visible = [...new Set(wanted.filter((path) => isHidden(path) && !isWritable(path) && existsSync(path)))];
  const isSeen = (path: string): boolean => !isHidden(path) || isWritable(path) || visible.some((shown) => isInside(path, shown));

  const workdir = existsSync(request.workdir) ? realpathSync(request.workdir) : request.workdir;
  const sockets = hostSockets().filter(isSeen);
  const protection = protect(roots, roots.some((root) => isInside(home, root)) ? [firstMissing(home)] : []);
  const plan: BwrapPlan = {
    uid: request.uid,
    network: request.network,
    workdir,
    env: { ...without(request.env, SOCKET_VARIABLES), TMPDIR: "/tmp", SKEIN_SANDBOX: request.mode },
    roots,
    visible,
    readOnly: protection.readOnly,
    empty: [...maskedFolders, ...protection.held, ...[home, request.scratch.path].filter((path) => isSeen(path) && existsSync(path))],
    unreadable: [...secrets.files.filter(existsSync), ...sockets],
    tmp: request.mode === "read-only" ? null : request.scratch.tmp,
    fresh,
    hasFilter: request.hasFilter,
  };
  return { ok: true, plan, protection };
}

function unsafe(root: string, home: string): string | null {
  if (root === "/") return "it is the whole file system. Work in a folder of its own.";
  if (SYSTEM.some((place) => root === place || isInside(root, place))) return "it belongs to the system.";
  if (root === home || isInside(root, home)) return "it is Skein's own home, which stays protected. Work in another folder.";
  return null;
}

/** The real path, also of what does not exist yet in a folder that does. */
function realOrPlanned(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realOrPlanned(parent), basename(path));
  }
}

/** The path itself if the folder around it exists, else the outermost folder that is missing. */
function firstMissing(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) ? path : firstMissing(parent);
}

/** Some systems keep programs, or links to them, in /run. */
function programFolders(env: Readonly<Record<string, string>>): string[] {
  return (env["PATH"] ?? "").split(":").filter((path) => path.startsWith("/") && isFolder(path));
}

/** /etc/resolv.conf is often a link into /run. */
function resolverFiles(): string[] {
  try {
    return [realpathSync("/etc/resolv.conf")];
  } catch {
    return [];
  }
}

function without(env: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
