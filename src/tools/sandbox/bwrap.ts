/**
 * Bubblewrap: the sandbox of a command on Linux as options of bwrap. Pure: everything that is looked up comes in the plan (plan.ts).
 *
 * The whole file system is read-only; /dev, /proc, /tmp, /var/tmp and /run are the sandbox's own; the writable roots are writable.
 * Mounts are made from the outside in, so that a rule for a path holds inside every rule for a folder around it; of two rules for one
 * path the later in the list below wins:
 *
 *   hidden places (/tmp, /run)  <  visible folders in them  <  writable roots  <  read-only paths  <  empty folders, unreadable files
 *
 * A mount point cannot be renamed or removed from within. So each folder between a writable root and a path that is protected inside
 * it is mounted on itself: otherwise the command could move that folder away and make another with the same name.
 *
 * As root the command gets another name (nobody) but not another identity: files still know it as root, without any capability. That
 * is why /proc/sys is read-only, why files that only root may read are masked, and why nothing but the given roots is writable.
 */
import { dirname } from "node:path/posix";

export interface BwrapPlan {
  readonly uid: number;
  readonly network: boolean;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Writable. Absolute real paths, as are all others here. */
  readonly roots: readonly string[];
  /** Read-only folders that hiding the places around them would hide too. */
  readonly visible: readonly string[];
  /** Existing paths inside roots that stay read-only. */
  readonly readOnly: readonly string[];
  /** Folders that exist and look empty, and cannot be written. */
  readonly empty: readonly string[];
  /** Files that exist and cannot be opened. */
  readonly unreadable: readonly string[];
  /** The folder that is /tmp in the sandbox; null: an empty one in memory. */
  readonly tmp: string | null;
  /** Folders besides /tmp that are the sandbox's own and start empty, as far as the system has them: /run, /var/tmp. */
  readonly fresh: readonly string[];
  readonly hasFilter: boolean;
}

/** Descriptors as process.ts opens them. */
const STATUS = "3";
const OPTIONS = "4";
const FILTER = "5";

const NOBODY = "65534";
const TMP_BYTES = String(1024 ** 3);

/** Of the system, writable by root without a capability. */
const PROC_READ_ONLY = ["/proc/sys", "/proc/sysrq-trigger", "/proc/mtrr", "/proc/acpi", "/proc/scsi", "/proc/fs", "/proc/driver", "/proc/dynamic_debug"];

/** What is on bwrap's command line; the rest goes through a pipe, so that other users do not see it. */
export function bwrapArguments(argv: readonly string[]): string[] {
  return ["--args", OPTIONS, "--", ...argv];
}

export function bwrapOptions(plan: BwrapPlan): string[] {
  return [
    ...["--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(plan.network ? [] : ["--unshare-net"]),
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
    ...(plan.uid === 0 ? ["--uid", NOBODY, "--gid", NOBODY] : []),
    ...["--json-status-fd", STATUS],
    ...(plan.hasFilter ? ["--seccomp", FILTER] : []),
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...PROC_READ_ONLY.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mounts(plan),
    ...["--chdir", plan.workdir, "--clearenv"],
    ...Object.entries(plan.env).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}

/** As --args reads them. */
export function encodeOptions(options: readonly string[]): string {
  return options.map((option) => `${option}\0`).join("");
}

interface Mount {
  path: string;
  options: readonly string[];
}

function mounts(plan: BwrapPlan): string[] {
  const inner = [...plan.readOnly, ...plan.empty, ...plan.unreadable];
  const own = (path: string): Mount => ({ path, options: ["--perms", "1777", "--size", TMP_BYTES, "--tmpfs", path] });
  const all: Mount[] = [
    plan.tmp === null ? own("/tmp") : { path: "/tmp", options: ["--bind", plan.tmp, "/tmp"] },
    ...plan.fresh.map(own),
    ...plan.visible.map((path) => ({ path, options: ["--ro-bind", path, path] })),
    ...[...plan.roots, ...between(plan, inner)].map((path) => ({ path, options: ["--bind", path, path] })),
    ...plan.readOnly.map((path) => ({ path, options: ["--ro-bind", path, path] })),
    ...plan.empty.map((path) => ({ path, options: ["--tmpfs", path] })),
    ...plan.unreadable.map((path) => ({ path, options: ["--ro-bind", "/dev/null", path] })),
  ];
  const rules = new Map(all.map((mount) => [mount.path, mount]));
  const outsideIn = [...rules.values()].toSorted((a, b) => depth(a.path) - depth(b.path));
  // Closed last: mounts inside of them need their mount points made first.
  const closed = plan.empty.filter((path) => rules.get(path)?.options[0] === "--tmpfs");
  return [...outsideIn.flatMap(({ options }) => options), ...closed.flatMap((path) => ["--remount-ro", path])];
}

/** Writable folders between a root and a protected path inside it. What is closed in that root stays closed. */
function between({ roots, readOnly, empty }: BwrapPlan, inner: readonly string[]): string[] {
  const found = new Set<string>();
  for (const root of roots) {
    const closed = [...readOnly, ...empty].filter((path) => isInside(path, root));
    for (const path of inner) {
      if (!isInside(path, root)) continue;
      for (let folder = dirname(path); isInside(folder, root); folder = dirname(folder)) {
        if (!closed.some((place) => folder === place || isInside(folder, place))) found.add(folder);
      }
    }
  }
  return [...found];
}

/** Below `folder`, not the folder itself. */
export function isInside(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function depth(path: string): number {
  return path.split("/").length;
}
