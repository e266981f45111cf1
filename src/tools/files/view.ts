/**
 * View: what the model's tools may see of this machine when they run in our process, so that it is what a sandboxed command would see:
 * not Skein's home (except its skills), not what is masked for root, not the system's own folders (/proc would show our
 * environment), and on Linux not the machine's /tmp, /var/tmp and /run. In workspace-write, /tmp is the private one of commands.
 * The deepest folder that is named decides: a workspace under /tmp is seen. On macOS only the home is hidden; with full access, nothing.
 */
import { join, resolve } from "node:path";
import { scratch } from "../scratch.ts";
import { rootSecrets } from "../sandbox/secrets.ts";
import type { FileToolOptions, Within } from "./options.ts";
import { isFolder, isWithin, realOrSame, realPath } from "./real.ts";

export interface View {
  /** A path of the model as one of this machine. */
  absolute(path: string): string;
  /** Whether what is at this real path may be read. */
  sees(real: string): boolean;
  /** The real path of something that is there and may be read. */
  find(path: string): { ok: true; real: string } | { ok: false; message: string; hidden: boolean };
}

const SYSTEM = ["/proc", "/dev"];
const OWN_IN_SANDBOX = ["/tmp", "/var/tmp", "/run"];

export function createView({ home, env, platform, sandbox }: FileToolOptions, within: Within): View {
  const free = within.sandbox === "danger-full-access";
  const hidden = new Map<string, boolean>();
  const isLinux = platform === "linux";
  const privateTmp = isLinux && within.sandbox === "workspace-write" ? scratch().tmp : null;
  if (!free) {
    const cwd = realOrSame(within.cwd);
    const userHome = realOrSame(env["HOME"] ?? "/");
    const secrets = isLinux && process.getuid?.() === 0 ? rootSecrets() : { folders: [], files: [] };
    const roots = within.sandbox === "workspace-write" ? sandbox.writableRoots.filter(isFolder).map(realOrSame) : [];
    const masked = [...secrets.folders.filter((path) => path !== userHome && path !== cwd), ...secrets.files];
    for (const path of [...(isLinux ? [...SYSTEM, ...OWN_IN_SANDBOX] : []), ...masked]) hidden.set(path, true);
    const realHome = realOrSame(home);
    for (const path of [cwd, ...roots, ...(userHome === "/" ? [] : [userHome])]) if (!isWithin(path, realHome)) hidden.set(path, false);
    if (isLinux) hidden.set(realOrSame(scratch().path), true);
    if (privateTmp !== null) hidden.set(realOrSame(privateTmp), false);
    hidden.set(realHome, true);
    hidden.set(join(realHome, "skills"), false);
  }
  const places = [...hidden].toSorted(([a], [b]) => b.length - a.length);

  function sees(real: string): boolean {
    return places.find(([place]) => isWithin(real, place))?.[1] !== true;
  }
  function absolute(path: string): string {
    const given = resolve(within.cwd, path);
    return privateTmp !== null && isWithin(given, "/tmp") && !isWithin(given, within.cwd) && !sees(given) ? join(privateTmp, given.slice("/tmp".length)) : given;
  }
  return {
    absolute,
    sees,
    find(path) {
      const real = realPath(absolute(path));
      if (!real.ok) return { ok: false, message: `${path} ${real.why}.`, hidden: false };
      if (!sees(real.path)) return { ok: false, message: `${path} is hidden in the ${within.sandbox} sandbox.`, hidden: true };
      return real.exists ? { ok: true, real: real.path } : { ok: false, message: `${path} does not exist.`, hidden: false };
    },
  };
}
