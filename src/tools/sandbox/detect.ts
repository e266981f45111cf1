/**
 * Detect: can commands be sandboxed on this machine? Asked once a process, before the first sandboxed command: a sandbox is set up and
 * looks around inside itself. If it does not hold what it promises, nothing is called sandboxed and nothing is run.
 */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { runProcess } from "../process.ts";
import { scratch } from "../scratch.ts";
import { bwrapArguments, bwrapOptions, encodeOptions } from "./bwrap.ts";
import { planSandbox } from "./plan.ts";
import { seccompFilter } from "./seccomp.ts";

export type Detected =
  | { ok: true; kind: "bubblewrap" | "seatbelt"; path: string; notes: readonly string[] }
  /** `remedy` is one line that people can act on. */
  | { ok: false; why: string; remedy: string };

const WITHOUT_SANDBOX = "or, if this machine is itself a sandbox, choose `--sandbox danger-full-access` knowingly";

const INSTALL = `Install it (Debian, Ubuntu: \`sudo apt-get install bubblewrap\`; Fedora: \`sudo dnf install bubblewrap\`; Arch: \`sudo pacman -S bubblewrap\`), ${WITHOUT_SANDBOX}.`;

const cached = new Map<string, Promise<Detected>>();

export interface Machine {
  platform: NodeJS.Platform;
  /** Where bubblewrap is looked for. */
  folders: readonly string[];
}

/** The system's own folders come first: one of the user's PATH may be one that a command can write. */
export function machine(platform: NodeJS.Platform, path: string): Machine {
  return { platform, folders: ["/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin", ...path.split(":").filter((folder) => folder.startsWith("/"))] };
}

export function detectSandbox({ platform, folders }: Machine): Promise<Detected> {
  const key = [platform, ...folders].join(":");
  const known = cached.get(key) ?? detect(platform, folders);
  cached.set(key, known);
  return known;
}

async function detect(platform: NodeJS.Platform, folders: readonly string[]): Promise<Detected> {
  if (platform === "darwin") return { ok: true, kind: "seatbelt", path: "/usr/bin/sandbox-exec", notes: ["Seatbelt profiles are written but untested."] };
  if (platform !== "linux") return { ok: false, why: `There is no sandbox for ${platform}.`, remedy: `Use Linux, WSL2 or macOS, ${WITHOUT_SANDBOX}.` };
  const bwrap = folders.map((folder) => join(folder, "bwrap")).find(isProgram);
  if (bwrap === undefined) return { ok: false, why: "bubblewrap (bwrap) is not installed.", remedy: INSTALL };
  const problem = await probe(bwrap);
  if (problem !== null) return { ok: false, ...explain(problem) };
  const filtered = seccompFilter({ arch: process.arch, network: false }) !== null;
  return { ok: true, kind: "bubblewrap", path: bwrap, notes: filtered ? [] : [`System calls are not filtered on ${process.arch}.`] };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const BROKEN = "a promise does not hold: ";

/** Prints the first promise that does not hold. */
const LOOK_AROUND = `
broken() { echo "${BROKEN}$1"; exit 1; }
test ! -w / && test ! -w /etc && test ! -w /usr || broken 'the file system is writable'
test ! -w /proc/sys/kernel/core_pattern || broken '/proc/sys is writable'
status=$(cat /proc/self/status)
case $status in *CapEff:?0000000000000000*) ;; *) broken 'capabilities are left' ;; esac
case $status in *NoNewPrivs:?1*) ;; *) broken 'privileges can be gained' ;; esac
if (unshare --user true) 2>/dev/null; then broken 'user namespaces can be made'; fi
echo holds
`;

async function probe(bwrap: string): Promise<string | null> {
  const filter = seccompFilter({ arch: process.arch, network: false });
  const planned = planSandbox({
    mode: "read-only",
    cwd: "/",
    workdir: "/",
    writableRoots: [],
    network: false,
    home: "/nonexistent",
    env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" },
    uid: process.getuid?.() ?? -1,
    hasFilter: filter !== null,
    scratch: scratch(),
  });
  if (!planned.ok) return planned.message;
  let said = "";
  const ended = await runProcess({
    launch: {
      file: bwrap,
      args: bwrapArguments(["/bin/sh", "-c", LOOK_AROUND]),
      cwd: "/",
      env: {},
      within: { kind: "bubblewrap", options: encodeOptions(bwrapOptions(planned.plan)), filter: filter && { name: "offline.bpf", bytes: filter } },
    },
    signal: new AbortController().signal,
    timeoutMs: 10_000,
    onOutput: (chunk) => (said += chunk.toString("utf8")),
  });
  if (ended.how === "exited" && ended.exit === 0 && said.trim() === "holds") return null;
  return said.trim() || (ended.how === "not started" ? ended.why : "") || `it ${ended.how}`;
}

function explain(problem: string): { why: string; remedy: string } {
  const why = `bubblewrap does not work here: ${problem}`;
  if (problem.startsWith(BROKEN)) return { why, remedy: `Commands would not be confined on this system: use another, ${WITHOUT_SANDBOX}.` };
  if (/Unknown option/u.test(problem)) return { why, remedy: `bubblewrap 0.8 or newer is needed: install a newer one, ${WITHOUT_SANDBOX}.` };
  if (/uid map|namespace|loopback|Operation not permitted|No permissions/u.test(problem)) {
    return {
      why,
      remedy: `User namespaces seem to be forbidden. On Ubuntu 24.04 and newer: \`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0\`; in a container: start it with user namespaces allowed, ${WITHOUT_SANDBOX}.`,
    };
  }
  return { why, remedy: `Run \`skein doctor\` for details, ${WITHOUT_SANDBOX}.` };
}
