/**
 * Seatbelt: the sandbox of a command on macOS as a profile for sandbox-exec. Pure. UNTESTED on a Mac: the tests here compare its text.
 *
 * Everything is denied, then allowed by need; rules later in the text win. Paths are given as parameters (`-D`), so that no name can
 * change the profile. Names that are protected need not exist: Seatbelt decides by path.
 */
import { join } from "node:path/posix";
import type { Confined } from "./plan.ts";
import { PROTECTED_NAMES } from "./protected.ts";

export interface SeatbeltPlan {
  readonly mode: Confined;
  /** Real paths, as are the others. */
  readonly roots: readonly string[];
  readonly home: string;
  /** Writable in both modes. */
  readonly tmp: string;
  readonly network: boolean;
}

const BASE = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.PowerManagement.control"))
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* (regex #"^/dev/ttys[0-9]+$"))
(allow file-read*)
(allow file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/tty"))`;

const NETWORK = `(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.dnssd.service"))`;

export function seatbeltArguments(plan: SeatbeltPlan, argv: readonly string[]): string[] {
  const parameters = seatbeltParameters(plan).flatMap(([name, value]) => ["-D", `${name}=${value}`]);
  return ["-p", seatbeltProfile(plan), ...parameters, "--", ...argv];
}

export function seatbeltProfile(plan: SeatbeltPlan): string {
  const roots = plan.mode === "read-only" ? [] : plan.roots;
  const writable = roots.map((_, root) => {
    const names = PROTECTED_NAMES.map((_name, name) => `(require-not (subpath (param "KEPT_${root}_${name}")))`);
    return `(allow file-write* (require-all (subpath (param "ROOT_${root}")) ${names.join(" ")}))`;
  });
  return [
    BASE,
    '(allow file-write* (subpath (param "TMP")))',
    ...writable,
    ...(plan.network ? [NETWORK] : []),
    '(deny file-read* file-write* (subpath (param "HOME")))',
    '(allow file-read* (subpath (param "SKILLS")))',
  ].join("\n");
}

function seatbeltParameters({ mode, roots, home, tmp }: SeatbeltPlan): [string, string][] {
  const writable = mode === "read-only" ? [] : roots;
  return [
    ["TMP", tmp],
    ["HOME", home],
    ["SKILLS", join(home, "skills")],
    ...writable.flatMap((path, root): [string, string][] => [
      [`ROOT_${root}`, path],
      ...PROTECTED_NAMES.map((name, index): [string, string] => [`KEPT_${root}_${index}`, join(path, name)]),
    ]),
  ];
}
