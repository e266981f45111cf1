/**
 * Confine: a command line → the launch of it in the sandbox of this machine, or why it is not run. Fails closed.
 */
import { realpathSync } from "node:fs";
import type { Launch } from "../process.ts";
import { createMark, MARK_VARIABLE } from "../mark.ts";
import { scratch } from "../scratch.ts";
import { bwrapArguments, bwrapOptions, encodeOptions, isInside } from "./bwrap.ts";
import { detectSandbox, type Detected, type Machine } from "./detect.ts";
import { planSandbox, type Confined } from "./plan.ts";
import { seatbeltArguments } from "./seatbelt.ts";
import { seccompFilter } from "./seccomp.ts";

export interface ConfineRequest {
  mode: Confined;
  argv: readonly string[];
  cwd: string;
  workdir: string;
  writableRoots: readonly string[];
  network: boolean;
  home: string;
  env: Readonly<Record<string, string>>;
  machine: Machine;
}

export type Confinement =
  /** `release` once no process of the command is left; it returns what the user should know. */
  | { ok: true; launch: Launch; release(): string[] }
  | { ok: false; message: string };

export async function confine(request: ConfineRequest): Promise<Confinement> {
  const detected = await detectSandbox(request.machine);
  if (!detected.ok) return refuse(`${detected.why} ${detected.remedy}`);
  return detected.kind === "seatbelt" ? withSeatbelt(request, detected) : withBubblewrap(request, detected);
}

function withBubblewrap(request: ConfineRequest, { path }: Extract<Detected, { ok: true }>): Confinement {
  const network = request.mode === "workspace-write" && request.network;
  const filter = seccompFilter({ arch: process.arch, network });
  const planned = planSandbox({ ...request, network, uid: process.getuid?.() ?? -1, hasFilter: filter !== null, scratch: scratch() });
  if (!planned.ok) return refuse(planned.message);
  const { plan, protection } = planned;
  if (plan.roots.some((root) => isInside(path, root))) {
    protection.release();
    return refuse(`bubblewrap itself (${path}) is in a folder that the command may write. Install it for the system.`);
  }
  const launch: Launch = {
    file: path,
    args: bwrapArguments(request.argv),
    cwd: "/",
    // Nothing of the command's environment: a variable such as LD_PRELOAD would act outside of the sandbox.
    env: {},
    within: {
      kind: "bubblewrap",
      options: encodeOptions(bwrapOptions(plan)),
      filter: filter && { name: network ? "online.bpf" : "offline.bpf", bytes: filter },
    },
  };
  return { ok: true, launch, release: protection.release };
}

function withSeatbelt(request: ConfineRequest, { path }: Extract<Detected, { ok: true }>): Confinement {
  const roots = [...new Set([request.cwd, ...request.writableRoots].map((root) => realpathSync(root)))];
  const tmp = realpathSync(scratch().tmp);
  const network = request.mode === "workspace-write" && request.network;
  const mark = createMark();
  const launch: Launch = {
    file: path,
    args: seatbeltArguments({ mode: request.mode, roots, home: request.home, tmp, network }, request.argv),
    cwd: request.workdir,
    env: { ...request.env, TMPDIR: tmp, SKEIN_SANDBOX: request.mode, [MARK_VARIABLE]: mark },
    within: { kind: "group", mark },
  };
  return { ok: true, launch, release: () => [] };
}

function refuse(why: string): { ok: false; message: string } {
  return { ok: false, message: `Not run: the command must run in a sandbox, and that cannot be set up. ${why}` };
}
